// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/match.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/match/groups.h"
#include "analyzer/match/order.h"
#include "analyzer/match/resync.h"
#include "analyzer/match/states.h"

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

}  // namespace

Matching match_collectives(std::span<const RankDigest> digests) { return Matcher(digests).run(); }

bool is_synchronising(schema::Function function) {
  return function == schema::Function::kAllReduce || function == schema::Function::kAllGather ||
         function == schema::Function::kReduceScatter || function == schema::Function::kAllToAll ||
         function == schema::Function::kBarrier;
}

}  // namespace dprof::analyzer
