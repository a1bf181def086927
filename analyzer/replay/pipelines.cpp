// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/pipelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace dprof::analyzer {
namespace {

// The predecessor of each entry; kNobody = it is a first stage.
using Predecessors = std::vector<size_t>;

// The sender of its first message of a step, if that arrived before the rank sent one itself.
Predecessors by_first_messages(std::span<const RankDigest> digests, const Steps& steps,
                               const Matching& matching, const AlignedStep& step) {
  std::vector<size_t> entry_of(digests.size(), kNobody);
  for (size_t r = 0; r < steps.ranks.size(); ++r) entry_of[steps.ranks[r]] = r;
  struct First {
    TraceNs at{INT64_MAX};
    size_t from = kNobody;
    bool any = false;
  };
  std::vector<First> first(steps.ranks.size());
  const auto see = [&](const Member& member, size_t from) {
    const size_t entry = entry_of[member.digest];
    if (entry == kNobody) return;
    const CollectiveRecord& record = digests[member.digest].collectives[member.record];
    const std::optional<TraceNs> at = record.end ? record.end : record.start;
    if (!at || !record.start || *record.start < step.windows[entry].begin ||
        *record.start >= step.windows[entry].end)
      return;
    if (*at < first[entry].at) first[entry] = {*at, from, true};
  };
  for (const Message& message : matching.messages) {
    if (!message.send || !message.receive) continue;
    see(*message.send, kNobody);
    see(*message.receive, entry_of[message.send->digest]);
  }
  Predecessors before;
  for (const First& one : first) before.push_back(one.any ? one.from : kNobody);
  return before;
}

// If steps do not begin at the same work on all ranks: the neighbour in a chain of ranks with
// messages, from the end with the lower rank.
Predecessors by_chains(std::span<const RankDigest> digests, const Steps& steps,
                       const Matching& matching) {
  std::map<int, size_t> entry_of;
  for (size_t r = 0; r < steps.ranks.size(); ++r) entry_of[digests[steps.ranks[r]].rank] = r;
  std::vector<std::set<size_t>> neighbours(steps.ranks.size());
  for (const Message& message : matching.messages) {
    if (!message.from || !message.to || message.from == message.to) continue;
    const auto from = entry_of.find(*message.from);
    const auto to = entry_of.find(*message.to);
    if (from == entry_of.end() || to == entry_of.end()) continue;
    neighbours[from->second].insert(to->second);
    neighbours[to->second].insert(from->second);
  }
  Predecessors before(neighbours.size(), kNobody);
  for (const auto& [rank, end] : entry_of) {
    if (neighbours[end].size() != 1 || before[end] != kNobody) continue;
    size_t at = end;
    size_t from = kNobody;
    while (true) {
      const auto next = std::ranges::find_if(neighbours[at], [&](size_t r) { return r != from; });
      if (next == neighbours[at].end() || neighbours[*next].size() > 2) break;
      from = std::exchange(at, *next);
      before[at] = from;
    }
  }
  return before;
}

std::optional<Pipelines> pipelines_of(const Predecessors& before) {
  Pipelines pipelines;
  std::map<size_t, size_t> replica_of;  // by the first stage's entry
  std::vector<size_t> length;           // by replica
  for (size_t r = 0; r < before.size(); ++r) {
    size_t stage = 0;
    size_t at = r;
    for (; before[at] != kNobody; at = before[at]) {
      if (++stage >= before.size()) return std::nullopt;  // a cycle is not a pipeline
    }
    const size_t replica = replica_of.try_emplace(at, replica_of.size()).first->second;
    pipelines.of.push_back({stage, replica});
    length.resize(replica_of.size());
    ++length[replica];
    pipelines.stages = std::max(pipelines.stages, stage + 1);
  }
  pipelines.replicas = length.size();
  const bool alike = std::ranges::all_of(length, [&](size_t n) { return n == pipelines.stages; });
  if (pipelines.stages < 2 || !alike) return std::nullopt;
  return pipelines;
}

}  // namespace

std::vector<size_t> Pipelines::with_stage(size_t stage) const {
  std::vector<size_t> entries;
  for (size_t r = 0; r < of.size(); ++r) {
    if (of[r].stage == stage) entries.push_back(r);
  }
  return entries;
}

std::vector<size_t> Pipelines::with_replica(size_t replica) const {
  std::vector<size_t> entries;
  for (size_t r = 0; r < of.size(); ++r) {
    if (of[r].replica == replica) entries.push_back(r);
  }
  return entries;
}

std::optional<Pipelines> pipelines_of(std::span<const RankDigest> digests, const Steps& steps,
                                      const Matching& matching) {
  if (matching.messages.empty() || steps.steps.empty()) return std::nullopt;
  std::optional<Pipelines> pipelines =
      pipelines_of(by_first_messages(digests, steps, matching, steps.steady().front()));
  return pipelines ? pipelines : pipelines_of(by_chains(digests, steps, matching));
}

std::string stage_words(size_t stage, size_t stages) {
  return fmt::format("stage {} of {}", stage + 1, stages);
}

}  // namespace dprof::analyzer
