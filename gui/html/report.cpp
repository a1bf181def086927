// SPDX-License-Identifier: Apache-2.0
#include "gui/html/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "analyzer/render/explain.h"
#include "analyzer/render/finding_tree.h"
#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "analyzer/render/sections.h"
#include "analyzer/render/writers.h"
#include "base/format.h"
#include "gui/html/page.h"
#include "gui/html/pictures.h"

namespace dprof::html {
namespace {

using analyzer::Document;
using analyzer::escaped_markup;
using analyzer::Finding;
using analyzer::FindingSeverity;
using analyzer::html_prose;
using analyzer::Report;

constexpr int kWide = 1000;  // characters: a page's table can be as wide as its columns need
constexpr double kLeastInLegend = 0.001;  // of a step

std::string_view class_of(FindingSeverity severity) {
  return severity == FindingSeverity::kCritical ? "critical"
         : severity == FindingSeverity::kWarn   ? "warning"
                                                : "note";
}

// The run in one sentence: how it ended, else the highest cost, else that nothing costs much.
std::string verdict_html(const Report& report) {
  const auto said = [](std::string_view kind, const std::string& text) {
    return fmt::format("<p class=\"verdict {}\">{}</p>\n", kind, html_prose(text));
  };
  if (has_failed(report)) return said("failed", report.ending->verdict.title);
  if (report.hang) return said("failed", analyzer::hang_sentence(*report.hang));
  if (report.findings && !report.findings->empty() &&
      report.findings->front().severity != FindingSeverity::kInfo) {
    const Finding& first = report.findings->front();
    return said(class_of(first.severity),
                analyzer::priced_title(first, analyzer::median_step(report)));
  }
  const analyzer::Verdicts verdicts = analyzer::verdicts_of(report);
  if (!verdicts.good.empty()) return said("good", verdicts.good.front());
  return {};
}

Document document_of(const analyzer::ExplainedPart& part) {
  Document document;
  for (const std::string& point : part.points) document.add_item({.text = point});
  if (!part.table.empty()) {
    analyzer::Table table;
    for (const std::string& title : part.table.front())
      table.add_columns(analyzer::Align::kLeft, {title});
    for (const std::vector<std::string>& row : std::span(part.table).subspan(1)) table.add_row(row);
    document.add(std::move(table));
  }
  if (!part.commands.empty()) document.add(analyzer::Commands{part.commands});
  return document;
}

std::string explanation_html(const Report& report, size_t index,
                             const analyzer::EvidenceSources& sources) {
  const Result<analyzer::Explanation> explanation =
      analyzer::explain(report, static_cast<int64_t>(index) + 1, sources);
  if (!explanation.ok() || explanation->parts.empty()) return {};
  std::string html = "<details><summary>How this was decided, and where to see it</summary>\n";
  for (const analyzer::ExplainedPart& part : explanation->parts) {
    html += fmt::format("<h4>{}</h4>\n{}", escaped_markup(part.title),
                        analyzer::write_html(document_of(part)));
  }
  return html + "</details>\n";
}

std::string finding_html(const Report& report, const analyzer::FindingNode& node,
                         const analyzer::EvidenceSources& sources) {
  const std::optional<double> step = analyzer::median_step(report);
  const Finding& f = (*report.findings)[node.index];
  const analyzer::TitleParts parts = analyzer::parts_of_title(f, step);
  std::string about = parts.rest;
  if (!f.cause.empty() && f.cause != "unknown") about += (about.empty() ? "" : " · ") + f.cause;
  std::string html = fmt::format(
      "<article class=\"finding {}\" id=\"finding-{}\">\n<h3><span>{}. {}</span>"
      "<span class=\"price\">{}</span></h3>\n",
      class_of(f.severity), node.index + 1, node.index + 1, escaped_markup(parts.heading),
      escaped_markup(parts.price));
  const auto line = [&](std::string_view kind, std::string_view mark, const std::string& text) {
    if (!text.empty())
      html += fmt::format("<p class=\"{}\">{}{}</p>\n", kind,
                          mark.empty() ? "" : fmt::format("<span class=\"lead\">{}</span>", mark),
                          html_prose(text));
  };
  line("about", "", about);
  line("detail", "", f.detail);
  line("advice", "→", f.advice);
  for (const size_t symptom : node.symptoms) {
    line("symptom", "└",
         fmt::format("{} symptom: {}", symptom + 1,
                     analyzer::priced_title((*report.findings)[symptom], step)));
  }
  return html + explanation_html(report, node.index, sources) + "</article>\n";
}

// The text's own lines, except for the causes, which are cards.
std::string findings_html(const Report& report, const analyzer::TextOptions& text,
                          const analyzer::EvidenceSources& sources) {
  std::vector<analyzer::FindingNode> nodes;
  if (report.findings) nodes = analyzer::finding_tree(*report.findings);
  std::string cards;
  const size_t shown = std::min(nodes.size(), static_cast<size_t>(text.top));
  for (const analyzer::FindingNode& node : std::span(nodes).first(shown))
    cards += finding_html(report, node, sources);
  if (shown < nodes.size()) {
    cards += fmt::format("<p class=\"faint\">… and {} more (--top {})</p>\n", nodes.size() - shown,
                         nodes.size());
  }
  const Document around = analyzer::finding_section(report, {.width = kWide, .top = 0});
  Document before;
  Document after;
  for (const analyzer::Block& block : around.blocks) {
    if (std::holds_alternative<analyzer::Paragraph>(block)) continue;  // "… and 3 more"
    (std::holds_alternative<analyzer::Heading>(block) ? before : after).add(block);
  }
  return fmt::format("<section id=\"findings\">\n{}{}{}</section>\n", analyzer::write_html(before),
                     cards, analyzer::write_html(after));
}

// The legend of a timeline's colours.
std::string legend_html(const Report& report) {
  const std::optional<analyzer::MeanStep> mean = analyzer::mean_step(report);
  if (!mean) return {};
  std::string html = "<div class=\"legend\">";
  for (size_t c = 0; c < analyzer::kCategories; ++c) {
    const auto category = static_cast<analyzer::Category>(c);
    if (category == analyzer::Category::kOverlapped ||
        mean->category_ns[c] < kLeastInLegend * mean->wall_ns)
      continue;
    html += fmt::format("<span><i class=\"swatch c{}\"></i>{}</span>", c,
                        escaped_markup(analyzer::title_of(category)));
  }
  return html + "</div>\n";
}

std::string figure_html(const Picture& picture, const std::string& below = {}) {
  if (picture.svg.empty()) return {};
  return fmt::format(
      "<figure>\n<figcaption><b>{}</b> &nbsp;{}</figcaption>\n<div class=\"scroll\">{}</div>\n{}"
      "</figure>\n",
      escaped_markup(picture.title), escaped_markup(picture.caption), picture.svg, below);
}

std::string section_html(std::string_view name, std::string_view title, const std::string& inside) {
  if (inside.empty()) return {};
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", name, title, inside);
}

// A section with a picture below it, if there is one.
std::string with_picture(std::string section, const std::string& figure) {
  constexpr std::string_view kEnd = "</section>\n";
  if (section.empty() || figure.empty()) return section;
  section.insert(section.size() - kEnd.size(), figure);
  return section;
}

// The operators and kernels that take the most time.
Document names_section(const Report& report, const analyzer::TextOptions& options) {
  if (!report.names || report.names->list.empty()) return {};
  constexpr size_t kLongestName = 120;
  const analyzer::Names& names = *report.names;
  const size_t shown = analyzer::shown_of(names.list.size(), options.top);
  const size_t all = names.list.size() + static_cast<size_t>(names.left_out);
  const analyzer::StepUnit unit = analyzer::unit_of(report);
  analyzer::Table table;
  table.add_columns(analyzer::Align::kLeft, {"name", "on"});
  table.add_columns(analyzer::Align::kRight, {"calls", "own time", "in all"});
  for (const analyzer::NameTimes& one : std::span(names.list).first(shown)) {
    table.add_row({analyzer::cut_to(analyzer::printable(one.name), kLongestName),
                   one.on_device ? "GPU" : "host", analyzer::per_step_text(one.count),
                   unit.text(static_cast<double>(one.self_ns)),
                   unit.text(static_cast<double>(one.total_ns))});
  }
  Document document = analyzer::titled_table(
      "OPERATORS AND KERNELS",
      fmt::format("per step, mean over {}; own time is without what it called",
                  analyzer::ranks_text(names.ranks)),
      table);
  analyzer::say_more(document, shown, all);
  return document;
}

struct Part {
  std::string_view name;
  std::string_view word;
  std::string html;
};

std::string contents_html(std::span<const Part> parts) {
  std::string html = "<nav aria-label=\"contents\">";
  for (const Part& part : parts) {
    if (!part.html.empty()) html += fmt::format("<a href=\"#{}\">{}</a>", part.name, part.word);
  }
  return html + "</nav>\n";
}

}  // namespace

std::string render_html(analyzer::Run run, analyzer::Analysis analysis,
                        const HtmlOptions& options) {
  const std::vector<analyzer::RankAnalysis>& ranks = analysis.ranks;
  const std::string title = "dprof: " + (run.name.empty() ? "run" : run.name);
  const analyzer::TextOptions text{.width = kWide,
                                   .top = std::max(1, options.top),
                                   .sections = analyzer::parse_sections("all").ok()
                                                   ? std::optional(*analyzer::parse_sections("all"))
                                                   : std::nullopt};
  const Report& report = analysis.report;
  const auto section = [&](std::string_view name, analyzer::SectionMaker* make) {
    return section_of(name, make(report, text));
  };
  std::string head =
      fmt::format("<p class=\"eyebrow\">dprof report</p>\n<h1>{}</h1>\n{}",
                  escaped_markup(run.name.empty() ? "run" : run.name), verdict_html(report));
  Document facts = analyzer::head_section(report, text);
  // The run's name, and how it failed, are above.
  std::vector<analyzer::Fact>& lines = std::get<analyzer::FactList>(facts.blocks.front()).facts;
  lines.front().label = "run";
  std::erase_if(lines, [](const analyzer::Fact& f) { return f.label == "FAILED"; });
  head += analyzer::write_html(facts);
  std::string findings = findings_html(report, text, {.traces = run.traces, .ranks = ranks});
  const std::string legend = legend_html(report);
  std::array<Part, 19> parts = {{
      {"hang", "Hang", section("hang", analyzer::hang_section)},
      {"output", "Standard error", section("output", analyzer::output_section)},
      {"step", "Where a step goes", section("step", analyzer::step_section)},
      {"findings", "Findings", std::move(findings)},
      {"timeline", "Timeline", ""},
      {"steps", "Ranks × steps", ""},
      {"ranks", "Ranks", section("ranks", analyzer::rank_section)},
      {"phases", "Phases", section("phases", analyzer::phase_section)},
      {"names", "Operators and kernels", section("names", names_section)},
      {"overlap", "Overlap", section("overlap", analyzer::overlap_section)},
      {"collectives", "Collectives", section("collectives", analyzer::collective_section)},
      {"buckets", "Buckets", section("buckets", analyzer::bucket_section)},
      {"waits", "Waits", ""},
      {"messages", "Messages", section("messages", analyzer::point_to_point_section)},
      {"memory", "Memory", section("memory", analyzer::memory_section)},
      {"gpu", "GPU", section("gpu", analyzer::gpu_rows_section)},
      {"energy", "Energy", section("energy", analyzer::energy_section)},
      {"replay", "What if",
       section("replay", analyzer::replay_section) + section("whatif", analyzer::what_if_section) +
           section("path", analyzer::critical_path_section)},
      {"trust", "What is not known",
       section("links", analyzer::link_section) + section("clocks", analyzer::clock_section) +
           section("unknown", analyzer::unknown_section)},
  }};
  const auto part = [&](std::string_view name) -> std::string& {
    return std::ranges::find(parts, name, &Part::name)->html;
  };
  part("overlap") = with_picture(part("overlap"), figure_html(overlap_picture(report)));

  const auto model =
      std::make_shared<view::Model>(view::build_model(std::move(run), std::move(analysis), {}));
  part("steps") = section_html("steps", "Who is slow when", figure_html(steps_picture(model)));
  part("waits") = section_html("waits", "Waits between ranks", figure_html(waits_picture(model)));
  std::string memory = figure_html(memory_picture(model));
  part("memory") = part("memory").empty() ? section_html("memory", "Memory", memory)
                                          : with_picture(part("memory"), memory);
  if (const std::optional<ShownSteps> shown = shown_steps(*model)) {
    const SideBySide pictures = timeline_pictures(model, *shown);
    part("timeline") = section_html(
        "timeline", shown->title, figure_html(pictures.worst, legend) + figure_html(pictures.good));
  }
  std::string body = "<header>\n" + head + contents_html(parts) + "</header>\n";
  for (Part& one : parts) body += one.html;
  body += fmt::format(
      "<footer>Made by dprof{}{}. This file needs no network and holds no trace: names and figures only.</footer>\n",
      options.version.empty() ? "" : " ", escaped_markup(options.version));
  return page_of(title, body);
}

}  // namespace dprof::html
