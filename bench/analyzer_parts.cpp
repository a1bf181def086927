// SPDX-License-Identifier: Apache-2.0
// The parts of the analysis with targets for speed and memory, one per process, so that each has
// its own peak memory. Prints one line of JSON. bench/analyzer.py runs it and judges.
//
//   bench_analyzer make FILE --rows N           a trace of one rank: nested operators, launches,
//                                               kernels, collectives, marked steps
//   bench_analyzer digest FILE                  reads it into a digest
//   bench_analyzer attribute --ranges N --kernels M    kernels to nested ranges, in memory
//   bench_analyzer stages RUN                   analyses a run: how long in all, in the replay, in
//                                               its questions, in the slowest of some single ones
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>

#include "analyzer/analysis.h"
#include "analyzer/digest/attribution.h"
#include "analyzer/digest/digest.h"
#include "analyzer/replay/change.h"
#include "analyzer/run/run.h"
#include "bench/analyzer_trace.h"
#include "bench/process_use.h"

namespace dprof::bench {
namespace {

class Stopwatch {
 public:
  [[nodiscard]] double wall_s() const { return seconds_since(begin_); }
  [[nodiscard]] double cpu_s() const { return usage().cpu_s - cpu_; }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double cpu_ = usage().cpu_s;
};

// `before`: memory in use before the work began.
void print(int64_t events, const Stopwatch& watch, int64_t before, int64_t bytes) {
  fmt::print(
      "{{\"events\": {}, \"wall_s\": {:.4f}, \"cpu_s\": {:.4f}, \"peak_bytes\": {}, \"before_bytes\": "
      "{}, \"file_bytes\": {}}}\n",
      events, watch.wall_s(), watch.cpu_s(), usage().peak_bytes, before, bytes);
}

int refuse(const Error& error) {
  fmt::print(stderr, "bench_analyzer: {}\n", error.what);
  return 1;
}

int digest(const std::filesystem::path& path) {
  analyzer::TraceFile file;
  file.path = path;
  const int64_t before = usage().peak_bytes;
  const Stopwatch watch;
  const Result<analyzer::RankDigest> digest = analyzer::digest_rank(file);
  if (!digest.ok()) return refuse(digest.error());
  print(digest->events, watch, before, static_cast<int64_t>(std::filesystem::file_size(path)));
  return 0;
}

// Four threads, each with steps of nested ranges; kernels are launched from the innermost ones.
struct Nested {
  std::vector<analyzer::NestedRange> ranges;
  std::vector<analyzer::LaunchCall> launches;
};

Nested nested(int64_t ranges, int64_t kernels) {
  constexpr int32_t kThreads = 4;
  constexpr int kDepth = 8;
  Nested made;
  made.ranges.reserve(static_cast<size_t>(ranges));
  made.launches.reserve(static_cast<size_t>(kernels));
  const int64_t columns = ranges / kDepth;
  for (int32_t thread = 0; thread < kThreads; ++thread) {
    for (int64_t c = 0; c < columns / kThreads; ++c) {
      const int64_t begin = c * 10'000;
      for (int64_t depth = 0; depth < kDepth; ++depth)
        made.ranges.push_back({{begin + depth * 100}, {begin + 10'000 - depth * 100}, thread});
      const auto wanted = static_cast<int64_t>(made.launches.size() + 1) * columns;
      if (wanted > kernels * (thread * (columns / kThreads) + c + 1)) continue;
      made.launches.push_back(
          {{begin + 5'000}, static_cast<int64_t>(made.launches.size()) + 1, thread});
    }
  }
  return made;
}

int attribute(int64_t ranges, int64_t kernels) {
  const Nested input = nested(ranges, kernels);
  const int64_t before = usage().peak_bytes;
  const Stopwatch watch;
  const analyzer::Attribution found = analyzer::attribute(input.ranges, input.launches);
  const analyzer::LaunchIndex index(input.launches);
  int64_t owned = 0;
  for (int64_t k = 1; k <= static_cast<int64_t>(input.launches.size()); ++k) {
    const int32_t call = index.find(k);
    owned += call >= 0 && found.owner[static_cast<size_t>(call)] >= 0 ? 1 : 0;
  }
  print(static_cast<int64_t>(input.ranges.size()), watch, before, 0);
  if (owned == static_cast<int64_t>(input.launches.size())) return 0;
  fmt::print(stderr, "bench_analyzer: {} of {} kernels have an owner\n", owned,
             input.launches.size());
  return 1;
}

// The questions are those that a report asks unasked; the critical path is with them.
int stages(const std::filesystem::path& folder) {
  const Result<analyzer::Run> run = analyzer::open_run({folder});
  if (!run.ok()) return refuse(run.error());
  const Stopwatch watch;
  double begin = 0;
  double asked = 0;
  double end = 0;
  const auto see = [&](std::string_view stage, double /*share*/) {
    if (stage == "replay") begin = watch.wall_s();
    if (stage == "what-if") asked = watch.wall_s();
    if (stage == "stragglers") end = watch.wall_s();
    return true;
  };
  const Result<analyzer::Analysis> analysis =
      analyzer::analyze(*run, {.pieces = false, .model = true}, see);
  if (!analysis.ok()) return refuse(analysis.error());
  const double whole = watch.wall_s();
  double answer = 0;
  for (const char* text : {"rank:0=peers", "stragglers=none", "transfer*0.5", "bandwidth*2",
                           "bucket_cap=5MiB", "input=0"}) {
    const Result<analyzer::Change> change = analyzer::parse_change(text);
    if (!change.ok() || analysis->model == nullptr) continue;
    const Stopwatch one;
    if (analysis->model->answer(std::span(&*change, 1)).ok())
      answer = std::max(answer, one.wall_s());
  }
  fmt::print(
      "{{\"wall_s\": {:.4f}, \"replay_s\": {:.4f}, \"questions_s\": {:.4f}, \"answer_s\": {:.4f}}}\n",
      whole, asked - begin, end - asked, answer);
  return 0;
}

int run(int argc, char** argv) {
  std::string path;
  int64_t rows = 0;
  int64_t ranges = 0;
  int64_t kernels = 0;
  CLI::App app{"parts of the analysis, measured"};
  app.require_subcommand(1);
  CLI::App* make = app.add_subcommand("make", "writes a trace");
  make->add_option("FILE", path)->required();
  make->add_option("--rows", rows)->required();
  CLI::App* digests = app.add_subcommand("digest", "digests a trace");
  digests->add_option("FILE", path)->required();
  CLI::App* attributes = app.add_subcommand("attribute", "attributes kernels to ranges");
  attributes->add_option("--ranges", ranges)->required();
  attributes->add_option("--kernels", kernels)->required();
  CLI::App* staged = app.add_subcommand("stages", "analyses a run");
  staged->add_option("RUN", path)->required();
  CLI11_PARSE(app, argc, argv);
  if (staged->parsed()) return stages(path);
  if (digests->parsed()) return digest(path);
  if (attributes->parsed()) return attribute(ranges, kernels);
  const Result<int64_t> made = write_large_trace(path, rows);
  if (!made.ok()) return refuse(made.error());
  fmt::print("{{\"rows\": {}, \"file_bytes\": {}}}\n", *made, std::filesystem::file_size(path));
  return 0;
}

}  // namespace
}  // namespace dprof::bench

// NOLINTNEXTLINE(bugprone-exception-escape): an exception may end a benchmark with its message.
int main(int argc, char** argv) { return dprof::bench::run(argc, argv); }
