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

struct Evidence {
  bool all_have_function_number = true;
  bool all_have_group_number = true;
  Backend backend = Backend::kUnknown;
};

class CallGatherer {
 public:
  CallGatherer(std::span<const RankDigest> digests, const Matching& matching)
      : digests_(digests), matching_(matching), groups_(matching.groups.size()) {
    evidence_.resize(groups_.size());
    messages_.resize(groups_.size());
  }

  std::vector<GroupCalls> run() {
    for (size_t d = 0; d < digests_.size(); ++d) gather(d);
    for (size_t g = 0; g < groups_.size(); ++g) {
      groups_[g].numbering = numbering_of(g);
      number(groups_[g], messages_[g]);
    }
    return std::move(groups_);
  }

 private:
  using Numbers = std::vector<int64_t>;  // group numbers of one rank's messages, sorted

  void gather(size_t d) {
    const RankDigest& digest = digests_[d];
    for (size_t c = 0; c < digest.communicators.size(); ++c)
      evidence_[matching_.group_of[d][c]].backend = digest.communicators[c].backend;
    const bool lossy = lost_records(digest);
    for (size_t i = 0; i < digest.collectives.size(); ++i) {
      const CollectiveRecord& record = digest.collectives[i];
      const size_t g = matching_.group_of[d][record.communicator];
      if (is_point_to_point(record.function)) {
        if (record.group_sequence) message_numbers(g, d).push_back(*record.group_sequence);
        continue;
      }
      Evidence& evidence = evidence_[g];
      evidence.all_have_function_number &= record.numbered;
      evidence.all_have_group_number &= record.group_sequence.has_value();
      std::vector<RankCalls>& ranks = groups_[g].ranks;
      if (ranks.empty() || ranks.back().digest != d)
        ranks.push_back({.digest = d, .calls = {}, .lossy = lossy});
      ranks.back().calls.push_back({.record = static_cast<uint32_t>(i)});
    }
  }

  Numbers& message_numbers(size_t g, size_t d) {
    auto& ranks = messages_[g];
    if (ranks.empty() || ranks.back().first != d) ranks.emplace_back(d, Numbers());
    return ranks.back().second;
  }

  // NCCL counts per function whether or not the calls are recorded. Gloo's numbers are the
  // recorder's own: after a loss they count only the remaining calls.
  Numbering numbering_of(size_t g) const {
    const Evidence& evidence = evidence_[g];
    const bool counted_by_nccl =
        evidence.backend == Backend::kNccl && evidence.all_have_function_number;
    if (counted_by_nccl) return Numbering::kPerFunction;
    const bool any_loss = std::ranges::any_of(
        groups_[g].ranks, [&](const RankCalls& rank) { return rank.lossy && is_contiguous(rank); });
    if (any_loss) return Numbering::kByOrder;
    if (evidence.all_have_group_number) return Numbering::kPerGroup;
    return evidence.all_have_function_number ? Numbering::kPerFunction : Numbering::kByOrder;
  }

  // No number is missing, so the numbers do not reveal lost records.
  bool is_contiguous(const RankCalls& rank) const {
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

  void number(GroupCalls& group, std::vector<std::pair<size_t, Numbers>>& messages) const {
    if (group.numbering == Numbering::kByOrder) return;
    auto of_rank = messages.begin();
    for (RankCalls& rank : group.ranks) {
      while (of_rank != messages.end() && of_rank->first < rank.digest) ++of_rank;
      Numbers none;
      Numbers& numbers =
          of_rank != messages.end() && of_rank->first == rank.digest ? of_rank->second : none;
      std::ranges::sort(numbers);
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

  std::span<const RankDigest> digests_;
  const Matching& matching_;
  std::vector<GroupCalls> groups_;
  std::vector<Evidence> evidence_;
  std::vector<std::vector<std::pair<size_t, Numbers>>> messages_;  // by group, then digest
};

}  // namespace

std::vector<GroupCalls> gather_calls(std::span<const RankDigest> digests,
                                     const Matching& matching) {
  return CallGatherer(digests, matching).run();
}

}  // namespace dprof::analyzer
