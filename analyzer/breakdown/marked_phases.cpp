// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/marked_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dprof::analyzer {
namespace {

// Which of the digest's steps are steady in the run.
std::vector<bool> steady_positions(const RankDigest& digest, const Steps& steps, size_t rank) {
  std::map<int64_t, Interval> steady;
  for (const AlignedStep& step : steps.steady()) steady.emplace(step.index, step.windows[rank]);
  std::vector<bool> is_steady;
  for (const StepRecord& record : digest.steps) {
    const auto found = steady.find(record.index);
    is_steady.push_back(found != steady.end() && found->second == record.window);
  }
  return is_steady;
}

}  // namespace

std::vector<PhaseSummary> phases_of(std::span<const RankDigest> digests, const Steps& steps,
                                    std::vector<Diagnostic>& diagnostics) {
  std::vector<PhaseSummary> phases;
  std::map<std::string, size_t> known;
  int64_t left_out = 0;
  const auto n = static_cast<int64_t>(steps.steady().size());
  for (size_t r = 0; r < steps.ranks.size(); ++r) {
    const RankDigest& digest = digests[steps.ranks[r]];
    const std::vector<bool> is_steady = steady_positions(digest, steps, r);
    left_out += digest.marks_left_out;
    for (const MarkedPhase& marked : digest.marked) {
      int64_t count = 0;
      int64_t total_ns = 0;
      for (const MarksInStep& in_step : marked.in_steps) {
        if (!is_steady[in_step.step]) continue;
        count += in_step.count;
        total_ns += in_step.total_ns;
      }
      if (count == 0) continue;
      auto entry = known.find(marked.name);
      if (entry == known.end()) {
        if (phases.size() >= kMostPhaseNames) {
          left_out += count;
          continue;
        }
        entry = known.emplace(marked.name, phases.size()).first;
        phases.push_back({marked.name, {}});
      }
      phases[entry->second].per_rank.push_back(
          {.rank = digest.rank,
           .per_step = static_cast<double>(count) / static_cast<double>(n),
           .mean_ns = total_ns / n});
    }
  }
  if (left_out > 0) {
    diagnostics.push_back(make_diagnostic(
        "phases_left_out",
        fmt::format("{} marked ranges have names beyond the {} phases that are listed", left_out,
                    phases.size()),
        left_out));
  }
  return phases;
}

}  // namespace dprof::analyzer
