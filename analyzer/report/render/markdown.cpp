// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/render/markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyzer/report/render/layout.h"
#include "analyzer/report/render/mean_step.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

// What has a meaning within a line of Markdown or HTML loses it.
std::string escaped(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*_{}[]#|<>~@&";
  std::string safe;
  for (const char c : printable(text)) {
    if (kMarkup.find(c) != std::string_view::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

class MarkdownReport {
 public:
  MarkdownReport(const Report& report, const MarkdownOptions& options)
      : report_(report), top_(static_cast<size_t>(std::max(1, options.top))) {}

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

  void header() {
    const RunInfo& run = report_.run;
    line(fmt::format("### dprof: {}", escaped(run.name.empty() ? "run" : run.name)));
    line();
    std::string about =
        fmt::format("{} on {}", plural(run.ranks, "rank"), plural(run.hosts, "host"));
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

  void hang() {
    if (!report_.hang) return;
    const Hang& hang = *report_.hang;
    line();
    line(fmt::format("**Hang ({})** in {} of {}: culprits {}; waiting {}. {}", hang.state,
                     escaped(word_of(hang.function)), escaped(hang.communicator),
                     hang.culprits.empty() ? "unknown" : rank_list(hang.culprits),
                     hang.waiting.empty() ? "none" : rank_list(hang.waiting),
                     escaped(hang.reason)));
  }

  void findings() {
    line();
    line("#### Findings");
    line();
    if (!report_.findings) return line("Not computed from this run.");
    if (report_.findings->empty()) return line("None.");
    const size_t shown = std::min(top_, report_.findings->size());
    for (size_t i = 0; i < shown; ++i) {
      const Finding& f = (*report_.findings)[i];
      line(fmt::format("{}. **{}** ({}{}{})", i + 1, escaped(f.title), word_of(f.severity),
                       f.cause.empty() ? "" : ", ", escaped(f.cause)));
      if (!f.detail.empty()) line("   " + escaped(f.detail));
      if (!f.advice.empty()) line("   → " + escaped(f.advice));
    }
    if (shown < report_.findings->size())
      line(fmt::format("\n… and {} more.", report_.findings->size() - shown));
  }

  void breakdown() {
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
      if (!(ns > 0)) continue;
      row({std::string(title_of(static_cast<Category>(c))), unit.number(ns),
           format_share(ns / mean->wall_ns)});
    }
    row({"**step**", fmt::format("**{}**", unit.number(mean->wall_ns)), ""});
  }

  void collectives() {
    if (!report_.collectives || report_.collectives->empty()) return;
    std::vector<CollectiveSummary> dearest = *report_.collectives;
    std::ranges::stable_sort(dearest, std::greater(), [](const CollectiveSummary& c) {
      return static_cast<double>(c.n) * static_cast<double>(c.transfer_ns + c.wait_ns);
    });
    line();
    line("#### Collectives");
    line();
    row({"function", "group", "bytes", "calls", "transfer", "wait", "bus bandwidth"});
    row({"---", "---", "---:", "---:", "---:", "---:", "---:"});
    const size_t shown = std::min(top_, dearest.size());
    for (size_t i = 0; i < shown; ++i) {
      const CollectiveSummary& c = dearest[i];
      const bool below = c.bound_ns && c.wait_ns < *c.bound_ns;
      row({escaped(word_of(c.function)), escaped(c.communicator),
           c.bytes ? format_bytes(*c.bytes) : "", format_count(c.n),
           format_duration({c.transfer_ns}),
           below ? "≤ " + format_duration({*c.bound_ns}) : format_duration({c.wait_ns}),
           c.busbw ? format_bytes(static_cast<int64_t>(*c.busbw)) + "/s" : ""});
    }
    if (shown < dearest.size()) line(fmt::format("\n… and {} more.", dearest.size() - shown));
  }

  void unknown() {
    const Recording& recording = report_.recording;
    if (recording.diagnostics.empty()) return;
    line();
    line("<details><summary>What is not known</summary>");
    line();
    for (const Diagnostic& d : recording.diagnostics)
      line(fmt::format("- {}: {}", escaped(d.code), escaped(d.text)));
    line();
    line("</details>");
  }

  const Report& report_;
  size_t top_;
  std::string text_;
};

}  // namespace

std::string render_markdown(const Report& report, const MarkdownOptions& options) {
  return MarkdownReport(report, options).render();
}

}  // namespace dprof::analyzer
