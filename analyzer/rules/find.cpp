// SPDX-License-Identifier: Apache-2.0
// The one place that combines a rule's measurement and its text into a finding.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/rules/rule.h"
#include "analyzer/rules/support.h"

namespace dprof::analyzer {
namespace {

// Makes culprits work like their peers: they have findings of their own.
std::vector<Change> without_culprits(const RuleInput& input) {
  std::vector<Change> changes;
  const auto add = [&](int rank) {
    const Result<Change> change = parse_change(fmt::format("rank:{}=peers", rank));
    if (change.ok()) changes.push_back(*change);
  };
  for (const Verdict& verdict : input.verdicts) {
    if (!verdict.named || verdict.straggler.cause == "network") continue;
    if (verdict.straggler.host_ranks.empty()) {
      if (verdict.straggler.rank) add(*verdict.straggler.rank);
    } else {
      std::ranges::for_each(verdict.straggler.host_ranks, add);
    }
  }
  return changes;
}

// The cost by replay, in addition to the culprits; nullopt: the replay gives none.
std::optional<WhatIf> replayed_price(const RuleInput& input, const Rule& rule,
                                     const Measured& measured) {
  if (rule.removed_by.empty() || input.model == nullptr || !measured.cost_ns) return std::nullopt;
  const Result<Change> change = parse_change(rule.removed_by);
  if (!change.ok()) return std::nullopt;
  Result<WhatIf> what = input.model->answer(std::span(&*change, 1));
  if (!what.ok() || !what->gain_ns) return std::nullopt;
  std::vector<Change> changes = without_culprits(input);
  if (!changes.empty()) {
    const Result<WhatIf> first = input.model->answer(changes);
    changes.push_back(*change);
    const Result<WhatIf> both = input.model->answer(changes);
    if (first.ok() && both.ok() && first->gain_ns && both->gain_ns) {
      what->gain_ns = *both->gain_ns - *first->gain_ns;
      what->bound_ns = both->bound_ns;
    }
  }
  return *std::move(what);
}

std::vector<Figure> figures_of(const RuleInput& input, const Measured& measured,
                               const std::optional<WhatIf>& price) {
  std::vector<Figure> figures = measured.figures;
  const int64_t cost = measured.cost_ns.value_or(0);
  figures.emplace_back("cost", per_step(input, cost));
  figures.emplace_back("ms", ms(cost));
  figures.emplace_back("upper bound", price ? fmt::format("the gain of a replay with {}, ± {}",
                                                          price->change, ms(*price->bound_ns))
                                            : "an upper bound on the gain");
  figures.emplace_back("who", who(input, measured.ranks));
  figures.emplace_back("ranks", list_of(measured.ranks));
  figures.emplace_back("n", measured.ranks.size());
  return figures;
}

FindingSeverity weight_of(const RuleInput& input, const Rule& rule, const Measured& measured) {
  if (measured.severity) return *measured.severity;
  if (rule.judged.severity) return *rule.judged.severity;
  return std::max(rule.judged.mildest, severity_of(share_of(input, measured.cost_ns.value_or(0))));
}

}  // namespace

std::string filled(std::string_view words, std::span<const Figure> figures) {
  std::string text;
  while (true) {
    const size_t open = words.find('{');
    const size_t close = words.find('}', open);
    text += words.substr(0, open);
    if (open == std::string_view::npos || close == std::string_view::npos) return text;
    const std::string_view name = words.substr(open + 1, close - open - 1);
    words.remove_prefix(close + 1);
    const size_t bar = name.find('|');
    const auto figure = std::ranges::find(
        figures, bar == std::string_view::npos ? name : std::string_view("n"), &Figure::name);
    if (figure == figures.end()) {
      text.append("{").append(name).append("}");
    } else if (bar != std::string_view::npos) {
      text += figure->words == "1" ? name.substr(0, bar) : name.substr(bar + 1);
    } else {
      text += figure->words;
    }
  }
}

std::vector<Finding> found(const RuleInput& input, const Rule& rule, std::optional<Measured> what) {
  if (!what) return {};
  Measured& measured = *what;
  const int64_t cost = measured.cost_ns.value_or(0);
  if (rule.judged.at_least > 0 && (cost <= 0 || share_of(input, cost) < rule.judged.at_least))
    return {};
  const std::optional<WhatIf> price = replayed_price(input, rule, measured);
  if (price) {
    measured.cost_ns = std::max<int64_t>(0, *price->gain_ns);
    measured.decided_by.push_back(
        fmt::format("replayed with {}: {}", price->change, price->valid_because));
    if (!price->bias.empty()) measured.decided_by.push_back(price->bias);
  }
  const std::vector<Figure> figures = figures_of(input, measured, price);
  Finding finding{.severity = weight_of(input, rule, measured),
                  .title = filled(rule.title, figures),
                  .detail = filled(rule.detail, figures),
                  .advice = std::move(measured.advice),
                  .ranks = std::move(measured.ranks),
                  .cost_ns = measured.cost_ns,
                  .bound_ns = price ? price->bound_ns : std::nullopt,
                  .cause = std::string(rule.judged.cause),
                  .confidence = measured.confidence.value_or(rule.judged.confidence)};
  if (price) finding.removed_by = std::string(rule.removed_by);
  finding.evidence =
      measured.evidence ? *std::move(measured.evidence) : steps_evidence(input, finding.ranks);
  const auto add = [&](std::span<const std::string_view> sentences, std::vector<std::string>& to) {
    for (const std::string_view sentence : sentences) {
      if (std::string text = filled(sentence, figures); !text.empty())
        to.push_back(std::move(text));
    }
  };
  add(rule.decided_by, finding.decided_by);
  std::ranges::move(measured.decided_by, std::back_inserter(finding.decided_by));
  add(rule.refuted_by, finding.refuted_by);
  return {std::move(finding)};
}

std::optional<CostTogether> cost_together(std::span<const Finding> findings,
                                          const WhatIfModel& model) {
  CostTogether together;
  std::vector<Change> changes;
  for (size_t f = 0; f < findings.size(); ++f) {
    if (findings[f].caused_by || findings[f].removed_by.empty()) continue;
    Result<Change> change = parse_change(findings[f].removed_by);
    if (!change.ok()) continue;
    together.findings.push_back(static_cast<int64_t>(f));
    changes.push_back(*std::move(change));
  }
  if (changes.size() < 2) return std::nullopt;
  const Result<WhatIf> what = model.answer(changes);
  if (!what.ok() || !what->gain_ns) return std::nullopt;
  together.change = what->change;
  together.gain_ns = *what->gain_ns;
  together.bound_ns = what->bound_ns.value_or(0);
  return together;
}

std::vector<Finding> findings_of(const RuleInput& input, const Rule& rule) {
  if (rule.detect != nullptr) return rule.detect(input);
  return rule.measure != nullptr ? found(input, rule, rule.measure(input)) : std::vector<Finding>();
}

}  // namespace dprof::analyzer
