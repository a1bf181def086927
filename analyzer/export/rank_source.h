// SPDX-License-Identifier: Apache-2.0
// One rank's trace for an export: its rows of the chosen steps, on the run's time axis.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/export/export.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {

// A damaged trace can contain any number: this bound prevents overflow in sums of two.
[[nodiscard]] constexpr int64_t within_reach(int64_t ns) {
  constexpr int64_t kMost = int64_t{1} << 61;
  return std::clamp(ns, -kMost, kMost);
}
[[nodiscard]] constexpr int64_t sum_within_reach(int64_t a, int64_t b) {
  return within_reach(within_reach(a) + within_reach(b));
}

// Invariant  returned times are within reach.
class RankSource {
 public:
  // `found`: nullptr without an analysis; then times stay in the trace's own time.
  static Result<RankSource> open(const TraceFile& trace, const RankAnalysis* found,
                                 const std::optional<std::pair<int64_t, int64_t>>& steps);

  [[nodiscard]] const schema::TraceReader& reader() const { return reader_; }
  [[nodiscard]] const TraceFile& file() const { return *file_; }
  [[nodiscard]] const RankAnalysis* found() const { return found_; }

  [[nodiscard]] int64_t on_axis(int64_t time_ns) const;
  // True if a row of the trace touches the chosen steps; a null duration means a single moment.
  [[nodiscard]] bool wants(int64_t start_ns, std::optional<int64_t> duration_ns) const;
  // On the trace's own clock; nullopt = all.
  [[nodiscard]] const std::optional<Interval>& window() const { return window_; }
  [[nodiscard]] std::optional<std::pair<int64_t, int64_t>> steps() const { return steps_; }

 private:
  RankSource(const TraceFile& file, const RankAnalysis* found, schema::TraceReader reader)
      : file_(&file), found_(found), reader_(std::move(reader)) {}

  const TraceFile* file_;
  const RankAnalysis* found_;
  schema::TraceReader reader_;
  std::optional<std::pair<int64_t, int64_t>> steps_;
  std::optional<Interval> window_;
};

// A set of mostly dense numbers. 40 bytes for 64 neighbours.
class NumberSet {
 public:
  void add(int64_t number) { words_[number >> 6] |= bit(number); }
  [[nodiscard]] bool has(int64_t number) const {
    const auto word = words_.find(number >> 6);
    return word != words_.end() && (word->second & bit(number)) != 0;
  }

 private:
  static uint64_t bit(int64_t number) {
    return uint64_t{1} << (static_cast<uint64_t>(number) & 63);
  }
  std::unordered_map<int64_t, uint64_t> words_;
};

// Grid, block and registers of kernels: few shapes, each used often. 4 bytes per kernel.
class KernelShapes {
 public:
  Status read(const schema::TraceReader& reader);
  [[nodiscard]] const schema::KernelShapeRow* of(int64_t activity) const;

 private:
  int64_t first_ = 0;
  std::vector<uint32_t> shape_of_;  // by activity - first_; 0 = none
  std::vector<schema::KernelShapeRow> shapes_;
};

// Temporary folder for sorted rows.
[[nodiscard]] std::filesystem::path spill_folder();

// The state of a running export: counts, and whether to continue.
class ExportJob {
 public:
  ExportJob(const Progress& progress, ExportSummary& summary)
      : progress_(progress), summary_(summary) {}

  // Share: of the traces.
  Status report_progress(std::string_view stage, double share);
  // Fails once the export is cancelled.
  Status go_on() { return report_progress(stage_, share_); }
  // Occasionally checks for cancellation. Callers that ignore is_stopped() finish the rank first.
  void wrote(int64_t events = 1) {
    summary_.events += events;
    if ((++calls_ & 0x3FFF) == 0) (void)go_on();
  }
  [[nodiscard]] bool is_stopped() const { return stopped_; }
  void left_out(std::string_view what, int64_t count = 1);
  void file(std::filesystem::path path) { summary_.files.push_back(std::move(path)); }

 private:
  const Progress& progress_;
  ExportSummary& summary_;
  std::string stage_;
  double share_ = 0;
  int64_t calls_ = 0;
  bool stopped_ = false;
};

}  // namespace dprof::analyzer
