// SPDX-License-Identifier: Apache-2.0
// What most rules need: shares of the median step, prices, figures by rank, evidence. A rule says
// what it costs with priced(), which gives the severity too.
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
// Of a finding: rows of so many ranks, so many of each.
inline constexpr size_t kEvidenceRanks = 4;
inline constexpr size_t kEvidenceRows = 20;
// What is said of a price that no replay computed.
inline constexpr std::string_view kUpperBound = "an upper bound of what could be won";

[[nodiscard]] FindingSeverity severity_of(double share);
[[nodiscard]] int64_t median_step(const RuleInput& input);          // 0 = no steps
[[nodiscard]] int64_t steady_steps(const RuleInput& input);         // 0 = no steps
[[nodiscard]] double share_of(const RuleInput& input, int64_t ns);  // of the median step; 0 without

// A finding that costs so much per step, with the severity of that. `upper_bound`: no replay
// computed the price; confidence should be low then (0.5).
[[nodiscard]] Finding priced(const RuleInput& input, int64_t cost_ns, double confidence,
                             std::string_view cause);
// One that costs no time that could be told.
[[nodiscard]] Finding unpriced(FindingSeverity severity, double confidence, std::string_view cause);

// Words.
[[nodiscard]] std::string ms(int64_t ns);  // "12.0 ms"
[[nodiscard]] std::string per_step(const RuleInput& input,
                                   int64_t ns);                 // "12.0 ms per step (15 %)"
[[nodiscard]] std::string list_of(std::span<const int> ranks);  // "rank 1", "ranks 0, 2"
// "all ranks", "most ranks", else list_of.
[[nodiscard]] std::string who(const RuleInput& input, std::span<const int> ranks);

// A figure of each rank, in the report's order.
struct TimeOfRank {
  int rank = 0;
  int64_t ns = 0;  // per steady step
};
[[nodiscard]] std::vector<TimeOfRank> times_of(const RuleInput& input, Category category);
// Of breakdown's dotted keys: "host.gc".
[[nodiscard]] std::vector<TimeOfRank> times_of(const RuleInput& input, std::string_view detail);
[[nodiscard]] int64_t median_of(std::span<const TimeOfRank> times);
[[nodiscard]] int64_t largest_of(std::span<const TimeOfRank> times);
[[nodiscard]] std::vector<int> at_least(std::span<const TimeOfRank> times, int64_t ns);
[[nodiscard]] bool is_most(size_t part, size_t all);  // more than half

// Where things stand. Null and nullopt: not there.
[[nodiscard]] const RankDigest* digest_of(const RuleInput& input, int rank);
[[nodiscard]] std::optional<Interval> steady_span(const RuleInput& input, const RankDigest& digest);
// The rank's complete steady steps.
[[nodiscard]] std::vector<StepRecord> steady_steps_of(const RuleInput& input,
                                                      const RankDigest& digest);
// Phases that begin in the window. O(log phases).
[[nodiscard]] std::span<const PhaseRange> phases_in(const RankDigest& digest, Interval window);
// The innermost phase that the rank's training thread was in; kNone = none. O(log phases).
[[nodiscard]] schema::Marker phase_at(const RankDigest& digest, TraceNs at);
// In which phase most members of it called it.
[[nodiscard]] schema::Marker phase_of(const RuleInput& input, const Instance& instance);
// Matched collectives that began in a steady step.
[[nodiscard]] std::vector<const Instance*> steady_instances(const RuleInput& input);
[[nodiscard]] const Group& group_of(const RuleInput& input, const Instance& instance);
[[nodiscard]] const CollectiveRecord& record_of(const RuleInput& input, const Member& member);

// Evidence: 20 rows at most.
[[nodiscard]] Evidence evidence(int rank, std::string_view table, std::vector<int64_t> rows,
                                Interval span);
// Rows of `collective`, by rank, of the ranks' parts in these instances, in the middle one of their
// steps; of 4 ranks at most.
[[nodiscard]] std::vector<Evidence> evidence_of(const RuleInput& input,
                                                std::span<const Instance* const> instances);
// The longest phases of that meaning in the ranks' steady steps; of 4 ranks at most.
[[nodiscard]] std::vector<Evidence> evidence_of(const RuleInput& input, std::span<const int> ranks,
                                                schema::Marker marker);
// Where there are no rows to name: a steady step of these ranks, of table `step`.
[[nodiscard]] std::vector<Evidence> steps_evidence(const RuleInput& input,
                                                   std::span<const int> ranks);

}  // namespace dprof::analyzer
