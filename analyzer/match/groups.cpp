// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/groups.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/shared_list.h"

namespace dprof::analyzer {
namespace {

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6U) + (hash >> 2U);
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 33U);
}

class GroupJoiner {
 public:
  GroupJoiner(std::span<const RankDigest> digests, Matching& matching)
      : digests_(digests), matching_(matching) {}

  void run() {
    matching_.group_of.resize(digests_.size());
    for (size_t d = 0; d < digests_.size(); ++d)
      matching_.group_of[d].assign(digests_[d].communicators.size(), kNoInstance);
    // Entries with known members first: the others can then be assigned to them.
    for (const bool with_members : {true, false}) {
      for (size_t d = 0; d < digests_.size(); ++d) join_rank(d, with_members);
    }
    for (size_t d = 0; d < digests_.size(); ++d) {
      for (const size_t group : matching_.group_of[d]) {
        std::vector<size_t>& ranks = matching_.groups[group].digests;
        if (ranks.empty() || ranks.back() != d) ranks.push_back(d);
      }
    }
    for (Group& group : matching_.groups) complete(group);
  }

 private:
  // Hash 0 means none: the name must then distinguish them.
  using Key = std::tuple<int64_t, int64_t, std::string>;

  void join_rank(size_t d, bool with_members) {
    for (size_t c = 0; c < digests_[d].communicators.size(); ++c) {
      const CommunicatorInfo& info = digests_[d].communicators[c];
      if (info.members.empty() == with_members) continue;
      const size_t group = group_for(d, info);
      matching_.group_of[d][c] = static_cast<uint32_t>(group);
      taken_[group] = d + 1;
      if (info.size)
        matching_.groups[group].size = std::max(matching_.groups[group].size, *info.size);
    }
  }

  size_t group_for(size_t d, const CommunicatorInfo& info) {
    std::vector<size_t>& candidates =
        known_[Key{info.hash, info.ordinal, info.hash == 0 ? info.name : std::string()}];
    const SharedList<int> members = sorted(info.members);
    std::optional<size_t> other;
    for (const size_t g : candidates) {
      // One rank's second communicator of this kind is the second creation.
      if (taken_[g] == d + 1) continue;
      const SharedList<int>& theirs = members_[g];
      if (members.empty() && !theirs.empty() &&
          !std::ranges::binary_search(theirs, digests_[d].rank)) {
        if (!other) other = g;
        continue;
      }
      if (members.empty() || theirs == members) return g;
    }
    if (other) return *other;
    candidates.push_back(matching_.groups.size());
    Group group{.hash = info.hash, .ordinal = info.ordinal, .name = info.name};
    group.members = info.members.list();
    group.identity =
        mixed(mixed(0, static_cast<uint64_t>(info.hash)), static_cast<uint64_t>(info.ordinal));
    if (info.hash == 0) group.identity = mixed(group.identity, std::hash<std::string>{}(info.name));
    for (const int rank : members)
      group.identity = mixed(group.identity, static_cast<uint64_t>(rank));
    group.identity = mixed(group.identity, candidates.size());
    matching_.groups.push_back(std::move(group));
    members_.push_back(members);
    taken_.push_back(0);
    return matching_.groups.size() - 1;
  }

  // Sorts each shared list once.
  SharedList<int> sorted(const SharedList<int>& ranks) {
    SharedList<int>& known = sorted_[&ranks.list()];
    if (known.empty() && !ranks.empty()) {
      std::vector<int> list = ranks.list();
      std::ranges::sort(list);
      known = std::move(list);
    }
    return known;
  }

  void complete(Group& group) const {
    if (!group.members.empty()) return;
    for (const size_t d : group.digests) group.members.push_back(digests_[d].rank);
    std::ranges::sort(group.members);
    group.members_inferred = true;
  }

  std::span<const RankDigest> digests_;
  Matching& matching_;
  std::map<Key, std::vector<size_t>> known_;
  std::vector<SharedList<int>> members_;  // by group, sorted; empty = unknown
  std::unordered_map<const std::vector<int>*, SharedList<int>> sorted_;
  std::vector<size_t> taken_;  // by group: the last digest that has it, from 1
};

}  // namespace

void join_groups(std::span<const RankDigest> digests, Matching& matching) {
  GroupJoiner(digests, matching).run();
}

}  // namespace dprof::analyzer
