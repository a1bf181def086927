// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "analyzer/import/format.h"
#include "analyzer/import/input.h"
#include "analyzer/import/sink/run_sink.h"

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;

// The most specific first: a Chrome JSON file is any JSON.
constexpr const Format* kFormats[] = {
    &memory_snapshot::kFormat, &flight_recorder::kFormat, &nccl_inspector::kFormat, &nsys::kFormat,
    &rocprofv3::kFormat,       &operation_table::kFormat, &kineto::kFormat};

constexpr char kKnown[] =
    "Kineto or Chrome JSON (.gz too), a flight-recorder dump, a memory snapshot, NCCL Inspector, an SQLite export of "
    "Nsight Systems (nsys export --type sqlite FILE.nsys-rep), JSON of rocprofv3";

struct Candidate {
  fs::path path;
  bool named = true;  // given by name; else found in a folder, which can contain other files
};

Result<std::vector<Candidate>> expand(const std::vector<fs::path>& files) {
  std::vector<Candidate> candidates;
  for (const fs::path& path : files) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      return fail(Code::kNotFound, fmt::format("{}: no such file or folder", path.string()));
    }
    if (!fs::is_directory(path, error)) {
      candidates.push_back({path});
      continue;
    }
    std::vector<Candidate> found;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
      std::error_code ignored;
      if (entry->is_regular_file(ignored)) found.push_back({entry->path(), false});
    }
    if (error) return fail(Code::kIo, fmt::format("{}: {}", path.string(), error.message()));
    std::ranges::sort(found, {}, &Candidate::path);
    candidates.insert(candidates.end(), found.begin(), found.end());
  }
  return candidates;
}

const Format* format_of(std::string_view head) {
  const auto known = std::ranges::find_if(
      kFormats, [&](const Format* format) { return format->recognises(head); });
  return known == std::end(kFormats) ? nullptr : *known;
}

// The result for one file.
struct Outcome {
  std::optional<FileResult> result;  // nullopt: found in a folder, but in no known format
  std::optional<Error> error;        // why it was unreadable
  bool fatal = false;                // the whole import must stop: cancelled, disk full
};

Status read_as(const Format* format, const fs::path& path, FileSink& sink) {
  if (format != nullptr) return format->read(path, sink);
  // The only format known by its name: only Nsight itself reads it.
  const std::string extension = path.extension().string();
  if (extension == ".nsys-rep" || extension == ".qdrep") {
    return fail(
        Code::kNotATrace,
        fmt::format("{}: Nsight Systems' own format, which only Nsight can read", path.string()),
        fmt::format("export it with: nsys export --type sqlite {}", path.string()));
  }
  return fail(Code::kNotATrace, fmt::format("{}: unknown format", path.string()), kKnown);
}

// Distributes files over threads, a few at a time, and collects the results in the order of the
// files.
class Import {
 public:
  Import(const std::vector<Candidate>& candidates, const RunSink& sink,
         const ImportProgress& progress)
      : candidates_(candidates), sink_(sink), progress_(progress), outcomes_(candidates.size()) {}

  std::vector<Outcome> run() {
    const size_t cores = std::max<size_t>(1, std::thread::hardware_concurrency());
    {
      std::vector<std::jthread> threads;
      for (size_t t = 0; t < std::min({cores, kMostAtOnce, candidates_.size()}); ++t)
        threads.emplace_back([this] { work(); });
    }
    return std::move(outcomes_);
  }

 private:
  static constexpr size_t kMostAtOnce = 4;  // each has its rows in memory

  void work() {
    for (size_t mine = next_++; mine < candidates_.size() && !stopped_; mine = next_++) {
      outcomes_[mine] = read(mine);
      if (outcomes_[mine].fatal) stopped_ = true;
    }
  }

  Outcome read(size_t number) {
    const Candidate& candidate = candidates_[number];
    const Result<std::string> head = read_head(candidate.path, kHeadBytes);
    const Format* format = head.ok() ? format_of(*head) : nullptr;
    if (format == nullptr && !candidate.named) return {};
    const std::unique_ptr<FileSink> sink = sink_.file(
        number, candidate.path, format == nullptr ? "" : format->name,
        [this](const fs::path& path, double share) { return report_progress(path, share); });
    const Status read =
        !head.ok() ? Status(fail(head.error())) : read_as(format, candidate.path, *sink);
    Outcome outcome;
    if (!read.ok()) outcome.error = read.error();
    outcome.fatal = !read.ok() && read.error().code == Code::kUsage;  // cancelled
    if (!candidate.named && !read.ok() && read.error().code == Code::kNotATrace) {
      sink->drop();
      return outcome;
    }
    Result<FileResult> result = sink->finish(read);
    if (result.ok()) {
      outcome.result = *std::move(result);
    } else {
      outcome.error = result.error();
      outcome.fatal = true;
    }
    return outcome;
  }

  bool report_progress(const fs::path& path, double share) {
    if (!progress_) return !stopped_;
    const std::lock_guard lock(reporting_);
    return !stopped_ && progress_(path, share);
  }

  const std::vector<Candidate>& candidates_;
  const RunSink& sink_;
  const ImportProgress& progress_;
  std::mutex reporting_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> stopped_ = false;
  std::vector<Outcome> outcomes_;  // each written by the thread that reads its file
};

// The error because of which the others were stopped.
const Error* fatal_of(const std::vector<Outcome>& outcomes) {
  const Error* fatal = nullptr;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.fatal) continue;
    if (fatal == nullptr || fatal->code == Code::kUsage) fatal = &*outcome.error;
  }
  return fatal;
}

}  // namespace

Result<ImportSummary> import_files(const std::vector<fs::path>& files, const fs::path& run,
                                   const ImportOptions& options, const ImportProgress& progress) {
  const Result<std::vector<Candidate>> candidates = expand(files);
  if (!candidates.ok()) return fail(candidates.error());
  Result<std::unique_ptr<RunSink>> sink = RunSink::create(run, options.overwrite);
  if (!sink.ok()) return fail(sink.error());
  std::optional<Error> first_error;
  bool any = false;
  std::vector<Outcome> outcomes = Import(*candidates, **sink, progress).run();
  if (const Error* fatal = fatal_of(outcomes)) return fail(*fatal);
  for (Outcome& outcome : outcomes) {
    if (outcome.error && !first_error) first_error = outcome.error;
    any = any || (outcome.result && !outcome.error);
    if (outcome.result) (*sink)->add(*std::move(outcome.result));
  }
  if (any) return (*sink)->finish(options.ranks);
  if (first_error) return fail(*first_error);
  return fail(Code::kNotFound, "it contains no file of a known format", kKnown);
}

}  // namespace dprof::analyzer
