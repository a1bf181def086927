// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analyzer/steps/device_windows.h"
#include "analyzer/steps/micro_steps.h"
#include "analyzer/steps/outer.h"
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

void fill_info(std::span<const RankDigest> digests, Steps& steps) {
  const std::vector<std::string> kinds = outer_kinds(digests, steps);
  std::vector<int64_t> ordinary;
  std::vector<int64_t> all;
  for (size_t s = 0; s < kinds.size(); ++s) {
    AlignedStep& step = steps.steps[steps.first_steady + s];
    step.outer = !kinds[s].empty();
    all.push_back(step.longest_ns);
    if (!step.outer) ordinary.push_back(step.longest_ns);
  }
  steps.info = {.count = static_cast<int64_t>(steps.steps.size()),
                .first_steady = steps.steps[steps.first_steady].index,
                .last_steady = steps.steps[steps.last_steady].index,
                .steady = static_cast<int64_t>(steps.steady().size()),
                .median_ns = median_ns(ordinary.empty() ? all : ordinary),
                .source = digests[steps.ranks.front()].step_source,
                .micro_steps = micro_steps_of(digests, steps),
                .outer = {}};
  for (size_t s = 0; s < kinds.size(); ++s) {
    const AlignedStep& step = steps.steady()[s];
    if (step.outer)
      steps.info.outer.push_back({step.index, kinds[s], step.longest_ns - steps.info.median_ns});
  }
}

void fill_device_windows(std::span<const RankDigest> digests, Steps& steps) {
  const auto launches = [&](size_t rank) -> const std::vector<Launch>& {
    return digests[rank].gpu.launches;
  };
  if (std::ranges::all_of(steps.ranks, [&](size_t r) { return launches(r).empty(); })) return;
  for (AlignedStep& step : steps.steps) step.device_windows.resize(steps.ranks.size());
  for (size_t r = 0; r < steps.ranks.size(); ++r) {
    const RankDigest& digest = digests[steps.ranks[r]];
    std::vector<Interval> hosts;
    for (const AlignedStep& step : steps.steps) hosts.push_back(step.windows[r]);
    TraceNs end = digest.span.begin;
    for (const IntervalSet* busy : {&digest.gpu.compute, &digest.gpu.communication}) {
      if (!busy->empty()) end = std::max(end, busy->back().end);
    }
    const auto windows = device_windows_of(launches(steps.ranks[r]), hosts, end);
    for (size_t s = 0; s < windows.size(); ++s) steps.steps[s].device_windows[r] = windows[s];
  }
}

using RankSteps = std::map<int64_t, Interval>;

// Leaves out ranks that have hardly any steps: they would take theirs from all others.
void leave_out_short_ranks(std::span<const RankDigest> digests, std::vector<size_t>& ranks,
                           std::vector<RankSteps>& of_rank, std::vector<Diagnostic>& diagnostics) {
  std::vector<int64_t> counts;
  for (const RankSteps& steps : of_rank) counts.push_back(static_cast<int64_t>(steps.size()));
  const int64_t usual = median_ns(counts);
  size_t kept = 0;
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (2 * counts[r] < usual) {
      diagnostics.push_back(make_diagnostic(
          "rank_with_few_steps", fmt::format("rank {} has {} complete steps, the others {}",
                                             digests[ranks[r]].rank, counts[r], usual)));
      continue;
    }
    ranks[kept] = ranks[r];
    std::swap(of_rank[kept], of_rank[r]);
    ++kept;
  }
  ranks.resize(kept);
  of_rank.resize(kept);
}

// The steps that all ranks have.
void join(const std::vector<RankSteps>& of_rank, Steps& steps) {
  for (const auto& [index, window] : of_rank.front()) {
    AlignedStep step{.index = index, .windows = {}, .device_windows = {}};
    for (const RankSteps& rank : of_rank) {
      const auto found = rank.find(index);
      if (found == rank.end()) break;
      step.windows.push_back(found->second);
      step.longest_ns = std::max(step.longest_ns, found->second.length().ns);
    }
    if (step.windows.size() == of_rank.size()) steps.steps.push_back(std::move(step));
  }
}

}  // namespace

Interval Steps::until_next(size_t step, size_t entry) const {
  Interval span = steps[step].windows[entry];
  if (step + 1 < steps.size() && steps[step + 1].index == steps[step].index + 1)
    span.end = std::max(span.end, steps[step + 1].windows[entry].begin);
  return span;
}

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
    // A run that begins faster than it goes on became slower: that is no warm-up.
    if (running - settled <= tolerance) return first;
  }
  return std::max(kAlwaysWarmUp, n / 2);
}

std::optional<Steps> align_steps(std::span<const RankDigest> digests,
                                 const std::optional<std::pair<int64_t, int64_t>>& chosen,
                                 std::vector<Diagnostic>& diagnostics) {
  Steps steps;
  std::vector<RankSteps> of_rank;
  int64_t left_out = 0;
  for (size_t i = 0; i < digests.size(); ++i) {
    RankSteps sound = sound_steps(digests[i], left_out);
    if (sound.empty()) continue;
    steps.ranks.push_back(i);
    of_rank.push_back(std::move(sound));
  }
  note_ranks_without_steps(digests, steps.ranks, diagnostics);
  if (of_rank.empty()) {
    diagnostics.push_back(make_diagnostic("no_steps", "no rank has a complete training step"));
    return std::nullopt;
  }
  leave_out_short_ranks(digests, steps.ranks, of_rank, diagnostics);
  const auto [fewest, most] = std::ranges::minmax_element(of_rank, {}, &RankSteps::size);
  if (most->size() > fewest->size() + 1 || left_out > 0) {
    diagnostics.push_back(make_diagnostic(
        "uneven_steps",
        fmt::format("ranks have {} to {} complete steps; {} overlapping or empty ones left out",
                    fewest->size(), most->size(), left_out)));
  }
  join(of_rank, steps);
  if (steps.steps.empty() || !settle_steady(steps, chosen)) {
    diagnostics.push_back(make_diagnostic(
        "no_steps", steps.steps.empty() ? "no step is complete on all ranks"
                                        : fmt::format("none of the steps {}:{} was recorded",
                                                      chosen->first, chosen->second)));
    return std::nullopt;
  }
  fill_info(digests, steps);
  fill_device_windows(digests, steps);
  if (const auto steady = static_cast<int64_t>(steps.steady().size()); steady < kFewSteps) {
    diagnostics.push_back(
        make_diagnostic("few_steps", fmt::format("{} steady steps", steady), steady));
  }
  return steps;
}

}  // namespace dprof::analyzer
