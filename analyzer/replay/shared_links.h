// SPDX-License-Identifier: Apache-2.0
// Transfers that run at once over one link share it: what one takes depends on which others are
// under way, and with another load these are others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/replay/run_graph.h"

namespace dprof::analyzer {

// A host has one link to the others, and one within. With n transfers on a link each gets an n-th
// of it, and goes at the pace of its fullest link. What each would have taken alone is reckoned
// from the recorded times.
//
// Threading  immutable.
// Cost       made in O(calls log calls); simulate() a few times TaskGraph's.
class SharedLinks {
 public:
  // What the recording says of it: whether transfers of a kind are more alike when each one's
  // share of its links is taken into account.
  enum class Evidence : uint8_t { kNone, kFor, kAgainst };

  // nullopt: no two transfers were under way at once, or a host is not known. `hosts`: by entry.
  [[nodiscard]] static std::optional<SharedLinks> of(const RunGraph& run,
                                                     std::span<const RankDigest> digests,
                                                     std::span<const size_t> ranks,
                                                     std::span<const std::string> hosts);

  [[nodiscard]] Evidence evidence() const { return evidence_; }

  // When each task ends, as TaskGraph::simulate, with shares as they then are.
  [[nodiscard]] std::vector<int64_t> simulate(const TaskGraph& graph,
                                              std::span<const int64_t> durations,
                                              std::span<const int64_t> lags) const;

 private:
  struct Transfer {
    TaskId carrier = 0;  // its longest part
    std::vector<TaskId> parts;
    uint32_t links = 0;  // of link_sets_
    size_t kind = 0;
    double alone_ns = 0;
    double taken_ns = 0;
  };

  void reckon(std::span<const int64_t> durations, std::span<const int64_t> ends);
  [[nodiscard]] Evidence weigh() const;

  std::vector<Transfer> transfers_;
  std::vector<std::vector<uint32_t>> link_sets_;
  size_t links_ = 0;
  size_t kinds_ = 0;
  Evidence evidence_ = Evidence::kNone;
};

// When each task ends. Transfers share links where the recording shows that they do, or where
// `shared` says so; no `links`: they do not.
[[nodiscard]] std::vector<int64_t> simulate(const TaskGraph& graph, const SharedLinks* links,
                                            std::span<const int64_t> durations,
                                            std::span<const int64_t> lags, bool shared = false);

}  // namespace dprof::analyzer
