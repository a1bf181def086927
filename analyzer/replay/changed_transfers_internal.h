// SPDX-License-Identifier: Apache-2.0
// Changes to operations between ranks: the network, buckets, how often and how many ranks meet.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "analyzer/breakdown/result.h"
#include "analyzer/replay/change.h"
#include "analyzer/replay/grounds_internal.h"
#include "analyzer/replay/played_run.h"

namespace dprof::analyzer {

// The take functions return "", or why the change cannot be made.
class ChangedTransfers {
 public:
  struct Known {
    std::span<const int64_t> ends;  // of tasks, unchanged
    const std::optional<Overlap>& overlap;
    const std::optional<Contention>& contention;
  };
  // Changes of buckets and rings apply to `durations` immediately.
  ChangedTransfers(const PlayedRun& run, const Known& known, Grounds& grounds,
                   std::vector<int64_t>& durations)
      : run_(run), known_(known), grounds_(grounds), durations_(durations) {}

  // For a change of transfers.
  [[nodiscard]] std::string take(const Change& change);
  // Applies the collected factors to the transfers, all together.
  double apply();
  // For passes that send no gradients.
  void drop_gradients(std::vector<int64_t>& durations) const;
  [[nodiscard]] bool meets_for_gradients_only() const {
    return std::ranges::all_of(run_.move_kinds, &MoveKind::gradients);
  }
  [[nodiscard]] bool runs_ahead() const { return runs_ahead_; }   // in passes without an update
  [[nodiscard]] double passes() const { return passes_; }         // per update
  [[nodiscard]] int64_t longer_ns() const { return longer_ns_; }  // each step

 private:
  struct Bucket {
    const Move* move = nullptr;
    double bytes = 0;
    double fixed_ns = 0;  // part of its transfer independent of its size
    double moving_ns = 0;
    double ready_ns = 0;
  };
  struct Buckets {  // of a rank in a step
    std::vector<Bucket> of;
    double backward_ns = 0;
    double backward_end_ns = 0;
  };

  std::string scale_transfers(double factor, double& of);
  [[nodiscard]] bool any_cost() const;
  std::string take_bandwidth(const Change& change);
  std::string take_latency(const Change& change);
  std::string take_overlap();
  std::string take_bucket_cap(const Change& change);
  std::string take_accumulation(const Change& change);
  std::string take_world(const Change& change);
  [[nodiscard]] double latency_of(const Move& move) const;
  [[nodiscard]] std::vector<Buckets> buckets() const;
  void send_again(const std::vector<Bucket>& old, const std::vector<double>& ready_ns,
                  const std::vector<double>& closes) const;
  void send_early(Buckets one);
  [[nodiscard]] std::vector<double> closes_of(const std::vector<Bucket>& old, double bytes,
                                              double cap) const;
  [[nodiscard]] int64_t later_of_more(double times) const;

  const PlayedRun& run_;
  const Known known_;
  Grounds& grounds_;
  std::vector<int64_t>& durations_;
  double transfer_ = 1;
  double bandwidth_ = 1;
  double latency_ = 1;
  std::vector<double> kept_;  // by step; empty = all
  double passes_ = 1;
  bool runs_ahead_ = false;
  int64_t longer_ns_ = 0;
};

}  // namespace dprof::analyzer
