// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostParts = 8;

std::string times_text(double slowdown) { return fmt::format("{:.3f}", slowdown); }

// "stage 4 of 4 1.162, stage 1 of 4 1.020": the slowest first.
std::string parts_text(std::vector<PartSlowdown> parts) {
  std::ranges::stable_sort(parts, std::greater(), &PartSlowdown::slowdown);
  std::string text;
  for (size_t i = 0; i < std::min(kMostParts, parts.size()); ++i) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", parts[i].part,
                        times_text(parts[i].slowdown));
  }
  if (parts.size() > kMostParts) text += fmt::format(", and {} more", parts.size() - kMostParts);
  return text;
}

std::vector<std::string> slowdown_sentences(const Report& report, const Slowdown& s) {
  const StepUnit unit(static_cast<double>(s.step_ns));
  std::vector<std::string> sentences = {
      fmt::format("a step takes {} times as long as with even operations: {} against {}",
                  times_text(s.slowdown), unit.text(static_cast<double>(s.step_ns)),
                  unit.text(static_cast<double>(s.ideal_ns)))};
  if (s.last_stage_share) {
    sentences.push_back(fmt::format("an even last stage alone would win back {} of that",
                                    format_share(*s.last_stage_share)));
  }
  if (s.worst_ranks_share && report.run.ranks > 1) {
    sentences.push_back(fmt::format("the worst 3 % of the ranks made even would win back {}",
                                    format_share(*s.worst_ranks_share)));
  }
  const auto list = [&](std::string_view what, const std::vector<PartSlowdown>& parts) {
    if (!parts.empty())
      sentences.push_back(fmt::format("by {}, all else even: {}", what, parts_text(parts)));
  };
  list("stage", s.stages);
  list("replica", s.replicas);
  list("operation", s.operations);
  return sentences;
}

}  // namespace

std::string identity_text(const Report& report) {
  if (!report.replay) return {};
  const Replay& r = *report.replay;
  std::string text = fmt::format("the recorded {}, replayed unchanged, come out {} off per step",
                                 r.unit.empty() ? "steps" : r.unit, format_share(r.identity_error));
  if (r.steps > 0) text += fmt::format(", over {}", plural(r.steps, "step"));
  if (!r.accepted) text += "; 5 % is the most that is trusted";
  if (r.unexplained > 0)
    text += fmt::format("; no recorded cause explains {} of a step", format_share(r.unexplained));
  return text;
}

bool has_slowdown(const Report& report) { return report.replay && report.replay->slowdown; }

std::string replay_section(const Report& report, const TextOptions& options, const Painter& paint) {
  if (!report.replay) return {};
  std::vector<std::string> sentences;
  if (report.replay->slowdown) sentences = slowdown_sentences(report, *report.replay->slowdown);
  if (is_asked_for(options, Section::kReplay)) {
    sentences.push_back(identity_text(report));
    for (const WhatIf& w : report.replay->whatif) {
      sentences.push_back(fmt::format("{}: a step would take {}, {} less (± {})", w.change,
                                      format_duration({w.step_ns}), format_duration({w.gain_ns}),
                                      format_duration({w.bound_ns})));
    }
  }
  if (sentences.empty()) return {};
  std::string text = paint(Style::kStrong, "REPLAY") + '\n';
  for (const std::string& sentence : sentences) {
    text += paragraph_of("  ", printable(sentence), kIndent, static_cast<size_t>(options.width),
                         paint, Style::kPlain);
  }
  return text;
}

}  // namespace dprof::analyzer
