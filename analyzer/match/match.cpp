// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/match.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/match/groups.h"
#include "analyzer/match/messages.h"
#include "analyzer/match/order.h"
#include "analyzer/match/resync.h"
#include "analyzer/match/states.h"
#include "analyzer/match/wait.h"

namespace dprof::analyzer {
namespace {

class Matcher {
 public:
  explicit Matcher(std::span<const RankDigest> digests) : digests_(digests) {}

  Matching run() {
    join_groups(digests_, matching_);
    matching_.instance_of.resize(digests_.size());
    for (size_t d = 0; d < digests_.size(); ++d)
      matching_.instance_of[d].assign(digests_[d].collectives.size(), kNoInstance);
    std::vector<GroupCalls> groups = gather_calls(digests_, matching_);
    for (size_t g = 0; g < groups.size(); ++g) {
      match_group(g, groups[g]);
      groups[g] = {};
    }
    return std::move(matching_);
  }

 private:
  void match_group(size_t g, GroupCalls& calls) {
    if (calls.ranks.empty()) return;
    Group& group = matching_.groups[g];
    group.by_function = calls.numbering == Numbering::kPerFunction;
    if (calls.numbering == Numbering::kByOrder) number_by_order(calls, digests_);
    std::vector<Draft> drafts = drafts_of(g, calls, digests_);
    Resync resync;
    if (std::ranges::any_of(drafts, [](const Draft& d) { return !d.odd.empty(); })) {
      resync = resynchronise(calls, drafts, digests_);
      if (resync.renumbered > 0) drafts = drafts_of(g, calls, digests_);
    }
    if (resync.first) {
      matching_.remarks.push_back(
          make_diagnostic("collective_mismatch", words_of(*resync.first, group.name)));
      matching_.divergences.push_back(std::move(*resync.first));
    }
    if (resync.renumbered > 0) {
      matching_.remarks.push_back(make_diagnostic(
          "collectives_renumbered", fmt::format("{}: {} calls", group.name, resync.renumbered),
          resync.renumbered));
    }
    settle_states(drafts, group, calls, resync, digests_);
    keep(drafts);
  }

  void keep(std::vector<Draft>& drafts) {
    matching_.instances.reserve(matching_.instances.size() + drafts.size());
    for (Draft& draft : drafts) {
      for (const Member& member : draft.instance.members)
        matching_.instance_of[member.digest][member.record] = matching_.instances.size();
      ++matching_.count[static_cast<size_t>(draft.instance.state)];
      matching_.instances.push_back(std::move(draft.instance));
    }
  }

  std::span<const RankDigest> digests_;
  Matching matching_;
};

void order_by_arrival(Matching& matching, std::span<const RankDigest> digests) {
  const auto first_arrival = [&](const Instance& instance) {
    TraceNs first{INT64_MAX};
    for (const Member& m : instance.members) {
      const auto arrival = digests[m.digest].collectives[m.record].arrival();
      if (arrival) first = std::min(first, *arrival);
    }
    return first;
  };
  std::vector<std::pair<TraceNs, size_t>> order;
  for (size_t i = 0; i < matching.instances.size(); ++i)
    order.emplace_back(first_arrival(matching.instances[i]), i);
  std::ranges::sort(order);
  std::vector<Instance> sorted;
  sorted.reserve(order.size());
  for (const auto& [time, i] : order) {
    for (const Member& m : matching.instances[i].members)
      matching.instance_of[m.digest][m.record] = sorted.size();
    sorted.push_back(std::move(matching.instances[i]));
  }
  matching.instances = std::move(sorted);
}

}  // namespace

Matching match_collectives(std::span<const RankDigest> digests) { return Matcher(digests).run(); }

void settle_times(Matching& matching, std::span<const RankDigest> digests,
                  const Alignment& alignment) {
  for (Instance& instance : matching.instances) {
    if (instance.comparable) divide(instance, digests, matching.groups[instance.group], alignment);
  }
  order_by_arrival(matching, digests);
  match_messages(digests, alignment, matching);
}

}  // namespace dprof::analyzer
