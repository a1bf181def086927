// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/match.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/match/groups.h"
#include "analyzer/match/order.h"
#include "analyzer/match/resync.h"
#include "analyzer/match/tokens.h"
#include "base/in_threads.h"
#include "base/paged_memory.h"
#include "schema/function.h"

namespace dprof::analyzer {
namespace {

// Positions of a rank's first and last call.
struct Range {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
};

// Decides the state of each collective of a communicator. A member without a record of it misses it
// if it recorded earlier and later collectives of the communicator (or none at all); otherwise its
// trace begins later or ended earlier: truncated.
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

class Matcher {
 public:
  Matcher(std::span<const RankDigest> digests, bool paged) : digests_(digests), paged_(paged) {}

  Matching run() {
    join_groups(digests_, matching_);
    matching_.instance_of.resize(digests_.size());
    for (size_t d = 0; d < digests_.size(); ++d)
      matching_.instance_of[d].assign(digests_[d].collectives.size(), kNoInstance);
    const CallGatherer gatherer(digests_, matching_);
    size_t instances = 0;  // about: as many as the ranks with most calls have
    for (size_t g = 0; g < matching_.groups.size(); ++g)
      instances += gatherer.count(g).most_of_a_rank;
    matching_.instances.reserve(instances);
    for (size_t begin = 0; begin < matching_.groups.size();) {
      const size_t end = end_of_batch(gatherer, begin);
      match_groups(begin, gatherer.gather(begin, end - begin));
      begin = end;
    }
    return std::move(matching_);
  }

 private:
  // The communicators from `begin` on whose calls are in memory at once.
  [[nodiscard]] size_t end_of_batch(const CallGatherer& gatherer, size_t begin) const {
    constexpr size_t kCallsAtOnce = 4'000'000;
    size_t calls = 0;
    size_t end = begin;
    do {
      calls += gatherer.count(end++).calls;
    } while (end < matching_.groups.size() && calls + gatherer.count(end).calls <= kCallsAtOnce);
    return end;
  }

  void match_groups(size_t first, std::vector<GroupCalls> groups) {
    constexpr size_t kAtOnce = 64;  // communicators whose drafts are in memory
    for (size_t begin = 0; begin < groups.size(); begin += kAtOnce) {
      const size_t count = std::min(kAtOnce, groups.size() - begin);
      std::vector<Matched> matched(count);
      in_threads(count, 0, [&](size_t i) {
        matched[i] = match_group(first + begin + i, groups[begin + i]);
        groups[begin + i] = {};
      });
      for (Matched& one : matched) keep(one);
    }
  }

  // Of one communicator.
  struct Matched {
    size_t group = 0;
    std::vector<Draft> drafts;
    Resync resync;
  };

  // Changes nothing but its communicator.
  Matched match_group(size_t g, GroupCalls& calls) {
    Matched matched{.group = g};
    if (calls.ranks.empty()) return matched;
    Group& group = matching_.groups[g];
    group.by_function = calls.numbering == Numbering::kPerFunction;
    if (calls.numbering == Numbering::kByOrder) number_by_order(calls, digests_);
    std::vector<Draft>& drafts = matched.drafts;
    drafts = drafts_of(g, calls, digests_);
    Resync& resync = matched.resync;
    if (std::ranges::any_of(drafts, [](const Draft& d) { return !d.odd.empty(); })) {
      resync = resynchronise(calls, drafts, digests_);
      if (resync.renumbered > 0) drafts = drafts_of(g, calls, digests_);
    }
    StateSettler(drafts, group, calls, resync, digests_).run();
    return matched;
  }

  void keep(Matched& matched) {
    const std::string& name = matching_.groups[matched.group].name;
    if (std::optional<Divergence>& first = matched.resync.first) {
      matching_.remarks.push_back(make_diagnostic("collective_mismatch", words_of(*first, name)));
      matching_.divergences.push_back(*std::move(first));
    }
    if (const auto renumbered = matched.resync.renumbered; renumbered > 0) {
      matching_.remarks.push_back(make_diagnostic(
          "collectives_renumbered",
          fmt::format("{}: {} calls", schema::group_in_text(name), renumbered), renumbered));
    }
    for (Draft& draft : matched.drafts) {
      const auto number = static_cast<uint32_t>(matching_.instances.size());
      for (const Member& member : draft.instance.members)
        matching_.instance_of[member.digest][member.record] = number;
      if (paged_) draft.instance.members = paged_copy(draft.instance.members);
      ++matching_.count[static_cast<size_t>(draft.instance.state)];
      matching_.instances.push_back(std::move(draft.instance));
    }
  }

  std::span<const RankDigest> digests_;
  const bool paged_;
  Matching matching_;
};

}  // namespace

Matching match_collectives(std::span<const RankDigest> digests, bool paged) {
  return Matcher(digests, paged).run();
}

bool is_synchronising(schema::Function function) {
  return function == schema::Function::kAllReduce || function == schema::Function::kAllGather ||
         function == schema::Function::kReduceScatter || function == schema::Function::kAllToAll ||
         function == schema::Function::kBarrier;
}

}  // namespace dprof::analyzer
