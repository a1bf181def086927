// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/instances.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/match/tokens.h"

namespace dprof::analyzer {
namespace {

using schema::Function;

struct InstanceKey {
  int64_t number;
  uint32_t occurrence;
  uint32_t extra;
  Function lane;
  bool operator==(const InstanceKey&) const = default;
};

struct KeyHash {
  size_t operator()(const InstanceKey& key) const {
    uint64_t hash = static_cast<uint64_t>(key.number) * 0x9e3779b97f4a7c15ULL;
    hash ^= (uint64_t{key.occurrence} << 40U) ^ (uint64_t{key.extra} << 8U) ^
            static_cast<uint64_t>(key.lane);
    hash *= 0xff51afd7ed558ccdULL;
    return hash ^ (hash >> 32U);
  }
};

class Drafter {
 public:
  Drafter(size_t group, const GroupCalls& calls, std::span<const RankDigest> digests)
      : group_(group), calls_(calls), digests_(digests) {}

  std::vector<Draft> run() {
    size_t most = 0;
    for (const RankCalls& rank : calls_.ranks) most = std::max(most, rank.calls.size());
    known_.reserve(most + most / 8);
    for (uint32_t r = 0; r < calls_.ranks.size(); ++r) add_rank(r);
    for (Draft& draft : drafts_) compare(draft);
    if (calls_.numbering == Numbering::kPerFunction) {
      place_by_calls();
    } else {
      std::ranges::stable_sort(drafts_, {}, [](const Draft& d) { return d.instance.sequence; });
    }
    for (size_t i = 0; i < drafts_.size(); ++i)
      drafts_[i].instance.position = static_cast<int64_t>(i);
    return std::move(drafts_);
  }

 private:
  CollectiveRecord record(const Draft& draft, size_t member) const {
    const Member& m = draft.instance.members[member];
    return digests_[m.digest].collectives[m.record];
  }

  void add_rank(uint32_t r) {
    const RankCalls& rank = calls_.ranks[r];
    std::unordered_map<InstanceKey, uint32_t, KeyHash> again;  // later occurrences of a number
    for (uint32_t c = 0; c < rank.calls.size(); ++c) {
      const NumberedCall& call = rank.calls[c];
      InstanceKey key{call.number, 0, call.extra, call.lane};
      auto [entry, is_new] = known_.try_emplace(key, drafts_.size());
      if (!is_new && drafts_[entry->second].ranks.back() == r) {
        key.occurrence = ++again[key];
        std::tie(entry, is_new) = known_.try_emplace(key, drafts_.size());
      }
      const CollectiveRecord& record = digests_[rank.digest].collectives[call.record];
      if (is_new) {
        drafts_.push_back({.instance = {.group = static_cast<uint32_t>(group_),
                                        .function = record.function,
                                        .sequence = call.number,
                                        .bytes = record.bytes,
                                        .members = {}}});
        Draft& draft = drafts_.back();
        draft.instance.members.reserve(calls_.ranks.size());
        draft.ranks.reserve(calls_.ranks.size());
        draft.calls.reserve(calls_.ranks.size());
      }
      Draft& draft = drafts_[entry->second];
      draft.instance.members.push_back({static_cast<uint32_t>(rank.digest), call.record, 0});
      draft.ranks.push_back(r);
      draft.calls.push_back(c);
    }
  }

  // Most collectives have one class of agreeing members: one comparison each is enough.
  void compare(Draft& draft) const {
    const size_t members = draft.instance.members.size();
    std::vector<uint32_t> first_of_class = {0};
    std::vector<uint32_t> class_of(1, 0);
    std::vector<uint32_t> size = {1};
    for (uint32_t m = 1; m < members; ++m) {
      uint32_t c = 0;
      while (c < first_of_class.size() &&
             in_conflict(record(draft, first_of_class[c]), record(draft, m)))
        ++c;
      if (c == first_of_class.size()) {
        if (c == 1) class_of.assign(m, 0);
        // The largest number of kinds in one collective: the rest counts as one.
        constexpr uint32_t kMostClasses = 64;
        c = std::min(c, kMostClasses);
        if (c == first_of_class.size()) {
          first_of_class.push_back(m);
          size.push_back(0);
        }
      }
      ++size[c];
      if (first_of_class.size() > 1) class_of.push_back(c);
    }
    const auto largest = static_cast<uint32_t>(std::ranges::max_element(size) - size.begin());
    draft.majority = first_of_class[largest];
    const CollectiveRecord& usual = record(draft, draft.majority);
    draft.instance.function = usual.function;
    draft.instance.bytes = usual.bytes;
    if (usual.function == Function::kUnknown) {
      for (uint32_t m = 0; m < members && draft.instance.function == Function::kUnknown; ++m)
        draft.instance.function = record(draft, m).function;
    }
    if (first_of_class.size() == 1) return;
    draft.tie = std::ranges::count(size, size[largest]) > 1;
    for (uint32_t m = 0; m < members; ++m) {
      if (class_of[m] != largest) draft.odd.push_back(m);
    }
  }

  // Per-function counters give no order between functions. The order of the rank with most calls is
  // used; calls that it lacks go after the call that precedes them on another rank.
  void place_by_calls() {
    const std::vector<std::vector<uint32_t>> by_rank = drafts_by_rank();
    constexpr uint32_t kNone = UINT32_MAX;
    std::vector<uint32_t> next(drafts_.size(), kNone);
    std::vector<bool> placed(drafts_.size());
    uint32_t head = kNone;
    const auto place = [&](const std::vector<uint32_t>& order) {
      uint32_t before = kNone;
      for (const uint32_t draft : order) {
        if (!placed[draft]) {
          uint32_t& link = before == kNone ? head : next[before];
          next[draft] = link;
          link = draft;
          placed[draft] = true;
        }
        before = draft;
      }
    };
    const auto longest = std::ranges::max_element(by_rank, {}, &std::vector<uint32_t>::size);
    if (longest == by_rank.end()) return;
    place(*longest);
    for (const auto& order : by_rank) place(order);
    std::vector<uint32_t> position(drafts_.size());
    uint32_t count = 0;
    std::vector<Draft> ordered;
    ordered.reserve(drafts_.size());
    for (uint32_t draft = head; draft != kNone; draft = next[draft]) position[draft] = count++;
    mark_out_of_order(by_rank, position);
    for (uint32_t draft = head; draft != kNone; draft = next[draft])
      ordered.push_back(std::move(drafts_[draft]));
    drafts_ = std::move(ordered);
  }

  std::vector<std::vector<uint32_t>> drafts_by_rank() const {
    std::vector<std::vector<uint32_t>> by_rank(calls_.ranks.size());
    for (size_t r = 0; r < by_rank.size(); ++r) by_rank[r].resize(calls_.ranks[r].calls.size());
    for (uint32_t d = 0; d < drafts_.size(); ++d) {
      for (size_t m = 0; m < drafts_[d].ranks.size(); ++m)
        by_rank[drafts_[d].ranks[m]][drafts_[d].calls[m]] = d;
    }
    return by_rank;
  }

  void mark_out_of_order(const std::vector<std::vector<uint32_t>>& by_rank,
                         const std::vector<uint32_t>& position) {
    std::unordered_map<uint64_t, uint32_t> turned;  // by pair of drafts: ranks that reverse it
    for (const std::vector<uint32_t>& order : by_rank) {
      for (size_t i = 1; i < order.size(); ++i) {
        if (position[order[i]] > position[order[i - 1]]) continue;
        ++turned[(uint64_t{order[i - 1]} << 32U) | order[i]];
        drafts_[order[i]].out_of_order = drafts_[order[i - 1]].out_of_order = true;
      }
    }
    constexpr size_t kExamined = 64;  // beyond this no odd rank can be identified
    if (turned.size() > kExamined) return;
    for (const auto& [pair, ranks] : turned) {
      const auto first = static_cast<uint32_t>(pair >> 32U);
      const auto second = static_cast<uint32_t>(pair);
      for (const uint32_t draft : {first, second}) note_odd(drafts_[draft], by_rank, first, second);
    }
  }

  // The ranks with the rarer order are the odd ones.
  void note_odd(Draft& draft, const std::vector<std::vector<uint32_t>>& by_rank, uint32_t first,
                uint32_t second) const {
    std::vector<uint32_t> turned;
    std::vector<uint32_t> usual;
    for (uint32_t m = 0; m < draft.ranks.size(); ++m) {
      const std::vector<uint32_t>& order = by_rank[draft.ranks[m]];
      const size_t at = draft.calls[m];
      const bool before = at + 1 < order.size() && order[at] == first && order[at + 1] == second;
      const bool after = at > 0 && order[at] == second && order[at - 1] == first;
      (before || after ? turned : usual).push_back(m);
    }
    draft.tie = turned.size() == usual.size();
    if (!usual.empty() && usual.size() >= turned.size()) {
      draft.majority = usual.front();
      draft.odd = std::move(turned);
    } else {
      draft.majority = turned.front();
      draft.odd = std::move(usual);
    }
  }

  size_t group_;
  const GroupCalls& calls_;
  std::span<const RankDigest> digests_;
  std::vector<Draft> drafts_;
  std::unordered_map<InstanceKey, size_t, KeyHash> known_;
};

}  // namespace

std::vector<Draft> drafts_of(size_t group, const GroupCalls& calls,
                             std::span<const RankDigest> digests) {
  return Drafter(group, calls, digests).run();
}

}  // namespace dprof::analyzer
