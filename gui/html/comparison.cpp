// SPDX-License-Identifier: Apache-2.0
#include "gui/html/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>
#include <vector>

#include "analyzer/check/formats.h"
#include "analyzer/diff/render.h"
#include "analyzer/render/mean_step.h"
#include "analyzer/render/writers.h"
#include "gui/html/page.h"

namespace dprof::html {
namespace {

using analyzer::Block;
using analyzer::ChangedPart;
using analyzer::Diff;
using analyzer::Document;
using analyzer::escaped_markup;
using analyzer::Style;

constexpr size_t kMostChecks = 400;

// The bar below the title: its edge shows the answer's colour.
std::string answer_html(const analyzer::Span& answer, std::string_view word = {}) {
  const std::string_view kind = answer.style == Style::kBad    ? "critical"
                                : answer.style == Style::kWarn ? "warning"
                                                               : "good";
  const std::string lead =
      word.empty() ? "" : fmt::format("<b class=\"word\">{}</b>", escaped_markup(word));
  return fmt::format("<p class=\"verdict {}\">{}<span class=\"said\">{}</span></p>\n", kind, lead,
                     escaped_markup(answer.text));
}

// The interval of the change on a scale with 0; its figures are in the text beside it.
std::string interval_html(const analyzer::StepChange& change) {
  const double from = std::min(0.0, change.least);
  const double to = std::max(0.0, change.most);
  if (to <= from) return {};
  constexpr double kEdge = 0.12;  // of the width, for labels
  const auto at = [&](double share) {
    return 100 * (kEdge + (1 - 2 * kEdge) * (share - from) / (to - from));
  };
  constexpr double kApart = 14;  // percent of the width, for two labels
  const std::string_view kind = change.least > 0 ? "bad" : change.most < 0 ? "good" : "dim";
  const std::string value =
      std::abs(at(change.change) - at(0)) < kApart
          ? ""
          : fmt::format("<span style=\"left:{:.2f}%\">{}</span>", at(change.change),
                        analyzer::signed_share(change.change));
  return fmt::format(
      "<div class=\"interval {}\" aria-hidden=\"true\"><i class=\"axis\"></i>"
      "<i class=\"zero\" style=\"left:{:.2f}%\"></i>"
      "<i class=\"range\" style=\"left:{:.2f}%;width:{:.2f}%\"></i>"
      "<i class=\"middle\" style=\"left:{:.2f}%\"></i>"
      "<span style=\"left:{:.2f}%\">no change</span>{}</div>\n",
      kind, at(0), at(change.least), at(change.most) - at(change.least), at(change.change), at(0),
      value);
}

std::string_view class_of(const ChangedPart& part) {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (size_t c = 0; c < analyzer::kCategories; ++c) names.push_back(fmt::format("c{}", c));
    return names;
  }();
  for (size_t c = 0; c < analyzer::kCategories; ++c) {
    if (part.key == analyzer::key_of(static_cast<analyzer::Category>(c))) return kNames[c];
  }
  return "rest";  // of a later dprof
}

// Both mean steps as bars on one scale.
std::string steps_html(const analyzer::Division& division) {
  constexpr double kLeastShown = 0.001;  // of a step
  const auto longest = static_cast<double>(std::max(division.a_ns, division.b_ns));
  if (longest <= 0) return {};
  const analyzer::StepUnit unit(static_cast<double>(division.a_ns));
  std::string html = "<figure>\n<div class=\"sides\">\n";
  const auto is_shown = [&](const ChangedPart& part) {
    return static_cast<double>(std::max(part.a_ns, part.b_ns)) >= kLeastShown * longest;
  };
  const auto side = [&](char name, int64_t whole_ns, int64_t ChangedPart::*field) {
    html += fmt::format("<b>{}</b><div class=\"stack\" aria-hidden=\"true\">", name);
    for (const ChangedPart& part : division.parts) {
      if (!is_shown(part)) continue;
      html += fmt::format("<i class=\"{}\" style=\"width:{:.3f}%\"></i>", class_of(part),
                          100 * static_cast<double>(std::max<int64_t>(part.*field, 0)) / longest);
    }
    html += fmt::format("</div><span class=\"n\">{}</span>\n",
                        escaped_markup(unit.text(static_cast<double>(whole_ns))));
  };
  side('A', division.a_ns, &ChangedPart::a_ns);
  side('B', division.b_ns, &ChangedPart::b_ns);
  html += "</div>\n<div class=\"legend\">";
  for (const ChangedPart& part : division.parts) {
    if (!is_shown(part)) continue;
    html += fmt::format("<span><i class=\"swatch {}\"></i>{}</span>", class_of(part),
                        escaped_markup(part.title));
  }
  return html + "</div>\n</figure>\n";
}

// "WHERE THE CHANGE IS" as the name of a section: "where-the-change-is".
std::string anchor_of(std::string_view title) {
  std::string name;
  for (const char c : title) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      name += static_cast<char>(std::tolower(byte));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  return name;
}

// A section for each heading of the documents, and links to the sections.
class Sections {
 public:
  void add(const Document& document) {
    Document section;
    std::string title;
    for (const Block& block : document.blocks) {
      if (const auto* heading = std::get_if<analyzer::Heading>(&block)) {
        end(std::exchange(section, {}), title);
        title = heading->title;
      }
      section.add(block);
    }
    end(section, title);
  }
  void add(std::string_view title, const std::string& inside) {
    if (inside.empty()) return;
    const std::string name = anchor_of(title);
    html_ += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", name, title, inside);
    link(name, title);
  }

  [[nodiscard]] std::string contents() const {
    return fmt::format("<nav aria-label=\"contents\">{}</nav>\n", links_);
  }
  [[nodiscard]] const std::string& html() const { return html_; }

 private:
  void end(const Document& section, const std::string& title) {
    if (section.empty()) return;
    const std::string name = anchor_of(title);
    html_ += section_of(name, section);
    link(name, analyzer::calm_title(title));
  }
  void link(const std::string& name, std::string_view title) {
    links_ += fmt::format("<a href=\"#{}\">{}</a>", name, escaped_markup(title));
  }

  std::string html_;
  std::string links_;
};

std::string side_name(const analyzer::DiffSide& side) {
  const std::string name =
      side.runs.empty() || side.runs.front().empty() ? "run" : side.runs.front();
  return side.runs.size() < 2 ? name : fmt::format("{} and {} more", name, side.runs.size() - 1);
}

void add_changes(const Diff& diff, const HtmlOptions& options, Sections& sections) {
  if (diff.division) sections.add("The mean step, before and after", steps_html(*diff.division));
  sections.add(analyzer::changes_section(diff, {.top = options.top}));
}

std::string whole_page(const std::string& title, const std::string& head, const Sections& sections,
                       const HtmlOptions& options) {
  return page_of(title,
                 fmt::format("<header>\n{}{}</header>\n{}<footer>Made by dprof{}{}. This file "
                             "needs no network and holds no trace: names and figures only."
                             "</footer>\n",
                             head, sections.contents(), sections.html(),
                             options.version.empty() ? "" : " ", escaped_markup(options.version)));
}

}  // namespace

std::string render_diff_html(const Diff& diff, const HtmlOptions& options) {
  const std::string names = fmt::format("{} → {}", side_name(diff.a), side_name(diff.b));
  std::string head =
      fmt::format("<p class=\"eyebrow\">dprof diff</p>\n<h1>{}</h1>\n", escaped_markup(names));
  head += answer_html(analyzer::diff_answer(diff));
  if (diff.step) head += interval_html(*diff.step);
  head += analyzer::write_html({{analyzer::diff_facts(diff)}});
  Sections sections;
  sections.add(analyzer::dissimilar_section(diff));
  add_changes(diff, options, sections);
  return whole_page("dprof diff: " + names, head, sections, options);
}

std::string render_check_html(const analyzer::CheckResult& result, const HtmlOptions& options) {
  const analyzer::CheckAnswer answer = analyzer::check_answer(result);
  const std::string name = side_name(result.run);
  std::string head =
      fmt::format("<p class=\"eyebrow\">dprof check</p>\n<h1>{}</h1>\n", escaped_markup(name));
  head += answer_html({answer.text, answer.word.style}, answer.word.text);
  if (result.diff && result.diff->step) head += interval_html(*result.diff->step);
  Document notes;
  for (const std::string& note : answer.notes) notes.add(analyzer::Paragraph{.text = note});
  head += analyzer::write_html(notes);
  Sections sections;
  Document checks{{analyzer::Heading{.title = "CHECKS"}}};
  checks.add(analyzer::check_table(result, kMostChecks));
  sections.add(checks);
  if (result.diff) {
    sections.add(analyzer::dissimilar_section(*result.diff));
    add_changes(*result.diff, options, sections);
  }
  return whole_page("dprof check: " + name, head, sections, options);
}

}  // namespace dprof::html
