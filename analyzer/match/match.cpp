// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/match.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "analyzer/match/messages.h"
#include "analyzer/match/wait.h"

namespace dprof::analyzer {
namespace {

using schema::Function;

// Members must give the same number of bytes.
bool has_equal_bytes(Function function) {
  return function == Function::kAllReduce || function == Function::kBroadcast ||
         function == Function::kReduce || function == Function::kReduceScatter;
}

bool is_finished(const CollectiveRecord& record) { return record.start && record.end; }

class Matcher {
 public:
  explicit Matcher(std::span<const RankDigest> digests) : digests_(digests) {}

  Matching run(bool aligned) {
    join_groups();
    collect_instances();
    find_divergence();
    find_common_windows();
    for (Instance& instance : matching_.instances) {
      settle_state(instance);
      if (instance.comparable)
        divide(instance, digests_, matching_.groups[instance.group], aligned);
      ++matching_.count[static_cast<size_t>(instance.state)];
    }
    order_by_arrival();
    match_messages(digests_, aligned, matching_);
    return std::move(matching_);
  }

 private:
  void join_groups() {
    std::map<std::tuple<int64_t, int64_t, std::string>, size_t> known;
    matching_.group_of.resize(digests_.size());
    for (size_t d = 0; d < digests_.size(); ++d) {
      for (const CommunicatorInfo& info : digests_[d].communicators) {
        // A hash of 0 is none: the name must tell them apart.
        const auto key = std::make_tuple(info.hash, info.ordinal, info.hash == 0 ? info.name : "");
        const auto [entry, is_new] = known.try_emplace(key, matching_.groups.size());
        if (is_new) matching_.groups.push_back({info.hash, info.ordinal, info.name, {}, false});
        Group& group = matching_.groups[entry->second];
        if (group.members.empty()) group.members = info.members;
        sizes_.resize(matching_.groups.size());
        if (info.size) sizes_[entry->second] = std::max(sizes_[entry->second], *info.size);
        matching_.group_of[d].push_back(entry->second);
      }
    }
    seen_.resize(matching_.groups.size());
    for (size_t d = 0; d < digests_.size(); ++d) {
      for (const size_t group : matching_.group_of[d]) seen_[group].insert(digests_[d].rank);
    }
    for (size_t g = 0; g < matching_.groups.size(); ++g) {
      Group& group = matching_.groups[g];
      if (!group.members.empty()) continue;
      group.members.assign(seen_[g].begin(), seen_[g].end());
      group.members_inferred = true;
    }
  }

  void collect_instances() {
    std::map<std::tuple<size_t, Function, int64_t>, size_t> known;
    matching_.instance_of.resize(digests_.size());
    for (size_t d = 0; d < digests_.size(); ++d) {
      const auto& records = digests_[d].collectives;
      matching_.instance_of[d].assign(records.size(), kNoInstance);
      for (size_t i = 0; i < records.size(); ++i) {
        const CollectiveRecord& record = records[i];
        if (is_point_to_point(record.function)) continue;
        const size_t group = matching_.group_of[d][record.communicator];
        const auto [entry, is_new] = known.try_emplace({group, record.function, record.sequence},
                                                       matching_.instances.size());
        if (is_new) {
          matching_.instances.push_back({.group = group,
                                         .function = record.function,
                                         .sequence = record.sequence,
                                         .bytes = record.bytes,
                                         .last_arriver = {},
                                         .members = {}});
        }
        Instance& instance = matching_.instances[entry->second];
        if (!instance.members.empty() && instance.members.back().digest == d) continue;
        instance.members.push_back({d, i, 0});
        matching_.instance_of[d][i] = entry->second;
      }
    }
  }

  // The first place in a group's order of calls where two ranks do different things: later pairings
  // are shifted and not to be trusted.
  void find_divergence() {
    struct Token {
      Function function;
      std::optional<int64_t> bytes;
    };
    diverges_at_.assign(matching_.groups.size(), INT64_MAX);
    std::map<std::pair<size_t, int64_t>, Token> first_seen;
    for (size_t d = 0; d < digests_.size(); ++d) {
      for (const CollectiveRecord& record : digests_[d].collectives) {
        if (!record.group_sequence || is_point_to_point(record.function)) continue;
        const size_t group = matching_.group_of[d][record.communicator];
        const auto [entry, is_new] = first_seen.try_emplace({group, *record.group_sequence},
                                                            Token{record.function, record.bytes});
        if (is_new) continue;
        const Token& other = entry->second;
        const bool differs =
            other.function != record.function || (has_equal_bytes(record.function) && other.bytes &&
                                                  record.bytes && *other.bytes != *record.bytes);
        if (differs) diverges_at_[group] = std::min(diverges_at_[group], *record.group_sequence);
      }
    }
  }

  // Per group and function the sequence numbers that every member recorded.
  void find_common_windows() {
    std::map<std::tuple<size_t, Function, size_t>, std::pair<int64_t, int64_t>> of_rank;
    for (const Instance& instance : matching_.instances) {
      for (const Member& member : instance.members) {
        auto [entry, is_new] =
            of_rank.try_emplace({instance.group, instance.function, member.digest},
                                instance.sequence, instance.sequence);
        entry->second.first = std::min(entry->second.first, instance.sequence);
        entry->second.second = std::max(entry->second.second, instance.sequence);
      }
    }
    for (const auto& [key, range] : of_rank) {
      auto [entry, is_new] =
          windows_.try_emplace({std::get<0>(key), std::get<1>(key)}, range.first, range.second);
      entry->second.first = std::max(entry->second.first, range.first);
      entry->second.second = std::min(entry->second.second, range.second);
    }
  }

  void settle_state(Instance& instance) {
    const Group& group = matching_.groups[instance.group];
    const auto record = [&](const Member& m) -> const CollectiveRecord& {
      return digests_[m.digest].collectives[m.record];
    };
    const bool all_present = instance.members.size() >= seen_[instance.group].size();
    const bool all_finished = std::ranges::all_of(
        instance.members, [&](const Member& m) { return is_finished(record(m)); });
    const bool all_members =
        instance.members.size() >=
        std::max(group.members.size(),
                 static_cast<size_t>(std::max<int64_t>(0, sizes_[instance.group])));
    const bool differs = std::ranges::any_of(instance.members, [&](const Member& m) {
      const CollectiveRecord& r = record(m);
      const bool other_bytes = has_equal_bytes(instance.function) && r.bytes && instance.bytes &&
                               *r.bytes != *instance.bytes;
      return other_bytes || (r.group_sequence && *r.group_sequence >= diverges_at_[instance.group]);
    });
    const auto& window = windows_.at({instance.group, instance.function});
    const bool inside = instance.sequence >= window.first && instance.sequence <= window.second;
    if (differs) {
      instance.state = MatchState::kMismatch;
    } else if (!all_finished) {
      instance.state = MatchState::kInFlight;
    } else if (!all_present) {
      instance.state = inside ? MatchState::kMissing : MatchState::kTruncated;
    } else {
      instance.state = all_members ? MatchState::kMatched : MatchState::kMissing;
    }
    instance.comparable = !differs && all_finished && all_present && instance.members.size() > 1;
  }

  void order_by_arrival() {
    const auto first_arrival = [&](const Instance& instance) {
      TraceNs first{INT64_MAX};
      for (const Member& m : instance.members) {
        const auto arrival = digests_[m.digest].collectives[m.record].arrival();
        if (arrival) first = std::min(first, *arrival);
      }
      return first;
    };
    std::vector<std::pair<TraceNs, size_t>> order;
    for (size_t i = 0; i < matching_.instances.size(); ++i)
      order.emplace_back(first_arrival(matching_.instances[i]), i);
    std::ranges::sort(order);
    std::vector<Instance> sorted;
    sorted.reserve(order.size());
    for (const auto& [time, i] : order) {
      for (const Member& m : matching_.instances[i].members)
        matching_.instance_of[m.digest][m.record] = sorted.size();
      sorted.push_back(std::move(matching_.instances[i]));
    }
    matching_.instances = std::move(sorted);
  }

  std::span<const RankDigest> digests_;
  Matching matching_;
  std::vector<int64_t> sizes_;        // by group; 0 = unknown
  std::vector<std::set<int>> seen_;   // by group: ranks with a trace
  std::vector<int64_t> diverges_at_;  // by group
  std::map<std::pair<size_t, Function>, std::pair<int64_t, int64_t>> windows_;
};

}  // namespace

Matching match_collectives(std::span<const RankDigest> digests, bool aligned) {
  return Matcher(digests).run(aligned);
}

}  // namespace dprof::analyzer
