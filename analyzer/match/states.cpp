// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/states.h"

#include <algorithm>

#include "analyzer/match/tokens.h"

namespace dprof::analyzer {
namespace {

// Positions of a rank's first and last call.
struct Range {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
};

class StateSettler {
 public:
  StateSettler(std::vector<Draft>& drafts, const Group& group, const GroupCalls& calls,
               const Resync& resync, std::span<const RankDigest> digests)
      : drafts_(drafts), group_(group), calls_(calls), resync_(resync), digests_(digests) {}

  void run() {
    ranges_.resize(calls_.ranks.size());
    for (const Draft& draft : drafts_) {
      for (const uint32_t rank : draft.ranks) {
        ranges_[rank].first = std::min(ranges_[rank].first, draft.instance.position);
        ranges_[rank].last = std::max(ranges_[rank].last, draft.instance.position);
      }
    }
    for (Draft& draft : drafts_) settle(draft);
  }

 private:
  void settle(Draft& draft) const {
    Instance& instance = draft.instance;
    bool all_finished = true;
    bool all_timed = true;
    for (const Member& member : instance.members) {
      const CollectiveRecord& record = digests_[member.digest].collectives[member.record];
      all_finished = all_finished && is_finished(record);
      all_timed = all_timed && record.start && record.end;
    }
    const size_t members = instance.members.size();
    const bool all_present = members >= group_.digests.size();
    const bool all_members =
        members >=
        std::max(group_.members.size(), static_cast<size_t>(std::max<int64_t>(0, group_.size)));
    const bool differs = !draft.odd.empty() || draft.out_of_order || !is_trusted(draft);
    if (differs) {
      instance.state = MatchState::kMismatch;
    } else if (!all_finished) {
      instance.state = MatchState::kInFlight;
    } else if (!all_present) {
      instance.state =
          is_within_an_absent_rank(draft) ? MatchState::kMissing : MatchState::kTruncated;
    } else {
      instance.state = all_members ? MatchState::kMatched : MatchState::kMissing;
    }
    instance.comparable = !differs && all_timed && all_present && members > 1;
  }

  bool is_trusted(const Draft& draft) const {
    const schema::Function lane = calls_.ranks[draft.ranks[0]].calls[draft.calls[0]].lane;
    return std::ranges::none_of(resync_.untrusted, [&](const Resync::Untrusted& one) {
      return one.lane == lane && draft.instance.sequence >= one.from;
    });
  }

  bool is_within_an_absent_rank(const Draft& draft) const {
    if (calls_.ranks.size() < group_.digests.size()) return true;  // one never called anything
    size_t member = 0;
    for (uint32_t rank = 0; rank < ranges_.size(); ++rank) {
      while (member < draft.ranks.size() && draft.ranks[member] < rank) ++member;
      if (member < draft.ranks.size() && draft.ranks[member] == rank) continue;
      if (draft.instance.position > ranges_[rank].first &&
          draft.instance.position < ranges_[rank].last)
        return true;
    }
    return false;
  }

  std::vector<Draft>& drafts_;
  const Group& group_;
  const GroupCalls& calls_;
  const Resync& resync_;
  std::span<const RankDigest> digests_;
  std::vector<Range> ranges_;
};

}  // namespace

void settle_states(std::vector<Draft>& drafts, const Group& group, const GroupCalls& calls,
                   const Resync& resync, std::span<const RankDigest> digests) {
  StateSettler(drafts, group, calls, resync, digests).run();
}

}  // namespace dprof::analyzer
