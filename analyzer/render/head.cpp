// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "analyzer/render/memory_tables.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kLabelWidth = 13;
constexpr size_t kMostOuterEvents = 3;
constexpr size_t kMostHungRanks = 12;

// "3.21", "22.0", "1,234".
std::string rate_text(double rate) {
  return rate >= 99.95 ? format_count(std::llround(rate)) : fmt::format("{:#.3g}", rate);
}

// A share that is there is never shown as 0.
std::string cost_text(const std::optional<Overhead>& overhead) {
  if (!overhead || !overhead->share) return "cost not known";
  if (*overhead->share > 0 && *overhead->share < 0.0005) return "cost <0.1 %";
  return "cost " + format_share(*overhead->share);
}

std::string capitalised(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string run_text(const Report& report) {
  const RunInfo& run = report.run;
  std::string text = plural(run.ranks, "rank");
  if (run.world_size && *run.world_size > run.ranks) {
    text = fmt::format("{} of {}", format_count(run.ranks), plural(*run.world_size, "rank"));
  }
  text += fmt::format(" on {}   ", plural(run.hosts, "host"));
  if (!run.steps) return text + "no steps found";
  text += fmt::format("{} ({} steady)", plural(run.steps->count, "step"),
                      format_count(steady_steps(report).value_or(0)));
  if (run.steps->median_ns > 0) {
    text +=
        fmt::format("   {} steps/s", rate_text(1e9 / static_cast<double>(run.steps->median_ns)));
  }
  return text;
}

// Where the steps come from, if not from marks; micro-steps; what some steps hold besides.
std::string steps_text(const Report& report) {
  if (!report.run.steps) return {};
  const StepsInfo& steps = *report.run.steps;
  const StepUnit unit = unit_of(report);
  std::vector<std::string> parts;
  if (steps.source == schema::StepSource::kInferred) parts.emplace_back("found by what repeats");
  if (steps.source == schema::StepSource::kOptimizer) parts.emplace_back("from the optimizer");
  if (steps.micro_steps && *steps.micro_steps > 1)
    parts.push_back(fmt::format("{} micro-steps each", *steps.micro_steps));
  for (size_t i = 0; i < std::min(kMostOuterEvents, steps.outer.size()); ++i) {
    const OuterEvent& event = steps.outer[i];
    parts.push_back(fmt::format("{} in step {} (+{})",
                                event.kind == "other" ? "something else" : printable(event.kind),
                                event.step, unit.text(static_cast<double>(event.extra_ns))));
  }
  if (steps.outer.size() > kMostOuterEvents)
    parts.push_back(fmt::format("{} more like that", steps.outer.size() - kMostOuterEvents));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string clock_text(const Report& report) {
  if (!report.clock) return "not aligned: times of different ranks are not compared";
  const Clock& clock = *report.clock;
  const std::string violations = clock.violations > 0
                                     ? fmt::format(", {}", plural(clock.violations, "violation"))
                                     : std::string();
  if (clock.hosts.size() == 1) return "one host, one clock" + violations;
  int64_t bound = 0;
  for (const HostClock& host : clock.hosts) {
    if (!host.bound_ns) {
      return fmt::format("{} hosts, not aligned: times across hosts are not compared{}",
                         clock.hosts.size(), violations);
    }
    bound = std::max(bound, *host.bound_ns);
  }
  return fmt::format("{} hosts aligned, bound ±{}{}", clock.hosts.size(), format_duration({bound}),
                     violations);
}

std::string recording_text(const Report& report, const Painter& paint) {
  const int64_t lost = lost_records(report.recording);
  const std::string lost_text = fmt::format("{} lost", format_count(lost));
  return fmt::format("{}, {}, {}", plural(report.recording.events, "event"),
                     lost > 0 ? paint(Style::kBad, lost_text) : lost_text,
                     cost_text(report.recording.overhead));
}

// Where the trace ended before a reason was found.
std::string where_it_hangs(const Hang& hang) {
  const std::string where = hung_operation(hang);
  std::string sentence = hang.waiting.empty()
                             ? fmt::format("Nobody finished {}.", where)
                             : fmt::format("{} waited in {} when the trace ended.",
                                           capitalised(ranks_text(hang.waiting)), where);
  if (hang.culprits.empty()) return sentence;
  const std::string_view did = hang.state == "dead"       ? "ended before"
                               : hang.state == "mismatch" ? "called something else"
                                                          : "never came";
  return sentence + fmt::format(" {} {}.", capitalised(ranks_text(hang.culprits)), did);
}

std::string hung_ranks(const Hang& hang, size_t width, const Painter& paint) {
  std::string text;
  for (size_t i = 0; i < std::min(kMostHungRanks, hang.ranks.size()); ++i) {
    const HungRank& rank = hang.ranks[i];
    std::string said = rank.state;
    std::ranges::replace(said, '_', ' ');
    if (rank.since_ns) said += fmt::format(", silent for {}", format_duration({*rank.since_ns}));
    if (!rank.last.empty()) said += "; " + rank.last;
    const std::string lead = fmt::format("  rank {:<5}", rank.rank);
    text += paragraph_of(lead, printable(said), lead.size(), width, paint, Style::kPlain);
  }
  if (hang.ranks.size() <= kMostHungRanks) return text;
  const auto more = static_cast<int64_t>(hang.ranks.size() - kMostHungRanks);
  return text +
         paint(Style::kFaint, fmt::format("  … and {} (--format json)", plural(more, "rank"))) +
         '\n';
}

}  // namespace

std::string head_section(const Report& report, const TextOptions& options, const Painter& paint) {
  const RunInfo& run = report.run;
  const std::string name = printable(run.name.empty() ? "run" : run.name);
  const std::string gap = display_width(name) + 2 > kLabelWidth ? "   " : "";
  std::string text =
      fmt::format("{}{}{}\n", paint(Style::kStrong, pad_right(name, gap.empty() ? kLabelWidth : 0)),
                  gap, run_text(report));
  const auto labelled = [&](std::string_view label, std::string_view content) {
    text += fmt::format("{}{}\n", paint(Style::kFaint, pad_right(label, kLabelWidth)), content);
  };
  labelled("clock", clock_text(report));
  labelled("recording", recording_text(report, paint));
  if (const std::string said = steps_text(report); !said.empty()) labelled("steps", said);
  if (const std::string said = memory_line(report); !said.empty())
    text += paragraph_of(paint(Style::kFaint, pad_right("memory", kLabelWidth)), printable(said),
                         kLabelWidth, static_cast<size_t>(options.width), paint, Style::kPlain);
  if (run.command.empty()) return text;
  const std::vector<std::string> command =
      wrapped(printable(run.command), static_cast<size_t>(options.width) - kLabelWidth - 2);
  labelled("command", command.front() + (command.size() > 1 ? " …" : ""));
  return text;
}

std::string hung_operation(const Hang& hang) {
  return fmt::format("{}{} of {}", word_of(hang.function),
                     hang.sequence ? fmt::format(" #{}", *hang.sequence) : "",
                     hang.communicator.empty() ? "an unnamed group" : hang.communicator);
}

std::string hang_sentence(const Hang& hang) {
  if (hang.reason.empty()) return where_it_hangs(hang);
  return capitalised(hang.reason) + (hang.reason.ends_with('.') ? "" : ".");
}

std::string hang_section(const Report& report, const TextOptions& options, const Painter& paint) {
  if (!report.hang) return {};
  const Hang& hang = *report.hang;
  const auto width = static_cast<size_t>(options.width);
  return fmt::format("{}   {}\n", paint(Style::kBad, "HANG"), hang.state) +
         paragraph_of("  ", printable(hang_sentence(hang)), 2, width, paint, Style::kPlain) +
         hung_ranks(hang, width, paint);
}

}  // namespace dprof::analyzer
