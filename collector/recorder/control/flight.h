// SPDX-License-Identifier: Apache-2.0
// The flight recorder: a trace that holds the last S seconds of its process, and the complete
// content at each trigger.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "collector/recorder/control/capture.h"
#include "collector/recorder/rows/trace_output.h"

namespace dprof::recorder {

// The trace is divided into segments of time, by the row numbers that each table had reached; rows
// that ended before the horizon are deleted a segment at a time, and SQLite reuses their pages.
// Open rows are never deleted, nor are the dictionaries (texts, threads, communicators).
//
// Invariant  every row that ended within the last S seconds is present; the trace holds at most
//            S + 2 segments of rows besides open and pinned ones.
// Threading  one thread.
// Cost       about 0.5 us per deleted row, at most a second's rows at once.
class FlightRecorder {
 public:
  FlightRecorder(int64_t keep_ns, TraceOutput& output);

  // Before a commit; `now_ns` is the time of the last record: a silent process keeps its rows.
  void on_time(int64_t now_ns);
  // A trigger: the present rows are kept for good.
  void pin(int64_t now_ns);
  // At the end of the trace: keeps exactly the last S seconds, or everything present (`whole`).
  void finish(int64_t last_ns, bool whole);

  // The spans in the trace, in order of time; adjacent spans are joined.
  [[nodiscard]] const std::vector<KeptSpan>& spans() const { return spans_; }

 private:
  static constexpr size_t kTables = 11;
  struct Segment {
    int64_t end_ns = 0;
    std::array<int64_t, kTables> last_rows{};
  };

  [[nodiscard]] std::array<int64_t, kTables> last_rows();
  void delete_before(int64_t horizon_ns, const std::array<int64_t, kTables>& last_rows);

  int64_t keep_ns_;
  int64_t segment_ns_;
  TraceOutput& output_;
  std::deque<Segment> segments_;
  std::array<int64_t, kTables> pinned_;  // rows up to these stay
  std::optional<int64_t> next_segment_ns_;
  int64_t kept_from_ns_ = 0;
  std::vector<KeptSpan> spans_;
};

// Detects a hang of one process: a collective open for the limit, and no step ended in that time.
class HangWatch {
 public:
  // Each hang pins rows; a process that only seems to hang must not fill the disk.
  static constexpr int kMostHangs = 4;

  // The limit for a flight recorder that keeps `keep_ns`: half of it, at least five seconds.
  [[nodiscard]] static int64_t limit_of(int64_t keep_ns);

  explicit HangWatch(int64_t limit_ns) : limit_ns_(limit_ns) {}

  void on_step_end(int64_t end_ns);
  // True once for each hang.
  bool on_time(int64_t now_ns, std::optional<int64_t> oldest_open_collective_ns);

 private:
  int64_t limit_ns_;
  int64_t last_step_end_ns_ = 0;
  bool reported_ = false;
  int hangs_ = 0;
};

}  // namespace dprof::recorder
