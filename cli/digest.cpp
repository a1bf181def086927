// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "analyzer/digest/cache.h"
#include "analyzer/run/trace_files.h"
#include "base/in_threads.h"
#include "cli/mpi/deal.h"
#include "cli/mpi/launcher.h"
#include "cli/progress.h"
#include "cli/subcommand.h"

namespace dprof::cli {
namespace {

namespace fs = std::filesystem;
using analyzer::Keeping;

constexpr char kDigestDetails[] =
    "\n"
    "A report reads each trace once and keeps its digest, in RUN/.digest. This only makes digests, so\n"
    "that several jobs can share the work; the report then merges them. `dprof record` digests its own\n"
    "traces. Several such jobs, and a report, can run at the same time.\n\n"
    "Under mpirun, or srun with PMI, each process takes its own share.\n\n"
    "Examples:\n"
    "  dprof digest run1\n"
    "  dprof digest run1 --shard 3/8\n"
    "  sbatch --array=1-8 --wrap 'dprof digest run1 --shard $SLURM_ARRAY_TASK_ID/8'\n\n"
    "Exit codes: 0 good; 2 usage; 3 a path is missing, or a trace cannot be read (the others are\n"
    "digested anyway); 125 dprof itself failed, or a digest cannot be stored anywhere.\n";

// "3/8": the third of eight.
Result<Launched> parse_shard(const std::string& text) {
  constexpr size_t kMost = 1'000'000;
  const char* const end = text.data() + text.size();
  size_t number = 0;
  size_t of = 0;
  const auto first = std::from_chars(text.data(), end, number);
  const bool split = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
  const auto second = split ? std::from_chars(first.ptr + 1, end, of) : first;
  if (!split || second.ec != std::errc() || second.ptr != end || number < 1 || number > of ||
      of > kMost) {
    return fail(Code::kUsage, fmt::format("--shard {}: no share", text),
                "1/8 to 8/8 are the shares of eight jobs");
  }
  return Launched{number - 1, of};
}

class Digest final : public Subcommand {
 public:
  std::string_view name() const override { return "digest"; }
  std::string_view summary() const override { return "make the digests that a report merges"; }
  std::string_view details() const override { return kDigestDetails; }

  void declare(CLI::App& app) override {
    app.add_option("RUN", paths_, "run folders, or traces")->required();
    app.add_option("--shard", shard_, "only share I of N (from 1), divided by size")
        ->type_name("I/N");
    app.add_flag("-q,--quiet", quiet_, "print failures only");
  }

  Result<int> run(Console& console) override {
    const Result<Launched> share = own_share();
    if (!share.ok()) return fail(share.error());
    const Result<std::vector<fs::path>> traces = own_traces(*share);
    if (!traces.ok()) return fail(traces.error());
    std::vector<std::optional<Result<Keeping>>> outcomes(traces->size());
    ProgressLine progress(console);
    in_threads(
        traces->size(), 0, [&](size_t i) { outcomes[i] = analyzer::keep_digest((*traces)[i]); },
        [&](size_t done) {
          if (!quiet_)
            progress.show(fmt::format("{} of {} traces digested", done, traces->size()),
                          static_cast<double>(done) / static_cast<double>(traces->size()));
          return true;
        });
    progress.clear();
    return print_counts(*traces, outcomes, console);
  }

 private:
  Result<Launched> own_share() const {
    if (!shard_.empty()) return parse_shard(shard_);
    return find_launched([](const char* name) { return std::getenv(name); }).value_or(Launched{});
  }

  // All traces are dealt out, in the order of their names, as every other job sees them.
  Result<std::vector<fs::path>> own_traces(const Launched& share) const {
    std::vector<fs::path> all;
    for (const std::string& path : paths_) {
      std::error_code error;
      if (!fs::exists(path, error)) {
        return fail(Code::kNotFound, fmt::format("{}: no such file or folder", path),
                    "give a run folder, or traces");
      }
      if (!fs::is_directory(path, error)) {
        all.emplace_back(path);
        continue;
      }
      const Result<std::vector<fs::path>> found = analyzer::trace_files(path);
      if (!found.ok()) return fail(found.error());
      all.insert(all.end(), found->begin(), found->end());
    }
    std::vector<uint64_t> sizes;
    for (const fs::path& path : all) {
      std::error_code error;
      const uintmax_t size = fs::file_size(path, error);
      sizes.push_back(error ? 0 : size);
    }
    const std::vector<size_t> hand_of = deal(sizes, share.of);
    std::vector<fs::path> own;
    for (size_t i = 0; i < all.size(); ++i) {
      if (hand_of[i] == share.number) own.push_back(all[i]);
    }
    return own;
  }

  Result<int> print_counts(const std::vector<fs::path>& traces,
                           const std::vector<std::optional<Result<Keeping>>>& outcomes,
                           Console& console) const {
    size_t made = 0;
    size_t there = 0;
    size_t unfinished = 0;
    std::vector<Error> failed;
    for (size_t i = 0; i < traces.size(); ++i) {
      const Result<Keeping>& outcome = *outcomes[i];
      if (!outcome.ok()) {
        failed.push_back(outcome.error());
      } else if (*outcome == Keeping::kNoPlace) {
        failed.push_back(
            {Code::kIo,
             fmt::format(
                 "{}: its digest can be saved neither in .digest next to it nor in your cache",
                 traces[i].string()),
             "is there room on the disk, and may you write there?"});
      } else {
        made += *outcome == Keeping::kMade ? 1 : 0;
        there += *outcome == Keeping::kThere ? 1 : 0;
        unfinished += *outcome == Keeping::kUnfinished ? 1 : 0;
      }
    }
    for (const Error& error : failed) console.error(error);
    if (!quiet_) {
      // One write: the processes of an MPI job share the stream.
      std::string line =
          fmt::format("{} digests made, {} already existed, {} failed", made, there, failed.size());
      if (unfinished > 0)
        line += fmt::format(", {} traces have no end yet (`dprof recover`)", unfinished);
      console.print(line + "\n");
    }
    if (failed.empty()) return code_of(ExitCode::kGood);
    const bool unreadable = std::ranges::any_of(failed, [](const Error& error) {
      return exit_code_of(error.code) == ExitCode::kUnreadable;
    });
    return code_of(unreadable ? ExitCode::kUnreadable : ExitCode::kInternal);
  }

  std::vector<std::string> paths_;
  std::string shard_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_digest() { return std::make_unique<Digest>(); }

}  // namespace dprof::cli
