// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/per_step.h"

#include <algorithm>

namespace dprof::analyzer {

StepsByTime::StepsByTime(const std::optional<Steps>& steps, size_t digests) : rank_of_(digests) {
  if (steps) *this = StepsByTime(*steps, steps->steady(), digests);
}

StepsByTime::StepsByTime(const Steps& steps, std::span<const AlignedStep> chosen, size_t digests)
    : chosen_(chosen), rank_of_(digests) {
  for (size_t r = 0; r < steps.ranks.size(); ++r) rank_of_[steps.ranks[r]] = r;
}

std::optional<size_t> StepsByTime::at(size_t digest, TraceNs time) const {
  if (!rank_of_[digest]) return std::nullopt;
  return holder_of(chosen_, time, [rank = *rank_of_[digest]](const AlignedStep& step) {
    return step.windows[rank];
  });
}

// Only for a rank with steps.
std::optional<TraceNs> StepsByTime::arrival_of(const Member& member,
                                               std::span<const RankDigest> digests) const {
  if (!rank_of_[member.digest]) return std::nullopt;
  return digests[member.digest].collectives[member.record].arrival();
}

std::optional<size_t> StepsByTime::of(const Instance& instance,
                                      std::span<const RankDigest> digests) const {
  for (const Member& member : instance.members) {
    if (const auto arrival = arrival_of(member, digests)) return at(member.digest, *arrival);
  }
  return std::nullopt;
}

std::optional<size_t> StepsByTime::of(const Message& message,
                                      std::span<const RankDigest> digests) const {
  for (const std::optional<Member>& side : {message.send, message.receive}) {
    if (!side) continue;
    if (const auto arrival = arrival_of(*side, digests)) return at(side->digest, *arrival);
  }
  return std::nullopt;
}

std::optional<double> StepCount::median_of(size_t steady) const {
  if (steady == 0) return std::nullopt;
  std::vector<int64_t> counts;
  for (const auto& [step, count] : in_step_) counts.push_back(count);
  std::ranges::sort(counts);
  const size_t without = steady - std::min(steady, counts.size());
  const auto at = [&](size_t i) {
    return i < without ? 0.0 : static_cast<double>(counts[i - without]);
  };
  return steady % 2 == 1 ? at(steady / 2) : (at(steady / 2 - 1) + at(steady / 2)) / 2;
}

}  // namespace dprof::analyzer
