// SPDX-License-Identifier: Apache-2.0
// Operators by name: their durations with and without a collective of the rank running, for
// contention; and their total time, for what-if.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/interval.h"
#include "base/log_histogram.h"

namespace dprof::analyzer {

// Operators and autograd nodes of one name on one thread, including what they called.
struct OpSum {
  static constexpr size_t kMostKept = 64;        // those with the most time
  static constexpr size_t kMostNameBytes = 160;  // longer ones are cut

  std::string name;
  int64_t backward_ns = 0;  // as an autograd node, or within one
  int64_t other_ns = 0;
};

struct OpTimes {
  std::string name;
  LogHistogram alone;     // ns, while no collective ran
  LogHistogram beside;    // while a collective ran all the time
  int64_t beside_ns = 0;  // total time of those
};

// Gathers outermost operators from a stream that is mostly in order of their begin. Memory: two
// histograms per name. Cost: one or two comparisons for most, a histogram bucket for the others.
class OpTimesGatherer {
 public:
  static constexpr size_t kMostNames = 4096;  // further ones are left out
  static constexpr size_t kMostKept = 32;     // those with the most time beside collectives
  static constexpr int64_t kFewest = 20;      // on each side, for a meaningful median

  // When the rank's collectives ran; name ids are below `names`.
  OpTimesGatherer(IntervalSet communication, size_t names)
      : communication_(std::move(communication)), slots_(names, 0) {}

  // An operator of the thread whose earlier ones reach to `covered_to`, which it updates: operators
  // within another one are left out.
  void add(TraceNs& covered_to, int64_t name_id, Interval span);

  // Those with enough samples on both sides, by their time beside collectives, longest first.
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

// Sums a thread's operators and autograd nodes from a stream that is mostly in order of their
// begin. One nested in another of its name counts once. Memory: 24 bytes per name of the trace.
class OpSumsGatherer {
 public:
  void add(int64_t name_id, bool is_node, Interval span);

  // The longest ones, longest first.
  template <typename NameOf>
  [[nodiscard]] std::vector<OpSum> take(NameOf name_of) && {
    std::vector<OpSum> kept;
    for (const size_t id : longest()) {
      std::string name(name_of(static_cast<int64_t>(id)));
      name.resize(std::min(name.size(), OpSum::kMostNameBytes));
      kept.push_back({std::move(name), sums_[id].backward_ns, sums_[id].other_ns});
    }
    return kept;
  }

 private:
  struct Sum {
    int64_t backward_ns = 0;
    int64_t other_ns = 0;
    TraceNs until{INT64_MIN};
  };
  [[nodiscard]] std::vector<size_t> longest() const;

  std::vector<Sum> sums_;  // by name id
  TraceNs node_until_{INT64_MIN};
};

}  // namespace dprof::analyzer
