// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyzer/render/finding_tree.h"
#include "analyzer/render/findings.h"
#include "analyzer/render/layout.h"
#include "analyzer/render/markdown_words.h"
#include "analyzer/render/mean_step.h"
#include "analyzer/render/memory_tables.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr double kLeastMarkdownShare = 0.001;  // of a step

class MarkdownReport {
 public:
  MarkdownReport(const Report& report, const MarkdownOptions& options)
      : report_(report),
        top_(static_cast<size_t>(std::max(1, options.top))),
        step_ns_(median_step(report)) {}

  std::string render() {
    header();
    hang();
    findings();
    breakdown();
    collectives();
    unknown();
    return std::move(text_);
  }

 private:
  void line(std::string_view content = {}) { text_ += fmt::format("{}\n", content); }
  void row(const std::vector<std::string>& cells) {
    line(fmt::format("| {} |", fmt::join(cells, " | ")));
  }
  // Folded: a line to click on. Blank lines, for what is inside to be Markdown.
  void fold(std::string_view summary) {
    line(fmt::format("\n<details><summary>{}</summary>\n", summary));
  }
  void unfold() { line("\n</details>"); }

  void header();
  void hang();
  void findings();
  void verdicts();
  void finding_row(size_t index, bool symptom);
  void finding_details(const FindingNode& node);
  void breakdown();
  void collectives();
  void unknown();

  const Report& report_;
  size_t top_;
  std::optional<double> step_ns_;
  std::string text_;
};

void MarkdownReport::header() {
  const RunInfo& run = report_.run;
  line(fmt::format("### dprof: {}", escaped_markdown(run.name.empty() ? "run" : run.name)));
  line();
  std::string about = fmt::format("{} on {}", plural(run.ranks, "rank"), plural(run.hosts, "host"));
  if (run.steps) {
    about += fmt::format(", {} ({} steady), median step **{}**", plural(run.steps->count, "step"),
                         format_count(steady_steps(report_).value_or(0)),
                         format_duration({run.steps->median_ns}));
  } else {
    about += ", no steps found";
  }
  about += fmt::format("; {} recorded, {} lost", plural(report_.recording.events, "event"),
                       format_count(lost_records(report_.recording)));
  line(about);
}

void MarkdownReport::hang() {
  if (!report_.hang) return;
  const Hang& hang = *report_.hang;
  line();
  line(fmt::format("**Hang ({})** in {} of {}: culprits {}; waiting {}. {}", hang.state,
                   escaped_markdown(word_of(hang.function)), escaped_markdown(hang.communicator),
                   hang.culprits.empty() ? "unknown" : rank_list(hang.culprits),
                   hang.waiting.empty() ? "none" : rank_list(hang.waiting),
                   escaped_markdown(hang.reason)));
}

// What was found good, and what could not have been seen.
void MarkdownReport::verdicts() {
  const Verdicts verdicts = verdicts_of(report_);
  if (verdicts.good.empty() && verdicts.unseen.empty()) return;
  line();
  for (const std::string& good : verdicts.good) line("- ✓ " + escaped_markdown(good));
  for (const std::string& unseen : verdicts.unseen) line("- " + escaped_markdown(unseen));
}

void MarkdownReport::finding_row(size_t index, bool symptom) {
  const Finding& f = (*report_.findings)[index];
  const TitleParts parts = parts_of_title(f, step_ns_);
  std::string title = escaped_markdown(parts.heading);
  if (!parts.rest.empty()) title += ", " + escaped_markdown(parts.rest);
  const std::string share =
      f.cost_ns && step_ns_ ? format_share(static_cast<double>(*f.cost_ns) / *step_ns_) : "";
  row({fmt::to_string(index + 1), symptom ? "↳ " + title : fmt::format("**{}**", title),
       f.cost_ns ? format_ms({*f.cost_ns}) : "", share, escaped_markdown(f.cause),
       symptom ? "symptom" : std::string(word_of(f.severity))});
}

void MarkdownReport::finding_details(const FindingNode& node) {
  const Finding& f = (*report_.findings)[node.index];
  if (f.detail.empty() && f.advice.empty() && f.decided_by.empty()) return;
  const TitleParts parts = parts_of_title(f, step_ns_);
  fold(fmt::format("{}: {}", node.index + 1, escaped_html(parts.heading)));
  if (!f.detail.empty()) line(escaped_markdown(f.detail) + '\n');
  if (!f.advice.empty()) line("→ " + escaped_markdown(f.advice) + '\n');
  for (const std::string& sentence : f.decided_by) line("- " + escaped_markdown(sentence));
  for (const std::string& sentence : f.refuted_by)
    line("- would refute it: " + escaped_markdown(sentence));
  unfold();
}

void MarkdownReport::findings() {
  line();
  line("#### Findings");
  if (!report_.findings) {
    line("\nNot computed from this run.");
    return verdicts();
  }
  if (report_.findings->empty()) line("\nNone.");
  const std::vector<FindingNode> nodes = finding_tree(*report_.findings);
  const size_t shown = std::min(top_, nodes.size());
  if (shown > 0) {
    line();
    row({"", "finding", "per step", "share", "cause", "severity"});
    row({"---:", "---", "---:", "---:", "---", "---"});
  }
  for (size_t i = 0; i < shown; ++i) {
    finding_row(nodes[i].index, false);
    for (const size_t symptom : nodes[i].symptoms) finding_row(symptom, true);
  }
  if (shown < nodes.size()) line(fmt::format("\n… and {} more.", nodes.size() - shown));
  verdicts();
  for (size_t i = 0; i < shown; ++i) finding_details(nodes[i]);
}

void MarkdownReport::breakdown() {
  const std::optional<MeanStep> mean = mean_step(report_);
  line();
  line("#### Where a step goes");
  line();
  if (!mean) return line("Not known: no breakdown could be made of this run.");
  const StepUnit unit(mean->wall_ns);
  row({"part", std::string(unit.name()), "share"});
  row({"---", "---:", "---:"});
  for (size_t c = 0; c < kCategories; ++c) {
    const double ns = mean->category_ns[c];
    if (ns < kLeastMarkdownShare * mean->wall_ns) continue;
    row({std::string(title_of(static_cast<Category>(c))), unit.number(ns),
         format_share(ns / mean->wall_ns)});
  }
  row({"**step**", fmt::format("**{}**", unit.number(mean->wall_ns)), ""});
  if (const std::string memory = memory_line(report_); !memory.empty())
    line("\nMemory: " + escaped_markdown(memory));
}

void MarkdownReport::collectives() {
  if (!report_.collectives || report_.collectives->empty()) return;
  std::vector<CollectiveSummary> dearest = *report_.collectives;
  std::ranges::stable_sort(dearest, std::greater(), [](const CollectiveSummary& c) {
    return static_cast<double>(c.n) * static_cast<double>(c.transfer_ns + c.wait_ns);
  });
  fold("Collectives");
  row({"function", "group", "bytes", "calls", "transfer", "wait", "bus bandwidth"});
  row({"---", "---", "---:", "---:", "---:", "---:", "---:"});
  const size_t shown = std::min(top_, dearest.size());
  for (size_t i = 0; i < shown; ++i) {
    const CollectiveSummary& c = dearest[i];
    const bool below = c.bound_ns && c.wait_ns < *c.bound_ns;
    row({escaped_markdown(word_of(c.function)), escaped_markdown(c.communicator),
         c.bytes ? format_bytes(*c.bytes) : "", format_count(c.n), format_duration({c.transfer_ns}),
         below ? "≤ " + format_duration({*c.bound_ns}) : format_duration({c.wait_ns}),
         c.busbw ? format_bytes(static_cast<int64_t>(*c.busbw)) + "/s" : ""});
  }
  if (shown < dearest.size()) line(fmt::format("\n… and {} more.", dearest.size() - shown));
  unfold();
}

void MarkdownReport::unknown() {
  const Recording& recording = report_.recording;
  if (recording.diagnostics.empty()) return;
  fold("What is not known");
  for (const Diagnostic& d : recording.diagnostics)
    line(fmt::format("- {}: {}", escaped_markdown(d.code), escaped_markdown(d.text)));
  unfold();
}

}  // namespace

std::string render_markdown(const Report& report, const MarkdownOptions& options) {
  return MarkdownReport(report, options).render();
}

}  // namespace dprof::analyzer
