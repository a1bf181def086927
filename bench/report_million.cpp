// SPDX-License-Identifier: Apache-2.0
// How long `dprof report` takes on a run of a million events. The run is made here and removed at
// the end. Exits with 1 if --limit-ms is given and missed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>

#include "analyzer/analysis.h"
#include "bench/process_use.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace {

namespace fs = std::filesystem;

int64_t bytes_of(const fs::path& folder) {
  int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    bytes += static_cast<int64_t>(entry.file_size());
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t events = 1'000'000;
  int ranks = 2;
  int rounds = 3;
  double limit_ms = 0;
  CLI::App app{"time of open_run + analyze"};
  app.add_option("--events", events, "rows in all traces together")->capture_default_str();
  app.add_option("--ranks", ranks)->capture_default_str();
  app.add_option("--rounds", rounds, "the best one counts")->capture_default_str();
  app.add_option("--limit-ms", limit_ms, "fail if the best round takes longer");
  CLI11_PARSE(app, argc, argv);

  const dprof::test_support::TemporaryFolder home;
  const fs::path folder = home.path() / "run";
  const auto made = dprof::test_support::write_run(
      folder, dprof::test_support::volume_spec(events / ranks, ranks));
  if (!made.ok()) {
    fmt::print(stderr, "{}\n", made.error().what);
    return 1;
  }
  const int64_t before = dprof::bench::usage().peak_bytes;
  double best = 1e9;
  int64_t rows = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    const auto run = dprof::analyzer::open_run({folder});
    if (!run.ok()) return 1;
    const auto analysis = dprof::analyzer::analyze(*run);
    if (!analysis.ok()) return 1;
    best = std::min(best, dprof::bench::seconds_since(begin));
    rows = analysis->report.recording.events;
  }
  fmt::print(
      "report: {} events of {} ranks in {:.0f} ms, {:.2f} M events/s, traces {:.1f} MB, peak memory +{:.1f} MB\n",
      rows, ranks, best * 1e3, static_cast<double>(rows) / best / 1e6,
      static_cast<double>(bytes_of(folder)) / 1e6,
      static_cast<double>(dprof::bench::usage().peak_bytes - before) / 1e6);
  return limit_ms > 0 && best * 1e3 > limit_ms ? 1 : 0;
}
