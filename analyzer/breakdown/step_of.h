// SPDX-License-Identifier: Apache-2.0
// Which of some steps a collective or a message belongs to.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/match/match.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

// `chosen` are some of the steps, and must outlive it. O(log steps) per question.
class StepOf {
 public:
  StepOf(const Steps& steps, std::span<const AlignedStep> chosen, size_t digests)
      : chosen_(chosen), rank_of_(digests) {
    for (size_t r = 0; r < steps.ranks.size(); ++r) rank_of_[steps.ranks[r]] = r;
  }

  // Position among the chosen steps; nullopt = in none of them.
  [[nodiscard]] std::optional<size_t> of(const Instance& instance,
                                         std::span<const RankDigest> digests) const {
    for (const Member& member : instance.members) {
      if (rank_of_[member.digest]) return of(member, digests);
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<size_t> of(const Message& message,
                                         std::span<const RankDigest> digests) const {
    for (const std::optional<Member>& side : {message.send, message.receive}) {
      if (side && rank_of_[side->digest]) return of(*side, digests);
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<size_t> of(const Member& member,
                                         std::span<const RankDigest> digests) const {
    const auto arrival = digests[member.digest].collectives[member.record].arrival();
    if (!arrival) return std::nullopt;
    const size_t r = *rank_of_[member.digest];
    const auto next = std::ranges::upper_bound(
        chosen_, *arrival, {}, [&](const AlignedStep& step) { return step.windows[r].begin; });
    if (next == chosen_.begin() || *arrival >= std::prev(next)->windows[r].end) return std::nullopt;
    return static_cast<size_t>(next - chosen_.begin()) - 1;
  }

  std::span<const AlignedStep> chosen_;
  std::vector<std::optional<size_t>> rank_of_;  // by digest: position in Steps::ranks
};

}  // namespace dprof::analyzer
