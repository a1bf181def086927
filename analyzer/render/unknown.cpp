// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/unknown.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostLosses = 8;

// The catalogue's advice; "" where the text has one, or where the code gives none of use.
std::string hint_of(const Diagnostic& diagnostic) {
  if (diagnostic.code == "not_computed" || diagnostic.text.find("hint:") != std::string::npos)
    return {};
  const auto known =
      std::ranges::find(schema::kDiagnostics, diagnostic.code, &schema::DiagnosticKind::code);
  return known == std::end(schema::kDiagnostics) ? std::string() : std::string(known->hint);
}

std::string with_hint(std::string content, std::string_view hint) {
  if (hint.empty()) return content;
  if (content.ends_with('.')) content.pop_back();
  return fmt::format("{}; hint: {}", content, hint);
}

// Diagnostics of one code together, the gravest first.
std::vector<std::vector<Diagnostic>> by_kind(const std::vector<Diagnostic>& diagnostics) {
  std::vector<std::vector<Diagnostic>> kinds;
  for (const Diagnostic& d : diagnostics) {
    const auto known =
        std::ranges::find_if(kinds, [&](const auto& kind) { return kind.front().code == d.code; });
    if (known != kinds.end()) {
      known->push_back(d);
    } else {
      kinds.push_back({d});
    }
  }
  std::ranges::stable_sort(kinds, std::greater(),
                           [](const auto& kind) { return kind.front().severity; });
  return kinds;
}

// Texts of diagnostics of one kind, with their counts where the texts do not give them.
std::string joined(std::span<const Diagnostic> diagnostics) {
  constexpr size_t kMost = 4;
  std::string text;
  for (const Diagnostic& d : diagnostics.first(std::min(kMost, diagnostics.size()))) {
    if (!text.empty()) text += "; ";
    text += d.text.empty() ? d.code : d.text;
    const bool counted = d.count <= 1 ||
                         d.text.find(fmt::to_string(d.count)) != std::string::npos ||
                         d.text.find(format_count(d.count)) != std::string::npos;
    if (!counted) text += fmt::format(" (×{})", format_count(d.count));
  }
  if (diagnostics.size() > kMost) text += fmt::format("; and {} more", diagnostics.size() - kMost);
  return text;
}

// What was not computed, by name; the reasons are for those who ask.
std::string not_computed_text(std::vector<Diagnostic>& diagnostics) {
  std::string names;
  std::set<std::string> seen;
  std::erase_if(diagnostics, [&](const Diagnostic& d) {
    if (d.code != "not_computed") return false;
    const std::string name = d.text.substr(0, d.text.find(':'));
    if (seen.insert(name).second) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    return true;
  });
  return names.empty() ? names : fmt::format("not computed: {} (why: --sections unknown)", names);
}

}  // namespace

std::string unknown_section(const Report& report, const TextOptions& options,
                            const Painter& paint) {
  const Recording& recording = report.recording;
  if (recording.diagnostics.empty() && lost_records(recording) == 0) return {};
  const auto width = static_cast<size_t>(options.width);
  std::string text = paint(Style::kStrong, "WHAT IS NOT KNOWN") + '\n';
  const auto item = [&](bool info, const std::string& content) {
    text += paragraph_of(info ? "  ·  " : paint(Style::kBad, "  !  "), printable(content),
                         kTextIndent, width, paint, info ? Style::kFaint : Style::kPlain);
  };
  std::vector<Diagnostic> diagnostics = recording.diagnostics;
  // The losses themselves say more than the diagnostic that there are some.
  std::string loss_hint;
  std::vector<Loss> losses;
  std::ranges::copy_if(recording.lost, std::back_inserter(losses), is_lost, &Loss::reason);
  if (!losses.empty()) {
    std::erase_if(diagnostics, [&](const Diagnostic& d) {
      if (d.code != "events_lost") return false;
      loss_hint = hint_of(d);
      return true;
    });
  }
  const std::span lost = std::span(losses).first(std::min(kMostLosses, losses.size()));
  for (const Loss& loss : lost) {
    std::string reason(word_of(loss.reason));
    std::ranges::replace(reason, '_', ' ');
    std::string content = fmt::format("rank {}: {} lost ({}, {})", loss.rank,
                                      plural(loss.count, "record"), word_of(loss.source), reason);
    const bool last = &loss == &lost.back();
    if (last && lost.size() < losses.size()) {
      content += fmt::format("; and {} more such lines", losses.size() - lost.size());
    }
    item(false, with_hint(content, last ? loss_hint : ""));
  }
  std::string not_computed;
  if (!is_asked_for(options, Section::kUnknown)) {
    not_computed = not_computed_text(diagnostics);
    // The findings say it already.
    if (report.stragglers && !is_seen_from_one_rank(report)) {
      std::erase_if(diagnostics, [](const Diagnostic& d) {
        return d.code == "two_ranks" || d.code == "ranks_alike";
      });
    }
  }
  if (diagnostics.empty() && lost.empty() && not_computed.empty()) return {};
  for (const std::vector<Diagnostic>& kind : by_kind(diagnostics)) {
    const bool info = kind.front().severity == schema::Severity::kInfo;
    // Those of no use to each other stand apart.
    const size_t at_once = kind.front().code == "not_computed" ? 1 : kind.size();
    for (size_t at = 0; at < kind.size(); at += at_once) {
      const std::string content = joined(std::span(kind).subspan(at, at_once));
      item(info, with_hint(content, hint_of(kind.back())));
    }
  }
  if (!not_computed.empty()) item(true, not_computed);
  return text;
}

}  // namespace dprof::analyzer
