// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace dprof::analyzer {
namespace {

constexpr double kNoPhases = 0.1;  // of the most that a rank computes in forward and backward

using Neighbours = std::vector<std::set<size_t>>;

Neighbours neighbours_of(std::span<const RankDigest> digests, const Steps& steps,
                         const Matching& matching) {
  std::map<int, size_t> entry_of;
  for (size_t r = 0; r < steps.ranks.size(); ++r) entry_of[digests[steps.ranks[r]].rank] = r;
  Neighbours neighbours(steps.ranks.size());
  for (const Message& message : matching.messages) {
    if (!message.from || !message.to) continue;
    const auto from = entry_of.find(*message.from);
    const auto to = entry_of.find(*message.to);
    if (from == entry_of.end() || to == entry_of.end() || from == to) continue;
    neighbours[from->second].insert(to->second);
    neighbours[to->second].insert(from->second);
  }
  return neighbours;
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

// Connected ranks in the order of the chain, from the end with the lower rank; empty = no chain.
std::vector<size_t> chain_from(const Neighbours& neighbours, size_t member) {
  std::vector<size_t> members = {member};
  std::set<size_t> seen = {member};
  for (size_t i = 0; i < members.size(); ++i) {
    for (const size_t next : neighbours[members[i]]) {
      if (seen.insert(next).second) members.push_back(next);
    }
  }
  std::ranges::sort(members);
  const auto end =
      std::ranges::find_if(members, [&](size_t r) { return neighbours[r].size() == 1; });
  if (end == members.end() ||
      std::ranges::any_of(members, [&](size_t r) { return neighbours[r].size() > 2; }))
    return {};
  std::vector<size_t> chain = {*end};
  while (chain.size() < members.size()) {
    const auto next = std::ranges::find_if(neighbours[chain.back()], [&](size_t r) {
      return chain.size() < 2 || r != chain[chain.size() - 2];
    });
    if (next == neighbours[chain.back()].end()) return {};
    chain.push_back(*next);
  }
  return chain;
}

void find_servers(const Neighbours& neighbours, const OwnWork& work, Roles& roles) {
  const std::vector<double> phases = phases_of(work);
  const double most = phases.empty() ? 0 : *std::ranges::max_element(phases);
  for (size_t r = 0; r < neighbours.size(); ++r) {
    if (neighbours[r].empty() || most <= 0 || phases[r] >= kNoPhases * most) continue;
    roles.of[r] = {.name = "server", .is_server = true};
  }
}

void find_stages(const Neighbours& neighbours, Roles& roles) {
  std::vector<bool> placed(neighbours.size(), false);
  std::vector<Role> found(neighbours.size());
  for (size_t r = 0; r < neighbours.size(); ++r) {
    if (placed[r]) continue;
    const std::vector<size_t> chain = chain_from(neighbours, r);
    if (chain.size() < 2 || (roles.stages != 0 && chain.size() != roles.stages)) {
      roles.stages = 0;
      return;
    }
    roles.stages = chain.size();
    for (size_t stage = 0; stage < chain.size(); ++stage) {
      placed[chain[stage]] = true;
      found[chain[stage]] = {.name = fmt::format("stage {} of {}", stage + 1, chain.size()),
                             .is_stage = true,
                             .stage = stage};
    }
  }
  roles.of = std::move(found);
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
  // With one peer it could only be told that they differ: then all are compared.
  constexpr size_t kLeastPeers = 3;
  bool with_all = by_name.size() == 1;
  for (const auto& [name, members] : by_name) with_all = with_all || members.size() < kLeastPeers;
  if (with_all && all.size() > 1) roles.sets.push_back(all);
  for (const auto& [name, members] : by_name) {
    const bool own = by_name.size() > 1 && members.size() >= kLeastPeers;
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
  const Neighbours neighbours = neighbours_of(digests, steps, matching);
  if (std::ranges::all_of(neighbours, [](const auto& of_rank) { return of_rank.empty(); }))
    return same_roles(steps.ranks.size());
  Roles roles;
  roles.of.resize(steps.ranks.size());
  find_servers(neighbours, work, roles);
  if (std::ranges::none_of(roles.of, &Role::is_server)) find_stages(neighbours, roles);
  make_sets(roles);
  return roles;
}

}  // namespace dprof::analyzer
