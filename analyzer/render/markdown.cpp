// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "analyzer/render/finding_tree.h"
#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "analyzer/render/sections.h"
#include "analyzer/render/writers.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

Document header(const Report& report) {
  const RunInfo& run = report.run;
  SingleLine about;
  const auto say = [&](const std::string& text, Style style = Style::kPlain) {
    about.spans.push_back({text, style});
  };
  say(fmt::format("{} on {}", plural(run.ranks, "rank"), plural(run.hosts, "host")));
  if (run.steps) {
    say(fmt::format(", {} ({} steady), median step ", plural(run.steps->count, "step"),
                    format_count(steady_steps(report).value_or(0))));
    say(format_duration({run.steps->median_ns}), Style::kStrong);
  } else {
    say(", no steps found");
  }
  say(fmt::format("; {} recorded, {} lost", plural(report.recording.events, "event"),
                  format_count(lost_records(report.recording))));
  return {{Heading{.title = "dprof: " + (run.name.empty() ? "run" : run.name), .level = 3},
           std::move(about)}};
}

Document hang_line(const Report& report) {
  if (!report.hang) return {};
  const Hang& hang = *report.hang;
  return {{SingleLine{
      {{fmt::format("Hang ({})", hang.state), Style::kStrong},
       {fmt::format(" in {} of {}: culprits {}; waiting {}. {}", word_of(hang.function),
                    hang.communicator, hang.culprits.empty() ? "unknown" : rank_list(hang.culprits),
                    hang.waiting.empty() ? "none" : rank_list(hang.waiting), hang.reason)}}}}};
}

void add_finding_row(Table& table, const Report& report, size_t index, bool symptom) {
  const Finding& f = (*report.findings)[index];
  const std::optional<double> step_ns = median_step(report);
  const TitleParts parts = parts_of_title(f, step_ns);
  const std::string title =
      parts.rest.empty() ? parts.heading : fmt::format("{}, {}", parts.heading, parts.rest);
  table.add_row(
      {fmt::to_string(index + 1), symptom ? "↳ " + title : title,
       f.cost_ns ? format_ms({*f.cost_ns}) : "",
       f.cost_ns && step_ns ? format_share(static_cast<double>(*f.cost_ns) / *step_ns) : "",
       f.cause, symptom ? "symptom" : std::string(word_of(f.severity))});
  if (!symptom) table.rows.back()[1].style = Style::kStrong;
}

Document finding_details(const Report& report, size_t index) {
  const Finding& f = (*report.findings)[index];
  if (f.detail.empty() && f.advice.empty() && f.decided_by.empty()) return {};
  Fold fold{fmt::format("{}: {}", index + 1, parts_of_title(f, median_step(report)).heading)};
  add_detail(fold.inside, f.detail, f.advice, 0);
  List reasons;
  for (const std::string& sentence : f.decided_by) reasons.items.push_back({sentence});
  for (const std::string& sentence : f.refuted_by)
    reasons.items.push_back({"would refute it: " + sentence});
  fold.inside.add(std::move(reasons));
  return {{std::move(fold)}};
}

Document findings(const Report& report, size_t top) {
  Document document{{Heading{.title = "Findings"}}};
  std::vector<FindingNode> nodes;
  if (report.findings) nodes = finding_tree(*report.findings);
  const std::span shown = std::span(nodes).first(std::min(top, nodes.size()));
  if (!report.findings) {
    document.add(Paragraph{.text = "Not computed for this run."});
  } else if (nodes.empty()) {
    document.add(Paragraph{.text = "None."});
  } else {
    Table table;
    table.add_columns(Align::kRight, {""});
    table.add_columns(Align::kLeft, {"finding"});
    table.add_columns(Align::kRight, {"per step", "share"});
    table.add_columns(Align::kLeft, {"cause", "severity"});
    for (const FindingNode& node : shown) {
      add_finding_row(table, report, node.index, false);
      for (const size_t symptom : node.symptoms) add_finding_row(table, report, symptom, true);
    }
    document.add(std::move(table));
  }
  if (shown.size() < nodes.size())
    document.add(Paragraph{.text = fmt::format("… and {} more.", nodes.size() - shown.size())});
  // What was found healthy, and what could not have been seen.
  const Verdicts verdicts = verdicts_of(report);
  for (const std::string& good : verdicts.good) document.add_item({.text = good, .mark = "✓"});
  for (const std::string& unseen : verdicts.unseen) document.add_item({.text = unseen});
  for (const FindingNode& node : shown) document.add(finding_details(report, node.index));
  return document;
}

Document breakdown(const Report& report) {
  Document document{{Heading{.title = "Where a step goes"}}};
  const std::optional<MeanStep> mean = mean_step(report);
  if (!mean) {
    document.add(Paragraph{.text = "Unknown: this run has no breakdown."});
    return document;
  }
  const StepUnit unit(mean->wall_ns);
  Table table;
  table.add_columns(Align::kLeft, {"part"});
  table.add_columns(Align::kRight, {unit.name(), "share"});
  for (size_t c = 0; c < kCategories; ++c) {
    const double ns = mean->category_ns[c];
    if (ns < kLeastShare * mean->wall_ns) continue;
    table.add_row({std::string(title_of(static_cast<Category>(c))), unit.number(ns),
                   format_share(ns / mean->wall_ns)});
  }
  table.rows.push_back(
      {{"step", Style::kStrong}, {unit.number(mean->wall_ns), Style::kStrong}, {""}});
  document.add(std::move(table));
  if (const std::string memory = memory_line(report); !memory.empty())
    document.add(Paragraph{.text = "Memory: " + memory});
  return document;
}

Document collectives(const Report& report, size_t top) {
  const std::vector<CollectiveSummary> most_expensive = most_expensive_collectives(report);
  if (most_expensive.empty()) return {};
  const size_t shown = std::min(top, most_expensive.size());
  Fold fold{"Collectives"};
  fold.inside.add(collective_table(std::span(most_expensive).first(shown), {}));
  if (shown < most_expensive.size())
    fold.inside.add(
        Paragraph{.text = fmt::format("… and {} more.", most_expensive.size() - shown)});
  return {{std::move(fold)}};
}

Document unknown(const Report& report) {
  if (report.recording.diagnostics.empty()) return {};
  Fold fold{"Unknown"};
  for (const Diagnostic& d : report.recording.diagnostics)
    fold.inside.add_item({.text = fmt::format("{}: {}", d.code, d.text)});
  return {{std::move(fold)}};
}

}  // namespace

std::string render_markdown(const Report& report, const MarkdownOptions& options) {
  const auto top = static_cast<size_t>(std::max(1, options.top));
  Document document;
  for (Document part : {header(report), hang_line(report), findings(report, top), breakdown(report),
                        collectives(report, top), unknown(report)})
    document.add(std::move(part));
  return write_markdown(document);
}

}  // namespace dprof::analyzer
