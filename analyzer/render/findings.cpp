// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/render/finding_tree.h"
#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostSymptoms = 3;
constexpr double kWorthDoing = 0.03;  // of a step: what severity warn begins with

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

// A rank is slower, and no culprit is named.
bool is_doubtful(const Report& report, const Finding& finding) {
  const std::optional<double> step = median_step(report);
  return finding.rule == "balance.straggler" && finding.cost_ns && step &&
         static_cast<double>(*finding.cost_ns) >= *step * straggler_floor(compared_ranks(report));
}

// Something else than a named culprit is dear enough to be done something about.
bool has_dear_finding(const Report& report) {
  return std::ranges::any_of(report.findings.value_or(std::vector<Finding>()),
                             [](const Finding& f) { return f.severity != FindingSeverity::kInfo; });
}

std::string no_straggler_text(const Report& report) {
  if (std::ranges::any_of(report.findings.value_or(std::vector<Finding>()),
                          [&](const Finding& f) { return is_doubtful(report, f); })) {
    return "no culprit is named: a rank is slower, but no more than one that shares its core can be";
  }
  const std::optional<double> step = median_step(report);
  // Nothing is claimed below what could have been seen.
  const double named =
      report.detection
          ? static_cast<double>(std::max(report.detection->named_ns, report.detection->floor_ns))
      : step ? *step * straggler_floor(compared_ranks(report))
             : 0;
  if (named <= 0) return "no rank holds the others up";
  return fmt::format("no rank holds the others up: none costs {} per step or more",
                     of_step(report, named));
}

class FindingList {
 public:
  FindingList(const Report& report, const TextOptions& options, const Painter& paint)
      : report_(report),
        options_(options),
        width_(static_cast<size_t>(options.width)),
        paint_(paint) {}

  std::string render() {
    text_ = paint_(Style::kStrong, "FINDINGS") + '\n';
    const Verdicts verdicts = verdicts_of(report_);
    for (const std::string& good : verdicts.good) item("✓", good, Style::kGood);
    if (!report_.stragglers) item("?", why_no_stragglers(), Style::kPlain);
    if (report_.findings) {
      list();
    } else {
      item("?", "not computed from this run", Style::kPlain);
    }
    for (const std::string& unseen : verdicts.unseen) item("·", unseen, Style::kFaint);
    if (is_seen_from_one_rank(report_))
      item("·", "only what concerns this rank; the run's are shown without --rank", Style::kFaint);
    replay();
    return text_;
  }

 private:
  void item(std::string_view mark, std::string_view content, Style style) {
    text_ += paragraph_of(fmt::format("  {}  ", mark), printable(content), kTextIndent, width_,
                          paint_, style);
  }
  void paragraph(const std::string& lead, std::string_view content, size_t indent, Style style) {
    text_ += paragraph_of(lead, printable(content), indent, width_, paint_, style);
  }

  [[nodiscard]] std::string why_no_stragglers() const {
    return fmt::format("stragglers: not known, {}",
                       report_.run.ranks == 1 ? "there is one rank, and nobody to compare it with"
                                              : "the ranks of this run cannot be compared");
  }

  void list();
  void cause(const Finding& finding, size_t number);
  void symptoms(const FindingNode& node);
  void replay();

  const Report& report_;
  const TextOptions& options_;
  size_t width_;
  const Painter& paint_;
  std::string text_;
};

void FindingList::cause(const Finding& f, size_t number) {
  const Style style = f.severity == FindingSeverity::kCritical ? Style::kBad
                      : f.severity == FindingSeverity::kWarn   ? Style::kWarn
                                                               : Style::kStrong;
  const std::string cause = f.cause == "unknown" ? std::string() : printable(f.cause);
  const size_t cause_width = display_width(cause) + (cause.empty() ? 0 : 2);
  const std::vector<std::string> title =
      wrapped(printable(priced_title(f, median_step(report_))),
              std::max<size_t>(30, width_ - kTextIndent - cause_width));
  const std::string indent(kTextIndent, ' ');
  for (size_t i = 0; i < title.size(); ++i) {
    const std::string lead = i == 0 ? pad_left(fmt::format("{}  ", number), kTextIndent) : indent;
    const size_t used = kTextIndent + display_width(title[i]);
    std::string end;
    if (i == 0 && !cause.empty())
      end = pad_left(cause, std::max(cause_width, width_ > used ? width_ - used : 0));
    text_ += lead + paint_(style, title[i]) + paint_(Style::kFaint, end) + '\n';
  }
  if (!f.detail.empty()) paragraph(indent, f.detail, kTextIndent, Style::kPlain);
  if (!f.advice.empty()) paragraph(indent + "→ ", f.advice, kTextIndent + 2, Style::kPlain);
}

void FindingList::symptoms(const FindingNode& node) {
  const size_t shown = std::min(kMostSymptoms, node.symptoms.size());
  const std::string indent(kTextIndent, ' ');
  for (size_t i = 0; i < shown; ++i) {
    const size_t index = node.symptoms[i];
    const std::string lead = fmt::format("{}└ {}  ", indent, index + 1);
    paragraph(lead, "symptom: " + priced_title((*report_.findings)[index], median_step(report_)),
              display_width(lead), Style::kFaint);
  }
  if (shown == node.symptoms.size()) return;
  std::string more;
  for (size_t i = shown; i < node.symptoms.size(); ++i)
    more += fmt::format("{}{}", more.empty() ? "" : ", ", node.symptoms[i] + 1);
  paragraph(
      indent + "└ ",
      fmt::format("and {}: {}",
                  plural(static_cast<int64_t>(node.symptoms.size() - shown), "more symptom"), more),
      kTextIndent + 2, Style::kFaint);
}

void FindingList::list() {
  const std::vector<FindingNode> nodes = finding_tree(*report_.findings);
  const size_t shown = std::min(nodes.size(), static_cast<size_t>(std::max(0, options_.top)));
  for (size_t i = 0; i < shown; ++i) {
    cause((*report_.findings)[nodes[i].index], nodes[i].index + 1);
    symptoms(nodes[i]);
  }
  if (const size_t more = nodes.size() - shown; more > 0) {
    text_ += paint_(Style::kFaint, fmt::format("  …  and {} more (--top {})", more, nodes.size())) +
             '\n';
  }
}

// What prices rest on: only said where it weakens them.
void FindingList::replay() {
  if (!report_.replay || report_.replay->accepted) return;
  item(
      "!",
      fmt::format(
          "prices are uncertain: "
          "replayed without any change, this run comes out {} off per step, and 5 % is the most that is trusted",
          format_share(report_.replay->identity_error)),
      Style::kWarn);
}

}  // namespace

Verdicts verdicts_of(const Report& report) {
  Verdicts verdicts;
  // What concerns other ranks was left out: nothing can be said of the run.
  if (is_seen_from_one_rank(report)) return verdicts;
  const std::optional<double> step = median_step(report);
  if (report.findings && !has_dear_finding(report) && !report.hang && step) {
    verdicts.good.push_back(fmt::format("nothing was found that costs {} per step or more",
                                        of_step(report, *step * kWorthDoing)));
  }
  if (!report.stragglers) return verdicts;
  if (report.stragglers->empty() && !report.hang)
    verdicts.good.push_back(no_straggler_text(report));
  const bool two = compared_ranks(report) == 2;
  const std::string alike = fmt::format("what slows {} alike", two ? "both ranks" : "all ranks");
  std::string unseen = alike + " would not be seen";
  if (report.detection && report.detection->floor_ns > 0) {
    unseen = fmt::format("a rank's lasting own delay below {} per step would not be seen, nor {}",
                         of_step(report, static_cast<double>(report.detection->floor_ns)), alike);
  }
  const bool said = report.findings && std::ranges::any_of(*report.findings, [](const Finding& f) {
                      return f.detail.find("two ranks") != std::string::npos;
                    });
  if (two && !said)
    unseen += "; of two ranks one is slow only against the other, which may be the fast one";
  verdicts.unseen.push_back(std::move(unseen));
  return verdicts;
}

std::string finding_section(const Report& report, const TextOptions& options,
                            const Painter& paint) {
  return FindingList(report, options, paint).render();
}

}  // namespace dprof::analyzer
