// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/support.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kRanksInWords = 8;
constexpr size_t kDeepestPhase = 64;  // phases that begin between a moment and the one around it

std::optional<std::pair<int64_t, int64_t>> steady_indices(const RuleInput& input) {
  if (!input.report.run.steps) return std::nullopt;
  return std::pair(input.report.run.steps->first_steady, input.report.run.steps->last_steady);
}

// Of those that these instances are in.
std::optional<int64_t> middle_step(std::span<const Instance* const> instances) {
  std::vector<int64_t> steps;
  for (const Instance* instance : instances) {
    if (instance->step) steps.push_back(*instance->step);
  }
  if (steps.empty()) return std::nullopt;
  const auto middle = steps.begin() + static_cast<ptrdiff_t>(steps.size() / 2);
  std::ranges::nth_element(steps, middle);
  return *middle;
}

}  // namespace

FindingSeverity severity_of(double share) {
  if (share >= kCriticalShare) return FindingSeverity::kCritical;
  return share >= kWarnShare ? FindingSeverity::kWarn : FindingSeverity::kInfo;
}

int64_t median_step(const RuleInput& input) {
  return input.report.run.steps ? input.report.run.steps->median_ns : 0;
}

int64_t steady_steps(const RuleInput& input) {
  return input.report.run.steps ? input.report.run.steps->steady : 0;
}

double share_of(const RuleInput& input, int64_t ns) {
  const int64_t step = median_step(input);
  return step <= 0 ? 0 : static_cast<double>(ns) / static_cast<double>(step);
}

Finding priced(const RuleInput& input, int64_t cost_ns, double confidence, std::string_view cause) {
  Finding finding = unpriced(severity_of(share_of(input, cost_ns)), confidence, cause);
  finding.cost_ns = cost_ns;
  return finding;
}

Finding unpriced(FindingSeverity severity, double confidence, std::string_view cause) {
  Finding finding;
  finding.severity = severity;
  finding.confidence = confidence;
  finding.cause = cause;
  return finding;
}

std::string ms(int64_t ns) { return format_ms({ns}); }

std::string per_step(const RuleInput& input, int64_t ns) {
  return fmt::format("{} per step ({})", ms(ns), format_share(share_of(input, ns)));
}

std::string list_of(std::span<const int> ranks) {
  if (ranks.empty()) return "no rank";
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  if (ranks.size() <= kRanksInWords) return fmt::format("ranks {}", fmt::join(ranks, ", "));
  return fmt::format("{} ranks ({}, …)", ranks.size(),
                     fmt::join(ranks.first(kRanksInWords / 2), ", "));
}

std::string who(const RuleInput& input, std::span<const int> ranks) {
  const auto all = static_cast<size_t>(std::max<int64_t>(0, input.report.run.ranks));
  const size_t known = input.report.breakdown ? input.report.breakdown->per_rank.size() : all;
  if (known > 1 && ranks.size() >= known) return "all ranks";
  if (known > 2 && is_most(ranks.size(), known)) return "most ranks";
  return list_of(ranks);
}

std::vector<TimeOfRank> times_of(const RuleInput& input, Category category) {
  std::vector<TimeOfRank> times;
  const int64_t steps = steady_steps(input);
  if (!input.report.breakdown || steps <= 0) return times;
  for (const RankBreakdown& rank : input.report.breakdown->per_rank)
    times.push_back({rank.rank, rank.category_ns[static_cast<size_t>(category)] / steps});
  return times;
}

std::vector<TimeOfRank> times_of(const RuleInput& input, std::string_view detail) {
  std::vector<TimeOfRank> times;
  const int64_t steps = steady_steps(input);
  if (!input.report.breakdown || steps <= 0) return times;
  for (const RankBreakdown& rank : input.report.breakdown->per_rank) {
    const auto found =
        std::ranges::find(rank.detail_ns, detail, &std::pair<std::string, int64_t>::first);
    times.push_back({rank.rank, found == rank.detail_ns.end() ? 0 : found->second / steps});
  }
  return times;
}

int64_t median_of(std::span<const TimeOfRank> times) {
  std::vector<int64_t> values;
  for (const TimeOfRank& time : times) values.push_back(time.ns);
  return median_ns(std::move(values));
}

int64_t largest_of(std::span<const TimeOfRank> times) {
  int64_t largest = 0;
  for (const TimeOfRank& time : times) largest = std::max(largest, time.ns);
  return largest;
}

std::vector<int> at_least(std::span<const TimeOfRank> times, int64_t ns) {
  std::vector<int> ranks;
  for (const TimeOfRank& time : times) {
    if (time.ns >= ns) ranks.push_back(time.rank);
  }
  return ranks;
}

bool is_most(size_t part, size_t all) { return 2 * part > all; }

const RankDigest* digest_of(const RuleInput& input, int rank) {
  const auto found = std::ranges::find(input.digests, rank, &RankDigest::rank);
  return found == input.digests.end() ? nullptr : &*found;
}

std::vector<StepRecord> steady_steps_of(const RuleInput& input, const RankDigest& digest) {
  std::vector<StepRecord> steady;
  const auto indices = steady_indices(input);
  if (!indices) return steady;
  for (const StepRecord& step : digest.steps) {
    if (step.index >= indices->first && step.index <= indices->second) steady.push_back(step);
  }
  return steady;
}

std::optional<Interval> steady_span(const RuleInput& input, const RankDigest& digest) {
  const std::vector<StepRecord> steady = steady_steps_of(input, digest);
  if (steady.empty()) return std::nullopt;
  return Interval{steady.front().window.begin, steady.back().window.end};
}

std::span<const PhaseRange> phases_in(const RankDigest& digest, Interval window) {
  const auto begin_of = [](const PhaseRange& p) { return p.span.begin; };
  const auto first = std::ranges::lower_bound(digest.phases, window.begin, {}, begin_of);
  const auto last = std::ranges::lower_bound(digest.phases, window.end, {}, begin_of);
  return first < last ? std::span(first, last) : std::span<const PhaseRange>();
}

schema::Marker phase_at(const RankDigest& digest, TraceNs at) {
  const auto after = std::ranges::upper_bound(digest.phases, at, {},
                                              [](const PhaseRange& p) { return p.span.begin; });
  auto phase = std::make_reverse_iterator(after);
  for (size_t looked = 0; phase != digest.phases.rend() && looked < kDeepestPhase; ++looked) {
    if (phase->span.end > at && phase->marker != schema::Marker::kStep) return phase->marker;
    ++phase;
  }
  return schema::Marker::kNone;
}

schema::Marker phase_of(const RuleInput& input, const Instance& instance) {
  std::map<schema::Marker, size_t> votes;
  for (const Member& member : instance.members) {
    if (const auto at = record_of(input, member).arrival())
      ++votes[phase_at(input.digests[member.digest], *at)];
  }
  if (votes.empty()) return schema::Marker::kNone;
  return std::ranges::max_element(votes, {}, [](const auto& v) { return v.second; })->first;
}

std::vector<const Instance*> steady_instances(const RuleInput& input) {
  std::vector<const Instance*> steady;
  const auto indices = steady_indices(input);
  if (input.matching == nullptr || !indices) return steady;
  for (const Instance& instance : input.matching->instances) {
    if (instance.step && *instance.step >= indices->first && *instance.step <= indices->second)
      steady.push_back(&instance);
  }
  return steady;
}

const Group& group_of(const RuleInput& input, const Instance& instance) {
  return input.matching->groups[instance.group];
}

const CollectiveRecord& record_of(const RuleInput& input, const Member& member) {
  return input.digests[member.digest].collectives[member.record];
}

Evidence evidence(int rank, std::string_view table, std::vector<int64_t> rows, Interval span) {
  if (rows.size() > kEvidenceRows) rows.resize(kEvidenceRows);
  return {.rank = rank,
          .table = std::string(table),
          .rows = std::move(rows),
          .start_ns = span.begin.ns,
          .end_ns = span.end.ns};
}

std::vector<Evidence> evidence_of(const RuleInput& input,
                                  std::span<const Instance* const> instances) {
  struct Rows {
    std::vector<int64_t> rows;
    std::optional<Interval> span;
  };
  std::map<int, Rows> by_rank;
  const std::optional<int64_t> typical = middle_step(instances);
  for (const Instance* instance : instances) {
    if (instance->step != typical) continue;
    for (const Member& member : instance->members) {
      const CollectiveRecord& record = record_of(input, member);
      const int rank = input.digests[member.digest].rank;
      if (by_rank.size() >= kEvidenceRanks && !by_rank.contains(rank)) continue;
      Rows& rows = by_rank[rank];
      if (rows.rows.size() >= kEvidenceRows) continue;
      rows.rows.push_back(record.row);
      const std::optional<TraceNs> from = record.arrival();
      if (!from) continue;
      const TraceNs until = record.end.value_or(*from);
      rows.span = rows.span
                      ? Interval{std::min(rows.span->begin, *from), std::max(rows.span->end, until)}
                      : Interval{*from, until};
    }
  }
  std::vector<Evidence> result;
  for (auto& [rank, rows] : by_rank) {
    result.push_back(
        evidence(rank, "collective", std::move(rows.rows), rows.span.value_or(Interval{})));
  }
  return result;
}

std::vector<Evidence> evidence_of(const RuleInput& input, std::span<const int> ranks,
                                  schema::Marker marker) {
  std::vector<Evidence> result;
  for (const int rank : ranks) {
    if (result.size() >= kEvidenceRanks) break;
    const RankDigest* digest = digest_of(input, rank);
    if (digest == nullptr) continue;
    const std::optional<Interval> span = steady_span(input, *digest);
    if (!span) continue;
    std::vector<const PhaseRange*> phases;
    for (const PhaseRange& phase : phases_in(*digest, *span)) {
      if (phase.marker == marker) phases.push_back(&phase);
    }
    if (phases.empty()) continue;
    std::ranges::stable_sort(phases, std::ranges::greater{},
                             [](const PhaseRange* p) { return p->span.length().ns; });
    if (phases.size() > kEvidenceRows) phases.resize(kEvidenceRows);
    std::ranges::sort(phases, {}, [](const PhaseRange* p) { return p->span.begin; });
    std::vector<int64_t> rows;
    for (const PhaseRange* phase : phases) rows.push_back(phase->row);
    result.push_back(evidence(rank, "host_range", std::move(rows),
                              {phases.front()->span.begin, phases.back()->span.end}));
  }
  return result;
}

std::vector<Evidence> steps_evidence(const RuleInput& input, std::span<const int> ranks) {
  std::vector<Evidence> result;
  for (const int rank : ranks) {
    if (result.size() >= kEvidenceRanks) break;
    const RankDigest* digest = digest_of(input, rank);
    if (digest == nullptr) continue;
    const std::vector<StepRecord> steady = steady_steps_of(input, *digest);
    if (steady.empty()) continue;
    const StepRecord& typical = steady[steady.size() / 2];
    result.push_back(evidence(rank, "step", {typical.index}, typical.window));
  }
  return result;
}

}  // namespace dprof::analyzer
