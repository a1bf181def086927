// SPDX-License-Identifier: Apache-2.0
// Shared measurements of the rules: shares of the median step, figures by rank, calls, kernels,
// collectives, evidence.
//
// Threading  pure functions.
// Units      ns per steady step, unless a name says otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/rules/rule.h"

namespace dprof::analyzer {

// Of the median step.
inline constexpr double kCriticalShare = 0.10;
inline constexpr double kWarnShare = 0.03;
inline constexpr double kInfoShare = 0.01;
inline constexpr double kMostSteps = 0.8;  // of the steady steps, to claim "each step"
inline constexpr double kEachStep = 0.9;   // calls per step: one in nearly each
// Limits of a finding's evidence: ranks, and rows of each.
inline constexpr size_t kEvidenceRanks = 4;
inline constexpr size_t kEvidenceRows = 20;

[[nodiscard]] FindingSeverity severity_of(double share);
[[nodiscard]] int64_t median_step(const RuleInput& input);          // 0 = no steps
[[nodiscard]] int64_t steady_steps(const RuleInput& input);         // 0 = no steps
[[nodiscard]] double share_of(const RuleInput& input, int64_t ns);  // of the median step; 0 without

// What the median rank's waiting would lose without the named culprits, which have findings of
// their own: its step is shorter by their cost, and its own work is not. An unequal stage is none
// of these: it is how the work is divided.
[[nodiscard]] int64_t waiting_for_culprits(const RuleInput& input);
// ", 5.0 ms of it for culprits with findings of their own"; "" for 0.
[[nodiscard]] std::string words_on_culprits(int64_t waiting_ns);

// 0 if `whole` is 0.
[[nodiscard]] double ratio(auto part, auto whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
[[nodiscard]] inline bool is_most(size_t part, size_t all) { return 2 * part > all; }

// Text.
[[nodiscard]] std::string ms(int64_t ns);  // "12.0 ms"
[[nodiscard]] std::string per_step(const RuleInput& input,
                                   int64_t ns);                 // "12.0 ms per step (15 %)"
[[nodiscard]] std::string list_of(std::span<const int> ranks);  // "rank 1", "ranks 0, 2"
// "all ranks", "most ranks", else list_of.
[[nodiscard]] std::string who(const RuleInput& input, std::span<const int> ranks);
[[nodiscard]] std::string number(double value);  // "3", "2.5"

// A figure of each rank, in the report's order.
struct TimeOfRank {
  int rank = 0;
  int64_t ns = 0;  // per steady step
};
[[nodiscard]] std::vector<TimeOfRank> times_of(const RuleInput& input, Category category);
// Of breakdown's dotted keys: "host.gc".
[[nodiscard]] std::vector<TimeOfRank> times_of(const RuleInput& input, std::string_view detail);
// Sum of two figures of the same ranks.
[[nodiscard]] std::vector<TimeOfRank> sum_of(std::vector<TimeOfRank> a,
                                             std::span<const TimeOfRank> b);
[[nodiscard]] int64_t median_of(std::span<const TimeOfRank> times);
// A value that more than half of the ranks reach: one straggler does not determine it.
[[nodiscard]] int64_t lower_median(std::span<const TimeOfRank> times);
[[nodiscard]] int64_t largest_of(std::span<const TimeOfRank> times);
[[nodiscard]] std::vector<int> at_least(std::span<const TimeOfRank> times, int64_t ns);
// The cost of these ranks: their lower median, and which ranks they are.
[[nodiscard]] Measured measured_of(std::span<const TimeOfRank> times);

// Look-ups. Null and nullopt: not found.
[[nodiscard]] const RankDigest* digest_of(const RuleInput& input, int rank);
[[nodiscard]] std::optional<Interval> steady_span(const RuleInput& input, const RankDigest& digest);
// The rank's complete steady steps.
[[nodiscard]] std::vector<StepRecord> steady_steps_of(const RuleInput& input,
                                                      const RankDigest& digest);
[[nodiscard]] bool has_phase(const RankDigest& digest, schema::Marker marker);
// Phases that begin in the window. O(log phases).
[[nodiscard]] std::span<const PhaseRange> phases_in(const RankDigest& digest, Interval window);
// True if an optimizer phase begins in that step.
[[nodiscard]] bool has_update(const RankDigest& digest, const StepRecord& step);
// The innermost phase of the rank's training thread at that moment, inferred where none is marked;
// kNone = none. O(log of phases and nodes).
[[nodiscard]] schema::Marker phase_at(const RankDigest& digest, TraceNs at);
// The phase in which most members called it; of many members, some are asked.
[[nodiscard]] schema::Marker phase_of(const RuleInput& input, const Instance& instance);
[[nodiscard]] bool has_gpu(const RuleInput& input);  // some rank has GPU rows

[[nodiscard]] inline bool reduces(schema::Function function) {
  return function == schema::Function::kAllReduce || function == schema::Function::kReduceScatter;
}
// Matched collectives that began in a steady step.
[[nodiscard]] bool is_steady(const RuleInput& input, const Instance& instance);
[[nodiscard]] std::vector<const Instance*> steady_instances(const RuleInput& input);
[[nodiscard]] std::vector<const Instance*> steady_instances(const RuleInput& input, auto&& chosen) {
  std::vector<const Instance*> instances = steady_instances(input);
  std::erase_if(instances, [&](const Instance* i) { return !chosen(*i); });
  return instances;
}
// Figures of the rank with the longest transfers in them: each rank is only in the collectives of
// its own communicators.
struct RankShare {
  int64_t calls = 0;
  int64_t bytes = 0;
  int64_t transfer_ns = 0;
};
[[nodiscard]] RankShare largest_share(const RuleInput& input,
                                      std::span<const Instance* const> instances);
// The report's collectives that occur in a steady step, for each rank with a trace those of its own
// communicators. Without any rank: all of them, once.
[[nodiscard]] std::vector<std::vector<const CollectiveSummary*>> collectives_by_rank(
    const RuleInput& input);
[[nodiscard]] const Group& group_of(const RuleInput& input, const Instance& instance);
[[nodiscard]] CollectiveRecord record_of(const RuleInput& input, const Member& member);

// Calls that began in the rank's steady steps.
struct CallRate {
  double per_step = 0;
  int64_t ns = 0;
};
[[nodiscard]] CallRate rate_of(const RuleInput& input, const RankDigest& digest, CallKind kind);

// The ranks that make at least this many such calls in a steady step, and their median rate.
struct CallingRanks {
  std::vector<int> ranks;
  double per_step = 0;
  int64_t ns = 0;
};
[[nodiscard]] CallingRanks callers_of(const RuleInput& input, CallKind kind, double at_least);

// Device time of a class of kernels in a steady step: their share of the time of all kernels other
// than communication, applied to the step's computation. Ranks without kernels have no entry.
[[nodiscard]] std::vector<TimeOfRank> times_of_kernels(const RuleInput& input, KernelClass what);
// The computation itself.
[[nodiscard]] std::vector<TimeOfRank> times_of_computation(const RuleInput& input);
// "ampere_sgemm_128x64_tn (41 % of the kernels' time)": the ranks' three longest of a class.
[[nodiscard]] std::string longest_kernels(const RuleInput& input, KernelClass what);

// Evidence: 20 rows at most, of 4 ranks at most.
[[nodiscard]] Evidence evidence(int rank, std::string_view table, std::vector<int64_t> rows,
                                Interval span);
// Rows of `collective`, by rank: the ranks' parts in these instances, in the middle one of their
// steps.
[[nodiscard]] std::vector<Evidence> evidence_of(const RuleInput& input,
                                                std::span<const Instance* const> instances);
// The longest phases of that kind in the ranks' steady steps.
[[nodiscard]] std::vector<Evidence> evidence_of(const RuleInput& input, std::span<const int> ranks,
                                                schema::Marker marker);
// The longest of these calls in the ranks' steady steps.
[[nodiscard]] std::vector<Evidence> evidence_of(const RuleInput& input, std::span<const int> ranks,
                                                CallKind kind);
// If there are no rows to cite: a steady step of these ranks, from table `step`.
[[nodiscard]] std::vector<Evidence> steps_evidence(const RuleInput& input,
                                                   std::span<const int> ranks);

}  // namespace dprof::analyzer
