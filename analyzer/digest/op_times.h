// SPDX-License-Identifier: Apache-2.0
// Durations of operators by name, while one of the rank's collectives runs and while none does: the
// input for computing contention.
#pragma once

#include <string>
#include <vector>

#include "base/interval.h"
#include "base/log_histogram.h"

namespace dprof::analyzer {

struct OpTimes {
  std::string name;
  LogHistogram alone;     // ns, of those that ran while no collective did
  LogHistogram beside;    // of those that ran wholly beside one
  int64_t beside_ns = 0;  // their time
};

// Gathers outermost operators while they stream by, mostly in order of their begin. Memory: two
// histograms per name. Cost: a comparison or two for most, a histogram's bucket for the others.
class OpTimesGatherer {
 public:
  static constexpr size_t kMostNames = 4096;  // further ones are left out
  static constexpr size_t kMostKept = 32;     // those that took most time beside collectives
  static constexpr int64_t kFewest = 20;      // on each side, for a median that means something

  // When the rank's collectives ran; name ids are below `names`.
  OpTimesGatherer(IntervalSet communication, size_t names)
      : communication_(std::move(communication)), slots_(names, 0) {}

  // An operator of the thread whose earlier ones reach to `covered_to`, which it updates: what lies
  // within another one is left out.
  void add(TraceNs& covered_to, int64_t name_id, Interval span);

  // Those with enough on both sides, by their time beside collectives, longest first.
  template <typename NameOf>
  [[nodiscard]] std::vector<OpTimes> take(NameOf name_of) && {
    std::vector<OpTimes> kept = take_unnamed();
    for (size_t i = 0; i < kept.size(); ++i) kept[i].name = std::string(name_of(kept_ids_[i]));
    return kept;
  }

 private:
  enum class Side : uint8_t { kAlone, kBeside, kPartly };
  Side side_of(Interval span);
  std::vector<OpTimes> take_unnamed();

  IntervalSet communication_;
  size_t next_ = 0;            // the first interval that ends after the last operator's begin
  std::vector<size_t> slots_;  // by name id: 1 + position in times_; 0 = none
  std::vector<OpTimes> times_;
  std::vector<int64_t> ids_;  // of times_
  std::vector<int64_t> kept_ids_;
};

}  // namespace dprof::analyzer
