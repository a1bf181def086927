// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "analyzer/breakdown/communication.h"
#include "analyzer/breakdown/exposure.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

struct Factor {
  double value;
  double weight;
};

double weighted_median(std::vector<Factor> factors) {
  std::ranges::sort(factors, {}, &Factor::value);
  const double half = std::accumulate(factors.begin(), factors.end(), 0.0,
                                      [](double sum, const Factor& f) { return sum + f.weight; }) /
                      2;
  double passed = 0;
  for (const Factor& factor : factors) {
    passed += factor.weight;
    if (passed >= half) return factor.value;
  }
  return factors.back().value;
}

// Communication that computation covered, per steady step, mean over ranks.
double overlapped_per_step(const CommunicationInput& input) {
  double total = 0;
  for (size_t r = 0; r < input.steps.ranks.size(); ++r) {
    const RankTime time(input.pieces[input.steps.ranks[r]]);
    for (const AlignedStep& step : input.steps.steady())
      total += static_cast<double>(time.overlapped(step.windows[r]));
  }
  return total / static_cast<double>(input.steps.ranks.size() * input.steps.steady().size());
}

}  // namespace

std::optional<Contention> contention_of(const CommunicationInput& input,
                                        std::vector<Diagnostic>& diagnostics) {
  std::vector<Factor> factors;
  std::vector<double> values;
  std::set<std::string_view> names;
  bool any_collective = false;
  for (const size_t rank : input.steps.ranks) {
    any_collective = any_collective || !input.digests[rank].collectives.empty();
    for (const OpTimes& times : input.digests[rank].op_times) {
      const double alone = times.alone.quantile(0.5);
      if (alone <= 0) continue;
      values.push_back(times.beside.quantile(0.5) / alone);
      factors.push_back({values.back(), static_cast<double>(times.beside_ns)});
      names.insert(times.name);
    }
  }
  if (factors.empty()) {
    if (any_collective) {
      diagnostics.push_back(make_diagnostic(
          "not_computed", fmt::format("contention: no operator ran {} times both beside a "
                                      "collective and alone",
                                      OpTimesGatherer::kFewest)));
    }
    return std::nullopt;
  }
  Contention contention{.factor = weighted_median(std::move(factors)),
                        .operators = static_cast<int64_t>(names.size()),
                        .spread = mad_n(values)};
  if (contention.factor > 1) {
    contention.hidden_cost_ns =
        static_cast<int64_t>(overlapped_per_step(input) * (1 - 1 / contention.factor));
  }
  return contention;
}

}  // namespace dprof::analyzer
