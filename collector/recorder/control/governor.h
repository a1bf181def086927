// SPDX-License-Identifier: Apache-2.0
// Decides when recording a process costs too much or keeps losing records.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "collector/wire/layout.h"

namespace dprof::recorder {

// The cost of recording within `wall_ns`.
struct CostSample {
  int64_t wall_ns = 0;
  int64_t hook_ns = 0;          // in the process: calls times the mean of the timed ones
  int64_t recorder_cpu_ns = 0;  // of the writer thread, on cores that the process can use too
  int64_t lost = 0;             // records
};

// Lowers the level when the cost of the last samples exceeds kEarly of the limit, that is before it
// reaches the limit itself, or when each of the last kLosing samples lost records. Never raises it:
// a lowered level stays until a level is requested.
//
// Threading  one thread.
class Governor {
 public:
  static constexpr double kEarly = 0.8;
  static constexpr size_t kSamples = 3;  // that are averaged
  static constexpr int kLosing = 3;
  static constexpr int64_t kLeastNs = 500'000'000;  // of wall time before anything is decided

  explicit Governor(double limit) : limit_(limit) {}

  // One sample, about each second. Returns why the level should be lowered; empty = it can stay.
  // The sample after a lowering does not count, because part of it was recorded at the previous
  // level.
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
