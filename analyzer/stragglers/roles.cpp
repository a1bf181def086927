// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/roles.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analyzer/replay/pipelines.h"
#include "analyzer/vocabulary/thresholds.h"
#include "base/stats.h"

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

constexpr OwnKind kReading[] = {OwnKind::kInput, OwnKind::kCopy};

int64_t typical(std::span<const KindNs> steps, OwnKind kind) {
  std::vector<int64_t> series;
  for (const KindNs& kinds : steps) series.push_back(kinds[index_of(kind)]);
  return median_ns(std::move(series));
}

// What the ranks of a set with several stages do to read their input, in typical steps.
class Reading {
 public:
  Reading(const Roles& roles, const OwnWork& work, const std::vector<size_t>& set) : set_(set) {
    std::vector<int64_t> own;
    for (const size_t r : set) {
      own.push_back(median_ns(work.own_ns[r]));
      stage_[roles.of[r].name].push_back(r);
      for (const OwnKind kind : kReading) typical_[kind][r] = typical(work.kind_ns[r], kind);
    }
    own_ns_ = median_ns(std::move(own));
    for (const OwnKind kind : kReading) {
      for (const auto& [rank, ns] : typical_[kind]) sorted_[kind].push_back(ns);
      std::ranges::sort(sorted_[kind]);
    }
  }

  // What belongs to a rank's role, per step.
  [[nodiscard]] KindNs of_role(size_t rank, const std::string& stage) const {
    KindNs usual{};
    int64_t all = 0;
    const std::vector<size_t>& same = stage_.at(stage);
    for (const OwnKind kind : kReading) {
      const int64_t ns = of_others(rank, same, kind);
      if (!is_only_its_own(same, kind, ns)) continue;
      usual[index_of(kind)] = ns;
      all += ns;
    }
    const bool much =
        static_cast<double>(all) >= limit::kUnlikeStages * static_cast<double>(own_ns_);
    return same.size() == 1 && much ? KindNs{} : usual;
  }

 private:
  // Of the other ranks of its stage; of a stage of one rank, its own.
  [[nodiscard]] int64_t of_others(size_t rank, const std::vector<size_t>& same,
                                  OwnKind kind) const {
    std::vector<int64_t> values;
    for (const size_t r : same) {
      if (r != rank || same.size() == 1) values.push_back(typical_.at(kind).at(r));
    }
    return median_ns(std::move(values));
  }

  // Most ranks of other stages have hardly any of it.
  [[nodiscard]] bool is_only_its_own(const std::vector<size_t>& same, OwnKind kind,
                                     int64_t ns) const {
    const auto little = static_cast<int64_t>(limit::kHardlyAny * static_cast<double>(ns));
    const std::vector<int64_t>& all = sorted_.at(kind);
    auto have = all.end() - std::ranges::upper_bound(all, little);
    for (const size_t r : same) have -= typical_.at(kind).at(r) > little ? 1 : 0;
    return 2 * have < static_cast<ptrdiff_t>(set_.size() - same.size());
  }

  const std::vector<size_t>& set_;
  std::map<std::string, std::vector<size_t>> stage_;
  std::map<OwnKind, std::map<size_t, int64_t>> typical_;
  std::map<OwnKind, std::vector<int64_t>> sorted_;
  int64_t own_ns_ = 0;
};

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

void leave_out_reading(const Roles& roles, OwnWork& work) {
  const auto lone = [&](size_t rank) { return roles.of[rank].is_stage && roles.alone(rank); };
  for (size_t set = 0; set < roles.sets.size(); ++set) {
    if (std::ranges::none_of(roles.sets[set], lone)) continue;
    const Reading reading(roles, work, roles.sets[set]);
    work.of_role.resize(roles.of.size(), KindNs{});
    for (const size_t r : roles.sets[set]) {
      if (roles.set_of[r] == set) work.of_role[r] = reading.of_role(r, roles.of[r].name);
    }
  }
  for (size_t r = 0; r < work.of_role.size(); ++r) {
    for (size_t s = 0; s < work.kind_ns[r].size(); ++s) {
      for (const OwnKind kind : kReading) {
        int64_t& ns = work.kind_ns[r][s][index_of(kind)];
        const int64_t out = std::min(ns, work.of_role[r][index_of(kind)]);
        ns -= out;
        work.own_ns[r][s] -= out;
      }
    }
  }
}

ComparedWork compared_work(std::span<const RankDigest> digests, const Steps& steps,
                           const Matching& matching, std::span<const Lattice> pieces) {
  ComparedWork compared{.work = own_work_of(digests, steps, pieces), .roles = {}};
  compared.roles = roles_of(digests, steps, matching, compared.work);
  leave_out_reading(compared.roles, compared.work);
  return compared;
}

}  // namespace dprof::analyzer
