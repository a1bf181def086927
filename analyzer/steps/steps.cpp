// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kAlwaysWarmUp = 2;  // DDP's first step has one bucket, the second rebuilds them
constexpr size_t kRunning = 5;
constexpr int64_t kFewSteps = 10;

std::vector<double> as_doubles(std::span<const int64_t> values) {
  return {values.begin(), values.end()};
}

// Complete steps of one rank by index; what is empty or overlaps an earlier one is left out.
std::map<int64_t, Interval> sound_steps(const RankDigest& digest, int64_t& left_out) {
  std::vector<StepRecord> records = digest.steps;
  std::ranges::stable_sort(records, {}, [](const StepRecord& s) { return s.window.begin; });
  std::map<int64_t, Interval> sound;
  TraceNs covered_to{INT64_MIN};
  int64_t last_index = INT64_MIN;
  for (const StepRecord& record : records) {
    if (record.window.empty() || record.window.begin < covered_to || record.index <= last_index) {
      ++left_out;
      continue;
    }
    sound.emplace(record.index, record.window);
    covered_to = record.window.end;
    last_index = record.index;
  }
  return sound;
}

// Begins of a rank's checkpoints, in order.
std::vector<TraceNs> checkpoints_of(const RankDigest& digest) {
  std::vector<TraceNs> begins;
  for (const PhaseRange& phase : digest.phases) {
    if (phase.marker == schema::Marker::kCheckpoint) begins.push_back(phase.span.begin);
  }
  return begins;
}

bool any_within(const std::vector<TraceNs>& begins, Interval window) {
  const auto first = std::ranges::lower_bound(begins, window.begin);
  return first != begins.end() && *first < window.end;
}

void note_ranks_without_steps(std::span<const RankDigest> digests, const std::vector<size_t>& with,
                              std::vector<Diagnostic>& diagnostics) {
  if (with.empty()) return;
  for (size_t i = 0; i < digests.size(); ++i) {
    if (std::ranges::count(with, i) != 0) continue;
    diagnostics.push_back(make_diagnostic(
        "rank_without_steps",
        fmt::format("rank {} has no complete step{}", digests[i].rank,
                    digests[i].steps_begun > 0 ? fmt::format(" ({} begun)", digests[i].steps_begun)
                                               : std::string())));
  }
}

// The choice of steady steps; false if none of the chosen indices is there.
bool settle_steady(Steps& steps, const std::optional<std::pair<int64_t, int64_t>>& chosen) {
  if (!chosen) {
    std::vector<int64_t> lengths;
    for (const AlignedStep& step : steps.steps) lengths.push_back(step.longest_ns);
    steps.first_steady = end_of_warm_up(lengths);
    steps.last_steady = steps.steps.size() - 1;
    return true;
  }
  const auto first = std::ranges::lower_bound(steps.steps, chosen->first, {}, &AlignedStep::index);
  const auto end = std::ranges::lower_bound(steps.steps, chosen->second, {}, &AlignedStep::index);
  if (first >= end) return false;
  steps.first_steady = static_cast<size_t>(first - steps.steps.begin());
  steps.last_steady = static_cast<size_t>(end - steps.steps.begin()) - 1;
  return true;
}

void fill_info(Steps& steps, schema::StepSource source) {
  std::vector<int64_t> ordinary;
  std::vector<int64_t> all;
  for (const AlignedStep& step : steps.steady()) {
    all.push_back(step.longest_ns);
    if (!step.outer) ordinary.push_back(step.longest_ns);
  }
  steps.info = {.count = static_cast<int64_t>(steps.steps.size()),
                .first_steady = steps.steps[steps.first_steady].index,
                .last_steady = steps.steps[steps.last_steady].index,
                .median_ns = median_ns(ordinary.empty() ? all : ordinary),
                .source = source};
}

}  // namespace

size_t end_of_warm_up(const std::vector<int64_t>& lengths_ns) {
  const size_t n = lengths_ns.size();
  if (n <= kAlwaysWarmUp) return 0;
  if (n < kAlwaysWarmUp + kRunning) return kAlwaysWarmUp;
  const std::vector<double> half = as_doubles(std::span(lengths_ns).subspan(n / 2));
  const double settled = median(half);
  // A perfectly even run has MADn 0: one percent is even enough.
  const double tolerance = std::max(3 * mad_n(half), 0.01 * settled);
  for (size_t first = kAlwaysWarmUp; first < n / 2; ++first) {
    const double running = median(as_doubles(std::span(lengths_ns).subspan(first, kRunning)));
    if (std::abs(running - settled) <= tolerance) return first;
  }
  return std::max(kAlwaysWarmUp, n / 2);
}

std::optional<Steps> align_steps(std::span<const RankDigest> digests,
                                 const std::optional<std::pair<int64_t, int64_t>>& chosen,
                                 std::vector<Diagnostic>& diagnostics) {
  Steps steps;
  std::vector<std::map<int64_t, Interval>> of_rank;
  int64_t left_out = 0;
  size_t fewest = SIZE_MAX;
  size_t most = 0;
  for (size_t i = 0; i < digests.size(); ++i) {
    std::map<int64_t, Interval> sound = sound_steps(digests[i], left_out);
    if (sound.empty()) continue;
    fewest = std::min(fewest, sound.size());
    most = std::max(most, sound.size());
    steps.ranks.push_back(i);
    of_rank.push_back(std::move(sound));
  }
  note_ranks_without_steps(digests, steps.ranks, diagnostics);
  if (of_rank.empty()) {
    diagnostics.push_back(make_diagnostic("no_steps", "no rank has a complete training step"));
    return std::nullopt;
  }
  if (most > fewest + 1 || left_out > 0) {
    diagnostics.push_back(make_diagnostic(
        "uneven_steps",
        fmt::format("ranks have {} to {} complete steps; {} overlapping or empty ones left out",
                    fewest, most, left_out)));
  }
  std::vector<std::vector<TraceNs>> checkpoints;
  for (const size_t rank : steps.ranks) checkpoints.push_back(checkpoints_of(digests[rank]));
  for (const auto& [index, window] : of_rank.front()) {
    AlignedStep step{.index = index, .windows = {}};
    for (size_t r = 0; r < of_rank.size(); ++r) {
      const auto found = of_rank[r].find(index);
      if (found == of_rank[r].end()) break;
      step.windows.push_back(found->second);
      step.longest_ns = std::max(step.longest_ns, found->second.length().ns);
      step.outer = step.outer || any_within(checkpoints[r], found->second);
    }
    if (step.windows.size() == of_rank.size()) steps.steps.push_back(std::move(step));
  }
  if (steps.steps.empty() || !settle_steady(steps, chosen)) {
    diagnostics.push_back(make_diagnostic(
        "no_steps", steps.steps.empty() ? "no step is complete on all ranks"
                                        : fmt::format("none of the steps {}:{} was recorded",
                                                      chosen->first, chosen->second)));
    return std::nullopt;
  }
  fill_info(steps, digests[steps.ranks.front()].step_source);
  if (const auto steady = static_cast<int64_t>(steps.steady().size()); steady < kFewSteps) {
    diagnostics.push_back(
        make_diagnostic("few_steps", fmt::format("{} steady steps", steady), steady));
  }
  return steps;
}

}  // namespace dprof::analyzer
