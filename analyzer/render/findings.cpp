// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyzer/render/finding_tree.h"
#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "analyzer/render/sections.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kTextIndent = 5;  // of the text below a finding's number
constexpr size_t kMostSymptoms = 3;
constexpr double kWorthDoing = 0.03;  // of a step: the lower limit of severity warn

size_t compared_ranks(const Report& report) {
  if (report.detection) return static_cast<size_t>(report.detection->ranks);
  return static_cast<size_t>(report.run.ranks);
}

// "0.4 ms (1.4 %)".
std::string of_step(const Report& report, double ns) {
  const std::string text = unit_of(report).text(ns);
  const std::optional<double> step = median_step(report);
  return step ? fmt::format("{} ({})", text, format_share(ns / *step)) : text;
}

// A rank is slower, but no culprit is named.
bool is_doubtful(const Report& report, const Finding& finding) {
  const std::optional<double> step = median_step(report);
  return finding.rule == "balance.straggler" && finding.cost_ns && step &&
         static_cast<double>(*finding.cost_ns) >= *step * straggler_floor(compared_ranks(report));
}

template <typename Predicate>
bool has_finding(const Report& report, Predicate predicate) {
  return report.findings && std::ranges::any_of(*report.findings, predicate);
}

// Something other than a named culprit is expensive enough to act on.
bool has_dear_finding(const Report& report) {
  return has_finding(report, [](const Finding& f) { return f.severity != FindingSeverity::kInfo; });
}

// Ranks wait for each other for no reason that is known. In a few steps a rank may be so late that
// it costs more on average than one that is named.
bool has_unexplained_waiting(const Report& report, double named_ns) {
  return has_finding(report, [&](const Finding& f) {
    return f.rule == "balance.waiting" && !f.caused_by &&
           static_cast<double>(f.cost_ns.value_or(0)) >= named_ns;
  });
}

std::string no_straggler_text(const Report& report) {
  if (has_finding(report, [&](const Finding& f) { return is_doubtful(report, f); })) {
    return "no culprit is named: one rank is slower, but no more than sharing a core can explain";
  }
  const std::optional<double> step = median_step(report);
  // Nothing is claimed below the detection limit.
  const double named =
      report.detection
          ? static_cast<double>(std::max(report.detection->named_ns, report.detection->floor_ns))
      : step ? *step * straggler_floor(compared_ranks(report))
             : 0;
  if (named <= 0) return "no rank holds the others up";
  if (has_unexplained_waiting(report, named))
    return fmt::format("no rank is persistently late: none costs {} in most steps",
                       of_step(report, named));
  return fmt::format("no rank holds the others up: none costs {} per step or more",
                     of_step(report, named));
}

std::string why_no_stragglers(const Report& report) {
  return fmt::format("stragglers: not known, {}",
                     report.run.ranks == 1
                         ? "there is only one rank, and nothing to compare it with"
                         : "the ranks of this run cannot be compared");
}

void add_cause(Document& document, const Finding& f, size_t number, std::optional<double> step) {
  document.add(Paragraph{.text = priced_title(f, step),
                         .style = f.severity == FindingSeverity::kCritical ? Style::kBad
                                  : f.severity == FindingSeverity::kWarn   ? Style::kWarn
                                                                           : Style::kStrong,
                         .lead = pad_left(fmt::format("{}  ", number), kTextIndent),
                         .tail = f.cause == "unknown" ? "" : f.cause});
  add_detail(document, f.detail, f.advice, kTextIndent);
}

void add_symptoms(Document& document, const std::vector<Finding>& findings,
                  const std::vector<size_t>& symptoms, std::optional<double> step) {
  const size_t shown = std::min(kMostSymptoms, symptoms.size());
  for (const size_t index : std::span(symptoms).first(shown)) {
    document.add(Paragraph{.text = "symptom: " + priced_title(findings[index], step),
                           .style = Style::kFaint,
                           .lead = fmt::format("     └ {}  ", index + 1)});
  }
  if (shown == symptoms.size()) return;
  std::vector<size_t> numbers;
  for (const size_t index : std::span(symptoms).subspan(shown)) numbers.push_back(index + 1);
  document.add(Paragraph{
      .text =
          fmt::format("and {}: {}", plural(static_cast<int64_t>(numbers.size()), "more symptom"),
                      fmt::join(numbers, ", ")),
      .style = Style::kFaint,
      .lead = "     └ "});
}

void add_causes(Document& document, const Report& report, const TextOptions& options) {
  const std::vector<FindingNode> nodes = finding_tree(*report.findings);
  const std::optional<double> step = median_step(report);
  const size_t shown = std::min(nodes.size(), static_cast<size_t>(std::max(0, options.top)));
  for (const FindingNode& node : std::span(nodes).first(shown)) {
    add_cause(document, (*report.findings)[node.index], node.index + 1, step);
    add_symptoms(document, *report.findings, node.symptoms, step);
  }
  if (shown == nodes.size()) return;
  document.add(
      Paragraph{.text = fmt::format("and {} more (--top {})", nodes.size() - shown, nodes.size()),
                .style = Style::kFaint,
                .lead = "  …  ",
                .lead_style = Style::kFaint});
}

}  // namespace

void add_detail(Document& document, const std::string& detail, const std::string& advice,
                size_t indent) {
  const std::string lead(indent, ' ');
  if (!detail.empty()) document.add(Paragraph{.text = detail, .lead = lead});
  if (!advice.empty()) document.add(Paragraph{.text = advice, .lead = lead + "→ "});
}

Verdicts verdicts_of(const Report& report) {
  Verdicts verdicts;
  // Findings on other ranks were left out: no verdict on the run is possible.
  if (is_seen_from_one_rank(report)) return verdicts;
  const std::optional<double> step = median_step(report);
  if (report.findings && !has_dear_finding(report) && !report.hang && !has_failed(report) && step) {
    verdicts.good.push_back(
        fmt::format("no finding costs {} per step or more", of_step(report, *step * kWorthDoing)));
  }
  if (!report.stragglers) return verdicts;
  if (report.stragglers->empty() && !report.hang && !has_failed(report))
    verdicts.good.push_back(no_straggler_text(report));
  const bool two = compared_ranks(report) == 2;
  const std::string alike = fmt::format("what slows {} alike", two ? "both ranks" : "all ranks");
  std::string unseen = alike + " would go unnoticed";
  if (report.detection && report.detection->floor_ns > 0) {
    unseen =
        fmt::format("a rank's lasting own delay below {} per step would go unnoticed, as would {}",
                    of_step(report, static_cast<double>(report.detection->floor_ns)), alike);
  }
  const bool said = report.findings && std::ranges::any_of(*report.findings, [](const Finding& f) {
                      return f.detail.find("two ranks") != std::string::npos;
                    });
  if (two && !said)
    unseen +=
        "; with two ranks, \"slow\" only means slower than the other, which may be the fast one";
  verdicts.unseen.push_back(std::move(unseen));
  return verdicts;
}

Document finding_section(const Report& report, const TextOptions& options) {
  Document document;
  document.add(Heading{.title = "FINDINGS"});
  const Verdicts verdicts = verdicts_of(report);
  for (const std::string& good : verdicts.good)
    document.add_item({.text = good, .style = Style::kGood, .mark = "✓"});
  if (!report.stragglers) document.add_item({.text = why_no_stragglers(report), .mark = "?"});
  if (report.findings) {
    add_causes(document, report, options);
  } else {
    document.add_item({.text = "not computed for this run", .mark = "?"});
  }
  if (report.replay && report.replay->together && !is_seen_from_one_rank(report)) {
    const CostTogether& together = *report.replay->together;
    std::vector<int64_t> numbers;
    for (const int64_t f : together.findings) numbers.push_back(f + 1);
    document.add_item(
        {.text = fmt::format(
             "removing findings {} together gains {} ± {}; their costs do not add up",
             fmt::join(numbers, ", "), of_step(report, static_cast<double>(together.gain_ns)),
             format_ms({together.bound_ns})),
         .style = Style::kFaint});
  }
  for (const std::string& unseen : verdicts.unseen)
    document.add_item({.text = unseen, .style = Style::kFaint});
  if (is_seen_from_one_rank(report)) {
    document.add_item({.text = "only findings about this rank; omit --rank for the whole run's",
                       .style = Style::kFaint});
  }
  // The basis of prices is only mentioned if it weakens them.
  if (report.replay && !report.replay->accepted) {
    document.add_item(
        {.text = fmt::format(
             "costs are uncertain: {}",
             report.replay->refused.empty()
                 ? fmt::format(
                       "replayed unchanged, this run comes out {} off per step, above the 5 % limit",
                       format_share(report.replay->identity_error))
                 : report.replay->refused),
         .style = Style::kWarn,
         .mark = "!"});
  }
  return document;
}

}  // namespace dprof::analyzer
