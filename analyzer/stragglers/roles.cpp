// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/roles.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/replay/pipelines.h"
#include "analyzer/vocabulary/thresholds.h"

namespace dprof::analyzer {
namespace {

// By entry of Steps::ranks.
std::vector<bool> who_sends_or_receives(std::span<const RankDigest> digests, const Steps& steps,
                                        const Matching& matching) {
  std::set<int> ranks;
  for (const Message& message : matching.messages) {
    if (message.from && message.to && message.from != message.to)
      ranks.insert({*message.from, *message.to});
  }
  std::vector<bool> found;
  for (const size_t digest : steps.ranks) found.push_back(ranks.contains(digests[digest].rank));
  return found;
}

// Time in forward and backward over all steps.
std::vector<double> phases_of(const OwnWork& work) {
  std::vector<double> sums(work.own_ns.size(), 0);
  for (size_t r = 0; r < work.kind_ns.size(); ++r) {
    for (const KindNs& kinds : work.kind_ns[r]) {
      sums[r] += static_cast<double>(kinds[index_of(OwnKind::kForward)] +
                                     kinds[index_of(OwnKind::kBackward)]);
    }
  }
  return sums;
}

void find_servers(const std::vector<bool>& messages, const OwnWork& work, Roles& roles) {
  const std::vector<double> phases = phases_of(work);
  const double most = phases.empty() ? 0 : *std::ranges::max_element(phases);
  for (size_t r = 0; r < messages.size(); ++r) {
    if (!messages[r] || most <= 0 || phases[r] >= limit::kNoPhases * most) continue;
    roles.of[r] = {.name = "server", .is_server = true};
  }
}

void make_sets(Roles& roles) {
  const size_t ranks = roles.of.size();
  std::map<std::string, std::vector<size_t>> by_name;
  std::vector<size_t> all;
  for (size_t r = 0; r < ranks; ++r) {
    if (roles.of[r].is_server) continue;
    by_name[roles.of[r].name].push_back(r);
    all.push_back(r);
  }
  roles.set_of.assign(ranks, std::nullopt);
  // With one peer only the difference would show, not the culprit: then all are compared.
  bool with_all = by_name.size() == 1;
  for (const auto& [name, members] : by_name)
    with_all = with_all || members.size() < limit::kLeastPeers;
  if (with_all && all.size() > 1) roles.sets.push_back(all);
  for (const auto& [name, members] : by_name) {
    const bool own = by_name.size() > 1 && members.size() >= limit::kLeastPeers;
    if (own) roles.sets.push_back(members);
    if (roles.sets.empty()) continue;
    for (const size_t r : members) roles.set_of[r] = own ? roles.sets.size() - 1 : 0;
  }
}

}  // namespace

bool Roles::alone(size_t rank) const {
  return !of[rank].name.empty() && set_of[rank] &&
         std::ranges::any_of(sets[*set_of[rank]],
                             [&](size_t other) { return of[other].name != of[rank].name; });
}

Roles same_roles(size_t ranks) {
  Roles roles;
  roles.of.resize(ranks);
  make_sets(roles);
  return roles;
}

Roles roles_of(std::span<const RankDigest> digests, const Steps& steps, const Matching& matching,
               const OwnWork& work) {
  if (matching.messages.empty()) return same_roles(steps.ranks.size());
  const std::vector<bool> messages = who_sends_or_receives(digests, steps, matching);
  Roles roles;
  roles.of.resize(steps.ranks.size());
  find_servers(messages, work, roles);
  if (std::ranges::none_of(roles.of, &Role::is_server)) {
    if (const auto pipelines = pipelines_of(digests, steps, matching)) {
      for (size_t r = 0; r < roles.of.size(); ++r) {
        roles.of[r] = {.name = stage_words(pipelines->of[r].stage, pipelines->stages),
                       .is_stage = true};
      }
      for (size_t p = 0; pipelines->replicas > 1 && p < pipelines->replicas; ++p)
        roles.pipelines.push_back(pipelines->with_replica(p));
    }
  }
  make_sets(roles);
  return roles;
}

}  // namespace dprof::analyzer
