// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/calls.h"

#include <algorithm>

#include "analyzer/match/tokens.h"
#include "analyzer/vocabulary/evidence.h"

namespace dprof::analyzer {
namespace {

using schema::Backend;
using schema::LossReason;

// Records of the process were lost, possibly including collective calls.
bool lost_records(const RankDigest& digest) {
  return std::ranges::any_of(digest.losses, [](const LossRecord& loss) {
    const bool in_the_process =
        loss.reason == LossReason::kRingFull || loss.reason == LossReason::kNoRing ||
        loss.reason == LossReason::kBadRecord || loss.reason == LossReason::kDisk;
    return in_the_process && loss.count > 0 && loss.source != schema::Source::kSystem;
  });
}

}  // namespace

CallGatherer::CallGatherer(std::span<const RankDigest> digests, const Matching& matching)
    : digests_(digests),
      matching_(matching),
      counts_(matching.groups.size()),
      evidence_(matching.groups.size()),
      messages_(matching.groups.size()) {
  for (size_t d = 0; d < digests_.size(); ++d) examine(d);
}

void CallGatherer::examine(size_t d) {
  const RankDigest& digest = digests_[d];
  const std::vector<uint32_t>& group_of = matching_.group_of[d];
  std::vector<size_t> calls(digest.communicators.size(), 0);
  for (size_t c = 0; c < digest.communicators.size(); ++c)
    evidence_[group_of[c]].backend = digest.communicators[c].backend;
  for (const CollectiveRecord& record : digest.collectives) {
    const size_t g = group_of[record.communicator];
    if (is_point_to_point(record.function)) {
      if (!record.group_sequence) continue;
      auto& ranks = messages_[g];
      if (ranks.empty() || ranks.back().first != d) ranks.emplace_back(d, Numbers());
      ranks.back().second.push_back(*record.group_sequence);
      continue;
    }
    evidence_[g].all_have_function_number &= record.numbered;
    evidence_[g].all_have_group_number &= record.group_sequence.has_value();
    ++calls[record.communicator];
  }
  for (size_t c = 0; c < calls.size(); ++c) {
    Count& count = counts_[group_of[c]];
    count.calls += calls[c];
    count.most_of_a_rank = std::max(count.most_of_a_rank, calls[c]);
    if (!messages_[group_of[c]].empty() && messages_[group_of[c]].back().first == d)
      std::ranges::sort(messages_[group_of[c]].back().second);
  }
}

std::vector<GroupCalls> CallGatherer::gather(size_t first, size_t groups) const {
  std::vector<GroupCalls> gathered = calls_of(first, groups);
  for (size_t i = 0; i < groups; ++i) {
    gathered[i].numbering = numbering_of(first + i, gathered[i]);
    number(first + i, gathered[i]);
  }
  return gathered;
}

std::vector<GroupCalls> CallGatherer::calls_of(size_t first, size_t groups) const {
  std::vector<GroupCalls> gathered(groups);
  const auto is_asked_for = [&](size_t g) { return g >= first && g < first + groups; };
  for (size_t d = 0; d < digests_.size(); ++d) {
    const RankDigest& digest = digests_[d];
    const std::vector<uint32_t>& group_of = matching_.group_of[d];
    if (std::ranges::none_of(group_of, is_asked_for)) continue;
    const bool lossy = lost_records(digest);
    for (size_t i = 0; i < digest.collectives.size(); ++i) {
      const CollectiveRecord& record = digest.collectives[i];
      const size_t g = group_of[record.communicator];
      if (!is_asked_for(g) || is_point_to_point(record.function)) continue;
      std::vector<RankCalls>& ranks = gathered[g - first].ranks;
      if (ranks.empty() || ranks.back().digest != d)
        ranks.push_back({.digest = d, .calls = {}, .lossy = lossy});
      ranks.back().calls.push_back({.record = static_cast<uint32_t>(i)});
    }
  }
  return gathered;
}

// NCCL counts per function whether or not the calls are recorded. Gloo's numbers are the recorder's
// own: after a loss they count only the remaining calls.
Numbering CallGatherer::numbering_of(size_t g, const GroupCalls& group) const {
  const Evidence& evidence = evidence_[g];
  const bool counted_by_nccl =
      evidence.backend == Backend::kNccl && evidence.all_have_function_number;
  if (counted_by_nccl) return Numbering::kPerFunction;
  const bool any_loss = std::ranges::any_of(
      group.ranks, [&](const RankCalls& rank) { return rank.lossy && is_contiguous(rank); });
  if (any_loss) return Numbering::kByOrder;
  if (evidence.all_have_group_number) return Numbering::kPerGroup;
  return evidence.all_have_function_number ? Numbering::kPerFunction : Numbering::kByOrder;
}

// No number is missing, so the numbers do not reveal lost records.
bool CallGatherer::is_contiguous(const RankCalls& rank) const {
  const CollectiveRecords& records = digests_[rank.digest].collectives;
  std::optional<int64_t> low;
  std::optional<int64_t> high;
  for (const NumberedCall& call : rank.calls) {
    const std::optional<int64_t> number = records[call.record].group_sequence;
    if (!number) return true;
    low = std::min(low.value_or(*number), *number);
    high = std::max(high.value_or(*number), *number);
  }
  return low && *high - *low < static_cast<int64_t>(rank.calls.size());
}

void CallGatherer::number(size_t g, GroupCalls& group) const {
  if (group.numbering == Numbering::kByOrder) return;
  static const Numbers kNone;
  auto of_rank = messages_[g].begin();
  for (RankCalls& rank : group.ranks) {
    while (of_rank != messages_[g].end() && of_rank->first < rank.digest) ++of_rank;
    const bool any = of_rank != messages_[g].end() && of_rank->first == rank.digest;
    const Numbers& numbers = any ? of_rank->second : kNone;
    const CollectiveRecords& records = digests_[rank.digest].collectives;
    for (NumberedCall& call : rank.calls) {
      const CollectiveRecord& record = records[call.record];
      if (group.numbering == Numbering::kPerFunction) {
        call.lane = record.function;
        call.number = record.sequence;
        continue;
      }
      // Sends and receives share the counter, and their number differs between ranks.
      const auto before = std::ranges::lower_bound(numbers, *record.group_sequence);
      call.number = *record.group_sequence - (before - numbers.begin());
    }
  }
}

}  // namespace dprof::analyzer
