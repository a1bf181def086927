// SPDX-License-Identifier: Apache-2.0
// Operators by name: their durations while one of the rank's collectives runs and while none does,
// for contention; and their time in all, for what-if.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/interval.h"
#include "base/log_histogram.h"

namespace dprof::analyzer {

// Operators and autograd nodes of one name on one thread, with what they called.
struct OpSum {
  static constexpr size_t kMostKept = 64;        // those that took most time
  static constexpr size_t kMostNameBytes = 160;  // what is longer is cut

  std::string name;
  int64_t backward_ns = 0;  // as an autograd node, or within one
  int64_t other_ns = 0;
};

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

// Sums up a thread's operators and autograd nodes while they stream by, mostly in order of their
// begin. One within another of its name counts once. Memory: 24 bytes per name of the trace.
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
