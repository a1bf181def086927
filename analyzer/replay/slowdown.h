// SPDX-License-Identifier: Apache-2.0
// The cost of uneven operations, and the parts of the run that cause it (docs/analysis/replay.md).
#pragma once

#include <span>
#include <vector>

#include "analyzer/replay/operations.h"
#include "analyzer/replay/result.h"

namespace dprof::analyzer {

// The even run: computation takes the mean of its kind over ranks and steps, as if redistributed;
// communication the median, which network disturbances do not affect.
//
// Invariant  durations refer to run.graph.
// Cost       a replay for each stage, replica, kind of operation.
class EvenRun {
 public:
  explicit EvenRun(const OperationRun& run);

  [[nodiscard]] Slowdown slowdown(std::span<const RankDigest> digests, const Steps& steps) const;

  // Lengths of the steps without lags: as recorded, and with the operations of some entries made
  // even. Entries are those of Steps::ranks.
  [[nodiscard]] std::vector<int64_t> recorded() const;
  [[nodiscard]] std::vector<int64_t> even() const;
  [[nodiscard]] std::vector<int64_t> without(const std::vector<size_t>& entries) const;
  // Only these keep their lengths.
  [[nodiscard]] std::vector<int64_t> only(const std::vector<size_t>& entries) const;
  // Rank `entry` takes the times of the other ranks of its stage, in the same step, for the same
  // kind. nullopt: it is alone in its stage.
  [[nodiscard]] std::optional<std::vector<int64_t>> as_its_peers(size_t entry) const;

 private:
  [[nodiscard]] std::vector<int64_t> lengths(std::span<const int64_t> durations) const;
  template <typename Choose>
  [[nodiscard]] std::vector<int64_t> mixed(Choose even_where) const;

  const OperationRun& run_;
  std::vector<int64_t> recorded_;  // durations by task
  std::vector<int64_t> even_;      // likewise
};

}  // namespace dprof::analyzer
