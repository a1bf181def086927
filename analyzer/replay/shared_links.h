// SPDX-License-Identifier: Apache-2.0
// Concurrent transfers over one link share it: the duration of one depends on which others are in
// progress, and these change with the load.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/replay/run_graph.h"

namespace dprof::analyzer {

// A host has one link to the other hosts and one internal link. With n transfers on a link each
// gets an n-th of it; a transfer proceeds at the pace of its most loaded link. Durations without
// sharing are computed from the recorded times.
//
// Threading  immutable.
// Cost       made in O(calls log calls); simulate() a few times TaskGraph's.
class SharedLinks {
 public:
  // The evidence in the recording: whether transfers of a kind become more alike when their shares
  // of the links are taken into account.
  enum class Evidence : uint8_t { kNone, kFor, kAgainst };

  // nullopt: no two transfers overlapped, or a host is unknown. `hosts`: by entry.
  [[nodiscard]] static std::optional<SharedLinks> of(const RunGraph& run,
                                                     std::span<const RankDigest> digests,
                                                     std::span<const size_t> ranks,
                                                     std::span<const std::string> hosts);

  [[nodiscard]] Evidence evidence() const { return evidence_; }

  // When each task ends, like TaskGraph::simulate, with the resulting shares.
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

// When each task ends. Transfers share links if the recording shows it or `shared` is set; without
// `links` they do not.
[[nodiscard]] std::vector<int64_t> simulate(const TaskGraph& graph, const SharedLinks* links,
                                            std::span<const int64_t> durations,
                                            std::span<const int64_t> lags, bool shared = false);

}  // namespace dprof::analyzer
