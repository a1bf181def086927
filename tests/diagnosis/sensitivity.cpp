// SPDX-License-Identifier: Apache-2.0
#include "tests/diagnosis/sensitivity.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "analyzer/breakdown/slow_links.h"
#include "analyzer/vocabulary/thresholds.h"

namespace dprof::diagnosis {
namespace {

using analyzer::AnyThreshold;
using nlohmann::ordered_json;

// Those of links, which are looked for before ranks are compared.
constexpr std::string_view kOfLinks[] = {"kSlowRatio",     "kFewestSlowWindows", "kTimesSpread",
                                         "kSlowMessages",  "kMostBound",         "kLeastLoss",
                                         "kFewestOfLevel", "kRiseRatio",         "kEdge"};

ordered_json named_in(const analyzer::Comparison& comparison) {
  std::vector<analyzer::Diagnostic> notes;
  ordered_json named = ordered_json::array();
  for (const analyzer::Verdict& verdict : analyzer::judge(comparison, notes).verdicts) {
    if (verdict.named) named.push_back(straggler_json(verdict.straggler));
  }
  return named;
}

ordered_json with(const AnyThreshold& threshold, double factor, analyzer::Comparison comparison) {
  threshold.set(threshold.varied(factor));
  std::optional<analyzer::LinkStudy> links;
  if (std::ranges::count(kOfLinks, threshold.name) != 0) {
    std::vector<analyzer::Diagnostic> notes;
    links = slow_links_of(comparison.digests, comparison.traces, comparison.matching,
                          comparison.steps, comparison.overlap, notes);
    comparison.links = links ? &*links : nullptr;
  }
  ordered_json named = named_in(comparison);
  threshold.set(threshold.usual);
  return named;
}

}  // namespace

ordered_json judge_again(const analyzer::Comparison& comparison) {
  const ordered_json usual = named_in(comparison);
  ordered_json varied = ordered_json::object();
  for (const AnyThreshold* one = AnyThreshold::first(); one != nullptr; one = one->next()) {
    for (const auto& [word, factor] : {std::pair{"less", kLess}, std::pair{"more", kMore}}) {
      ordered_json named = with(*one, factor, comparison);
      if (named != usual) varied[std::string(one->name)][word] = std::move(named);
    }
  }
  return varied;
}

ordered_json thresholds() {
  std::vector<ordered_json> all;
  for (const AnyThreshold* one = AnyThreshold::first(); one != nullptr; one = one->next()) {
    all.push_back({{"name", one->name},
                   {"value", one->usual},
                   {"less", one->varied(kLess)},
                   {"more", one->varied(kMore)},
                   {"unit", one->unit},
                   {"why", one->why},
                   {"source", one->source}});
  }
  std::ranges::reverse(all);
  return all;
}

}  // namespace dprof::diagnosis
