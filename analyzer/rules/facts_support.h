// SPDX-License-Identifier: Apache-2.0
// What rules of the families input, host, compute and memory ask of Facts: counts and times per
// steady step, shares of the computation, evidence.
//
// Threading  pure functions.
// Units      ns per steady step, unless a name says otherwise.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/rules/rule.h"
#include "analyzer/rules/support.h"

namespace dprof::analyzer {

// Calls that began in the rank's steady steps.
struct CallRate {
  double per_step = 0;
  int64_t ns = 0;
};
[[nodiscard]] CallRate rate_of(const RuleInput& input, const RankDigest& digest, CallKind kind);

// The ranks that make at least so many of these calls in a steady step, and their median rate.
struct CallingRanks {
  std::vector<int> ranks;
  double per_step = 0;
  int64_t ns = 0;
};
[[nodiscard]] CallingRanks callers_of(const RuleInput& input, CallKind kind, double at_least);

// The longest of these calls in the ranks' steady steps; of 4 ranks at most.
[[nodiscard]] std::vector<Evidence> call_evidence(const RuleInput& input,
                                                  std::span<const int> ranks, CallKind kind);

// Time of the device that kernels of a class take in a steady step: their share of all kernels'
// time that is no communication, of the step's computation. Ranks without kernels have no entry.
[[nodiscard]] std::vector<TimeOfRank> times_of_kernels(const RuleInput& input, KernelClass what);
// The computation itself.
[[nodiscard]] std::vector<TimeOfRank> times_of_computation(const RuleInput& input);

// "ampere_sgemm_128x64_tn (41 % of the kernels' time)", of the ranks' three longest of a class.
[[nodiscard]] std::string longest_kernels(const RuleInput& input, KernelClass what);

// What one rule of a family finds: for rules that ask whether another one fires.
[[nodiscard]] std::vector<Finding> find_named(const RuleInput& input, std::span<const Rule> family,
                                              std::string_view name);

// A value that more than half of the ranks are not below: one straggler does not make it.
[[nodiscard]] int64_t lower_median(std::span<const TimeOfRank> times);

// "rank 1 waits", "all ranks wait".
[[nodiscard]] std::string who_does(const RuleInput& input, std::span<const int> ranks,
                                   std::string_view one, std::string_view several);
[[nodiscard]] bool has_gpu(const RuleInput& input);  // some rank has rows of a GPU
[[nodiscard]] std::string number(double value);      // "3", "2.5"

}  // namespace dprof::analyzer
