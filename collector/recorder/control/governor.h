// SPDX-License-Identifier: Apache-2.0
// Decides when recording a process costs too much, or goes on losing records.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "collector/wire/layout.h"

namespace dprof::recorder {

// What recording cost within `wall_ns`.
struct CostSample {
  int64_t wall_ns = 0;
  int64_t hook_ns = 0;          // in the process: calls times the mean of those that were timed
  int64_t recorder_cpu_ns = 0;  // of the writer thread, on cores that the process may use too
  int64_t lost = 0;             // records
};

// Says "less" when the cost of the last samples passes kEarly of the limit, so before it passes the
// limit itself, or when each of the last kLosing samples lost records. Never says "more": what it
// lowered stays lowered until somebody asks for a level.
//
// Threading  one thread.
class Governor {
 public:
  static constexpr double kEarly = 0.8;
  static constexpr size_t kSamples = 3;  // whose mean counts
  static constexpr int kLosing = 3;
  static constexpr int64_t kLeastNs = 500'000'000;  // of wall time before anything is decided

  explicit Governor(double limit) : limit_(limit) {}

  // One sample, about each second. Why the level should go down; empty = it can stay. After a
  // lowering the next sample does not count: it was recorded partly at the level before.
  std::optional<wire::CaptureCause> on_sample(const CostSample& sample);

  [[nodiscard]] double limit() const { return limit_; }

 private:
  double limit_;
  std::deque<CostSample> last_;
  int losing_ = 0;
  bool skip_ = false;
};

// Share of the wall time.
[[nodiscard]] double cost_of(const CostSample& sample);

}  // namespace dprof::recorder
