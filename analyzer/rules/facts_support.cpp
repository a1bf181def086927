// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/facts_support.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

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

}  // namespace

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

std::vector<Evidence> call_evidence(const RuleInput& input, std::span<const int> ranks,
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
    const double share =
        static_cast<double>(facts.of(what).total_ns) / static_cast<double>(kernel_ns(facts));
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
    const double share = all <= 0 ? 0 : -static_cast<double>(minus_ns) / static_cast<double>(all);
    words.push_back(fmt::format("{}{} ({} of the kernels' time)", name.substr(0, kNameBytes),
                                name.size() > kNameBytes ? "…" : "", format_share(share)));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

std::vector<Finding> find_named(const RuleInput& input, std::span<const Rule> family,
                                std::string_view name) {
  const auto rule = std::ranges::find(family, name, &Rule::name);
  return rule == family.end() || rule->detect == nullptr ? std::vector<Finding>()
                                                         : rule->detect(input);
}

int64_t lower_median(std::span<const TimeOfRank> times) {
  if (times.empty()) return 0;
  std::vector<int64_t> values;
  for (const TimeOfRank& time : times) values.push_back(time.ns);
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2];
}

std::string who_does(const RuleInput& input, std::span<const int> ranks, std::string_view one,
                     std::string_view several) {
  return fmt::format("{} {}", who(input, ranks), ranks.size() == 1 ? one : several);
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
