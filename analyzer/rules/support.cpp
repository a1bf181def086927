// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/support.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analyzer/steps/phases.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kRanksInWords = 8;
// Evenly spread over the members. If two thirds of all agree, so do most of these, with 99.6 %
// (binomial); of a collective whose members agree less, the phase is not clear anyway.
constexpr size_t kPhaseVoters = 64;

std::optional<std::pair<int64_t, int64_t>> steady_indices(const RuleInput& input) {
  if (!input.report.run.steps) return std::nullopt;
  return std::pair(input.report.run.steps->first_steady, input.report.run.steps->last_steady);
}

constexpr size_t kNamedKernels = 3;
constexpr size_t kNameBytes = 60;

bool in_steps(const std::vector<StepRecord>& steps, TraceNs at) {
  const auto after = std::ranges::upper_bound(
      steps, at, {}, [](const StepRecord& step) { return step.window.begin; });
  return after != steps.begin() && at < std::prev(after)->window.end;
}

std::vector<Call> calls_in_steps(const RuleInput& input, const RankDigest& digest, CallKind kind) {
  std::vector<Call> calls;
  const std::vector<StepRecord> steps = steady_steps_of(input, digest);
  for (const Call& call : digest.facts.of(kind).kept) {
    if (in_steps(steps, call.at)) calls.push_back(call);
  }
  return calls;
}

int64_t compute_ns(const RankBreakdown& rank) {
  int64_t sum = 0;
  for (const Category category : {Category::kForward, Category::kBackward, Category::kOptimizer,
                                  Category::kOtherCompute, Category::kOverlapped})
    sum += rank.category_ns[static_cast<size_t>(category)];
  return sum;
}

int64_t kernel_ns(const Facts& facts) {
  int64_t sum = 0;
  for (size_t i = 0; i < kKernelClasses; ++i) {
    if (static_cast<KernelClass>(i) != KernelClass::kCommunication)
      sum += facts.kernels_by_class[i].total_ns;
  }
  return sum;
}

// Of the steps that contain these instances.
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

double share_of(const RuleInput& input, int64_t ns) { return ratio(ns, median_step(input)); }

int64_t waiting_for_culprits(const RuleInput& input) {
  int64_t sum = 0;
  for (const Verdict& v : input.verdicts) {
    const std::string& cause = v.straggler.cause;
    if (v.named && cause != "network" && cause != "stage_imbalance") sum += v.straggler.cost_ns;
  }
  return sum;
}

std::string words_on_culprits(int64_t waiting_ns) {
  if (waiting_ns <= 0) return {};
  return fmt::format(", {} of it for culprits with findings of their own", ms(waiting_ns));
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

std::vector<TimeOfRank> sum_of(std::vector<TimeOfRank> a, std::span<const TimeOfRank> b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) a[i].ns += b[i].ns;
  return a;
}

Measured measured_of(std::span<const TimeOfRank> times) {
  Measured measured{.cost_ns = lower_median(times)};
  for (const TimeOfRank& time : times) measured.ranks.push_back(time.rank);
  return measured;
}

const RankDigest* digest_of(const RuleInput& input, int rank) {
  // If all ranks left a trace, it is at its number.
  const auto place = static_cast<size_t>(rank);
  if (place < input.digests.size() && input.digests[place].rank == rank)
    return &input.digests[place];
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

bool has_phase(const RankDigest& digest, schema::Marker marker) {
  return std::ranges::count(digest.phases, marker, &PhaseRange::marker) > 0;
}

bool has_update(const RankDigest& digest, const StepRecord& step) {
  return std::ranges::count(phases_in(digest, step.window), schema::Marker::kOptimizer,
                            &PhaseRange::marker) > 0;
}

schema::Marker phase_at(const RankDigest& digest, TraceNs at) {
  const auto after = std::ranges::upper_bound(digest.phases, at, {},
                                              [](const PhaseRange& p) { return p.span.begin; });
  auto phase = std::make_reverse_iterator(after);
  for (size_t looked = 0; phase != digest.phases.rend() && looked < kDeepestPhase; ++looked) {
    if (phase->span.end > at && phase->marker != schema::Marker::kStep) return phase->marker;
    ++phase;
  }
  return inferred_phase_at(digest, at);
}

schema::Marker phase_of(const RuleInput& input, const Instance& instance) {
  std::map<schema::Marker, size_t> votes;
  const size_t members = instance.members.size();
  const size_t asked = std::min(members, kPhaseVoters);
  for (size_t i = 0; i < asked; ++i) {
    const Member& member = instance.members[i * members / asked];
    if (const auto at = record_of(input, member).arrival())
      ++votes[phase_at(input.digests[member.digest], *at)];
  }
  if (votes.empty()) return schema::Marker::kNone;
  return std::ranges::max_element(votes, {}, [](const auto& v) { return v.second; })->first;
}

bool is_steady(const RuleInput& input, const Instance& instance) {
  const auto indices = steady_indices(input);
  return indices && instance.step && *instance.step >= indices->first &&
         *instance.step <= indices->second;
}

std::vector<const Instance*> steady_instances(const RuleInput& input) {
  std::vector<const Instance*> steady;
  if (input.matching == nullptr) return steady;
  for (const Instance& instance : input.matching->instances) {
    if (is_steady(input, instance)) steady.push_back(&instance);
  }
  return steady;
}

RankShare largest_share(const RuleInput& input, std::span<const Instance* const> instances) {
  std::vector<RankShare> shares(input.digests.size());
  for (const Instance* instance : instances) {
    for (const Member& member : instance->members) {
      RankShare& share = shares[member.digest];
      ++share.calls;
      share.bytes += instance->bytes.value_or(0);
      share.transfer_ns += instance->transfer_ns;
    }
  }
  if (shares.empty()) return {};
  return *std::ranges::max_element(
      shares, {}, [](const RankShare& share) { return std::pair(share.transfer_ns, share.calls); });
}

std::vector<std::vector<const CollectiveSummary*>> collectives_by_rank(const RuleInput& input) {
  std::vector<std::vector<const CollectiveSummary*>> of_rank(
      std::max<size_t>(1, input.digests.size()));
  if (!input.report.collectives) return of_rank;
  std::map<int, size_t> digest_of_rank;
  for (size_t d = 0; d < input.digests.size(); ++d) digest_of_rank[input.digests[d].rank] = d;
  for (const CollectiveSummary& summary : *input.report.collectives) {
    if (summary.per_step.value_or(0) <= 0) continue;
    const auto at = static_cast<size_t>(summary.group);
    const bool known = input.matching != nullptr && at < input.matching->groups.size();
    const Group* group = known ? &input.matching->groups[at] : nullptr;
    if (group == nullptr || group->members.empty()) {
      for (auto& all : of_rank) all.push_back(&summary);
      continue;
    }
    for (const int rank : group->members) {
      if (const auto own = digest_of_rank.find(rank); own != digest_of_rank.end())
        of_rank[own->second].push_back(&summary);
    }
  }
  return of_rank;
}

const Group& group_of(const RuleInput& input, const Instance& instance) {
  return input.matching->groups[instance.group];
}

CollectiveRecord record_of(const RuleInput& input, const Member& member) {
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

CallRate rate_of(const RuleInput& input, const RankDigest& digest, CallKind kind) {
  const auto steps = static_cast<int64_t>(steady_steps_of(input, digest).size());
  if (steps == 0) return {};
  const std::vector<Call> calls = calls_in_steps(input, digest, kind);
  const int64_t every = digest.facts.of(kind).every;
  int64_t ns = 0;
  for (const Call& call : calls) ns += call.ns;
  return {
      static_cast<double>(static_cast<int64_t>(calls.size()) * every) / static_cast<double>(steps),
      ns * every / steps};
}

CallingRanks callers_of(const RuleInput& input, CallKind kind, double at_least) {
  CallingRanks callers;
  std::vector<double> rates;
  std::vector<int64_t> times;
  for (const RankDigest& digest : input.digests) {
    const CallRate rate = rate_of(input, digest, kind);
    if (rate.per_step < at_least) continue;
    callers.ranks.push_back(digest.rank);
    rates.push_back(rate.per_step);
    times.push_back(rate.ns);
  }
  callers.per_step = median(std::move(rates));
  callers.ns = median_ns(std::move(times));
  return callers;
}

std::vector<Evidence> evidence_of(const RuleInput& input, std::span<const int> ranks,
                                  CallKind kind) {
  std::vector<Evidence> all;
  for (const int rank : ranks) {
    const RankDigest* digest = digest_of(input, rank);
    if (digest == nullptr || all.size() >= kEvidenceRanks) continue;
    std::vector<Call> calls = calls_in_steps(input, *digest, kind);
    if (calls.empty()) continue;
    std::ranges::stable_sort(calls, std::ranges::greater(), &Call::ns);
    if (calls.size() > kEvidenceRows) calls.resize(kEvidenceRows);
    std::ranges::sort(calls, {}, &Call::at);
    std::vector<int64_t> rows;
    for (const Call& call : calls) rows.push_back(call.row);
    const Call& last = calls.back();
    all.push_back(
        evidence(rank, "host_range", std::move(rows), {calls.front().at, {last.at.ns + last.ns}}));
  }
  return all;
}

std::vector<TimeOfRank> times_of_computation(const RuleInput& input) {
  std::vector<TimeOfRank> times;
  const int64_t steps = steady_steps(input);
  if (!input.report.breakdown || steps <= 0) return times;
  for (const RankBreakdown& rank : input.report.breakdown->per_rank) {
    const RankDigest* digest = digest_of(input, rank.rank);
    if (digest == nullptr || kernel_ns(digest->facts) <= 0) continue;
    times.push_back({rank.rank, compute_ns(rank) / steps});
  }
  return times;
}

std::vector<TimeOfRank> times_of_kernels(const RuleInput& input, KernelClass what) {
  std::vector<TimeOfRank> times = times_of_computation(input);
  for (TimeOfRank& time : times) {
    const Facts& facts = digest_of(input, time.rank)->facts;
    const double share = ratio(facts.of(what).total_ns, kernel_ns(facts));
    time.ns = std::llround(share * static_cast<double>(time.ns));
  }
  return times;
}

std::string longest_kernels(const RuleInput& input, KernelClass what) {
  std::map<std::string_view, int64_t> by_name;
  int64_t all = 0;
  for (const RankDigest& digest : input.digests) {
    all += kernel_ns(digest.facts);
    for (const KernelFact& kernel : digest.facts.kernels) {
      if (kernel.what == what) by_name[kernel.name] += kernel.total_ns;
    }
  }
  std::vector<std::pair<int64_t, std::string_view>> longest;
  for (const auto& [name, ns] : by_name) longest.emplace_back(-ns, name);
  std::ranges::sort(longest);
  if (longest.size() > kNamedKernels) longest.resize(kNamedKernels);
  std::vector<std::string> words;
  for (const auto& [minus_ns, name] : longest) {
    words.push_back(fmt::format("{}{} ({} of the kernels' time)", name.substr(0, kNameBytes),
                                name.size() > kNameBytes ? "…" : "",
                                format_share(ratio(-minus_ns, all))));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

int64_t lower_median(std::span<const TimeOfRank> times) {
  if (times.empty()) return 0;
  std::vector<int64_t> values;
  for (const TimeOfRank& time : times) values.push_back(time.ns);
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2];
}

bool has_gpu(const RuleInput& input) {
  return std::ranges::any_of(input.digests,
                             [](const RankDigest& digest) { return digest.facts.has_gpu; });
}

std::string number(double value) {
  const double rounded = std::round(value);
  return std::abs(value - rounded) < 0.05 ? fmt::format("{:.0f}", rounded)
                                          : fmt::format("{:.1f}", value);
}

}  // namespace dprof::analyzer
