// SPDX-License-Identifier: Apache-2.0
// Finds training steps in the stream of ranges.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "collector/recorder/rows/how_far.h"
#include "collector/recorder/rows/trace_output.h"
#include "schema/marker_names.h"

namespace dprof::recorder {

// A step began (`end_ns` empty) or was completed. A later beginning can replace the first one of
// the same step: what marks steps is certain only when the first one is complete.
struct StepEdge {
  int64_t index = 0;
  int64_t start_ns = 0;
  std::optional<int64_t> end_ns;
};

// Explicit step markers define steps if there are any; else the end of each optimizer range ends a
// step and begins the next. The first to complete a step is used for the whole trace, so that steps
// never overlap: a marker encloses its step's optimizer, hence wins if there is one.
//
// Threading  one thread.
class StepFinder {
 public:
  // `watcher` is called for each edge, as it is found.
  void watch(std::function<void(const StepEdge&)> watcher) { watcher_ = std::move(watcher); }

  // Recording paused: forgets open ranges, so that no step spans the gap.
  void forget_open();

  // Begin and end of a range whose name is a marker. `range_id` identifies the range.
  void begin(schema::Marker marker, int64_t range_id, int64_t start_ns);
  void end(schema::Marker marker, int64_t range_id, int64_t end_ns, TraceOutput& output);

  // At the end of the trace: an unfinished step is written with an open end. After an optimizer
  // there always is one; it counts as a step only if the process did not end by itself (`killed`).
  void finish(bool killed, TraceOutput& output);

  [[nodiscard]] int64_t steps() const { return next_index_; }
  // Fills in the number of completed steps, when the last one ended, and their length.
  void fill_in(HowFar& far) const;

 private:
  void write(int64_t start_ns, std::optional<int64_t> end_ns, schema::StepSource source,
             TraceOutput& output);

  void notify(int64_t index, int64_t start_ns, std::optional<int64_t> end_ns) const {
    if (watcher_) watcher_({index, start_ns, end_ns});
  }

  struct Open {
    int64_t range_id;
    int64_t start_ns;
  };
  std::optional<Open> marker_;     // the open step marker; inner ones are not steps of their own
  std::optional<Open> optimizer_;  // the outermost open optimizer range
  std::optional<int64_t> last_optimizer_end_ns_;
  std::optional<schema::StepSource> source_;
  int64_t next_index_ = 0;
  int64_t last_end_ns_ = 0;
  static constexpr size_t kLengths = 32;
  std::array<int64_t, kLengths> lengths_{};  // of the last steps
  std::function<void(const StepEdge&)> watcher_;
};

}  // namespace dprof::recorder
