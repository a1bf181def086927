// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/pipelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dprof::analyzer {
namespace {

// Who comes before each entry, in one step: the sender of its first message, if that came before it
// sent one itself.
std::vector<size_t> predecessors(std::span<const RankDigest> digests, const Steps& steps,
                                 const Matching& matching, const AlignedStep& step,
                                 const std::vector<size_t>& entry_of) {
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
  std::vector<size_t> before;
  for (const First& one : first) before.push_back(one.any ? one.from : kNobody);
  return before;
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
  std::vector<size_t> entry_of(digests.size(), kNobody);
  for (size_t r = 0; r < steps.ranks.size(); ++r) entry_of[steps.ranks[r]] = r;
  const std::vector<size_t> before =
      predecessors(digests, steps, matching, steps.steady().front(), entry_of);
  const size_t ranks = before.size();
  Pipelines pipelines;
  pipelines.of.resize(ranks);
  std::map<size_t, size_t> replica_of;  // by the first stage's entry
  std::map<size_t, size_t> length;      // likewise
  for (size_t r = 0; r < ranks; ++r) {
    size_t stage = 0;
    size_t at = r;
    for (; before[at] != kNobody; at = before[at]) {
      if (++stage >= ranks) return std::nullopt;  // a circle is no pipeline
    }
    const size_t replica = replica_of.try_emplace(at, replica_of.size()).first->second;
    pipelines.of[r] = {stage, replica};
    ++length[replica];
    pipelines.stages = std::max(pipelines.stages, stage + 1);
  }
  pipelines.replicas = replica_of.size();
  const bool alike = std::ranges::all_of(
      length, [&](const auto& one) { return one.second == length.begin()->second; });
  if (pipelines.stages < 2 || !alike) return std::nullopt;
  return pipelines;
}

std::string stage_words(size_t stage, size_t stages) {
  return fmt::format("stage {} of {}", stage + 1, stages);
}

}  // namespace dprof::analyzer
