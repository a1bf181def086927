// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/focus.h"

#include <algorithm>

namespace dprof::analyzer {
namespace {

template <typename List>
void keep_rank(List& list, int rank) {
  std::erase_if(list, [&](const auto& entry) { return entry.rank != rank; });
}

// Symptoms refer to their cause by position; those that lose it stay as findings.
void keep_findings(std::vector<Finding>& findings, int rank) {
  std::vector<std::optional<int>> place(findings.size());
  std::vector<Finding> kept;
  for (size_t i = 0; i < findings.size(); ++i) {
    const std::vector<int>& ranks = findings[i].ranks;
    if (!ranks.empty() && std::ranges::count(ranks, rank) == 0) continue;
    place[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(findings[i]));
  }
  for (Finding& finding : kept) {
    if (!finding.caused_by) continue;
    const auto cause = static_cast<size_t>(*finding.caused_by);
    finding.caused_by = cause < place.size() ? place[cause] : std::nullopt;
  }
  findings = std::move(kept);
}

}  // namespace

Report seen_from(const Report& report, int rank) {
  Report seen = report;
  keep_rank(seen.recording.lost, rank);
  if (seen.replay) seen.replay->together.reset();  // refers to findings that were left out
  if (seen.clock) keep_rank(seen.clock->devices, rank);
  if (seen.breakdown) keep_rank(seen.breakdown->per_rank, rank);
  if (seen.gpu_rows) keep_rank(seen.gpu_rows->per_rank, rank);
  if (seen.overlap) keep_rank(seen.overlap->per_rank, rank);
  if (seen.memory) {
    keep_rank(seen.memory->per_rank, rank);
    keep_rank(seen.memory->host, rank);
    keep_rank(seen.memory->out_of_memory, rank);
    if (seen.memory->leaks) keep_rank(*seen.memory->leaks, rank);
  }
  if (seen.slow_links) {
    std::erase_if(seen.slow_links->groups, [&](const SlowGroupInfo& group) {
      return std::ranges::count(group.ranks, rank) == 0;
    });
  }
  if (seen.phases) {
    for (PhaseSummary& phase : *seen.phases) keep_rank(phase.per_rank, rank);
    std::erase_if(*seen.phases, [](const PhaseSummary& phase) { return phase.per_rank.empty(); });
  }
  if (seen.point_to_point) {
    std::erase_if(*seen.point_to_point,
                  [&](const PointToPoint& p) { return p.from != rank && p.to != rank; });
  }
  // A rotating straggler has no rank and concerns every rank; a slow host concerns its ranks.
  if (seen.stragglers) {
    std::erase_if(*seen.stragglers, [&](const Straggler& s) {
      return s.rank && *s.rank != rank && std::ranges::count(s.host_ranks, rank) == 0;
    });
  }
  if (seen.findings) keep_findings(*seen.findings, rank);
  return seen;
}

}  // namespace dprof::analyzer
