// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analyzer/hang/last_words.h"
#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "analyzer/render/sections.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostOuterEvents = 3;
constexpr size_t kMostHungRanks = 12;

// "3.21", "22.0", "1,234".
std::string rate_text(double rate) {
  return rate >= 99.95 ? format_count(std::llround(rate)) : fmt::format("{:#.3g}", rate);
}

// A non-zero share is never shown as 0. CUPTI's cost per launch is not measured during recording
// (docs/gpu_results.md).
std::string cost_text(const Report& report) {
  const std::optional<Overhead>& overhead = report.recording.overhead;
  if (!overhead || !overhead->share) return "cost unknown";
  const bool tiny = *overhead->share > 0 && *overhead->share < 0.0005;
  return fmt::format("cost {}{}", tiny ? "<0.1 %" : format_share(*overhead->share),
                     report.gpu_rows ? ", without that of CUPTI" : "");
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

// The source of the steps, unless they were marked; micro-steps; additional contents of some steps.
std::string steps_text(const Report& report) {
  if (!report.run.steps) return {};
  const StepsInfo& steps = *report.run.steps;
  const StepUnit unit = unit_of(report);
  std::vector<std::string> parts;
  if (steps.source == schema::StepSource::kInferred) parts.emplace_back("inferred from repetition");
  if (steps.source == schema::StepSource::kOptimizer) parts.emplace_back("from the optimizer");
  if (steps.micro_steps && *steps.micro_steps > 1)
    parts.push_back(fmt::format("{} micro-steps each", *steps.micro_steps));
  for (size_t i = 0; i < std::min(kMostOuterEvents, steps.outer.size()); ++i) {
    const OuterEvent& event = steps.outer[i];
    parts.push_back(fmt::format("{} in step {} (+{})",
                                event.kind == "other" ? "something else" : event.kind, event.step,
                                unit.text(static_cast<double>(event.extra_ns))));
  }
  if (steps.outer.size() > kMostOuterEvents)
    parts.push_back(fmt::format("{} more", steps.outer.size() - kMostOuterEvents));
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

std::vector<Span> recording_text(const Report& report) {
  const int64_t lost = lost_records(report.recording);
  return {{plural(report.recording.events, "event") + ", "},
          {fmt::format("{} lost", format_count(lost)), lost > 0 ? Style::kBad : Style::kPlain},
          {", " + cost_text(report)}};
}

// The position of the hang if the trace ended before a reason was found.
std::string where_it_hangs(const Hang& hang) {
  const std::string where = words_of_call(hang);
  std::string sentence = hang.waiting.empty()
                             ? fmt::format("No rank finished {}.", where)
                             : fmt::format("{} waited in {} when the trace ended.",
                                           capitalised(ranks_text(hang.waiting)), where);
  if (hang.culprits.empty()) return sentence;
  const std::string_view did = hang.state == "dead"       ? "ended before"
                               : hang.state == "mismatch" ? "called something else"
                                                          : "never came";
  return sentence + fmt::format(" {} {}.", capitalised(ranks_text(hang.culprits)), did);
}

std::string hung_rank_text(const HungRank& rank) {
  std::string said = rank.state;
  std::ranges::replace(said, '_', ' ');
  if (rank.since_ns) said += fmt::format(", silent for {}", format_duration({*rank.since_ns}));
  return rank.last.empty() ? said : said + "; " + rank.last;
}

struct AlikeRanks {
  std::string said;
  std::vector<int> ranks;
};

// Too many to list individually: ranks with equal descriptions share a paragraph.
std::vector<AlikeRanks> alike_ranks(const Hang& hang) {
  std::vector<AlikeRanks> all;
  std::map<std::string, size_t> known;
  for (const HungRank& rank : hang.ranks) {
    std::string said = hung_rank_text(rank);
    const auto [at, is_new] = known.try_emplace(said, all.size());
    if (!is_new && hang.ranks.size() > kMostHungRanks) {
      all[at->second].ranks.push_back(rank.rank);
    } else {
      all.push_back({std::move(said), {rank.rank}});
    }
  }
  for (AlikeRanks& one : all) std::ranges::sort(one.ranks);
  return all;
}

}  // namespace

Document head_section(const Report& report, const TextOptions& /*options*/) {
  const RunInfo& run = report.run;
  FactList head{{{.label = run.name.empty() ? "run" : run.name,
                  .said = {{run_text(report)}},
                  .style = Style::kStrong}}};
  if (has_failed(report)) {
    head.facts.push_back({.label = "FAILED",
                          .said = {{report.ending->verdict.title, Style::kBad}},
                          .fit = Fact::Fit::kWrapped,
                          .style = Style::kBad});
  }
  head.facts.push_back({.label = "clock", .said = {{clock_text(report)}}});
  head.facts.push_back({.label = "recording", .said = recording_text(report)});
  const auto add = [&](const char* label, const std::string& said, Fact::Fit fit) {
    if (!said.empty()) head.facts.push_back({.label = label, .said = {{said}}, .fit = fit});
  };
  add("steps", steps_text(report), Fact::Fit::kWhole);
  add("memory", memory_line(report), Fact::Fit::kWrapped);
  add("command", run.command, Fact::Fit::kCut);
  return {{head}};
}

std::string hang_sentence(const Hang& hang) {
  if (hang.reason.empty()) return where_it_hangs(hang);
  return capitalised(hang.reason) + (hang.reason.ends_with('.') ? "" : ".");
}

Document hang_section(const Report& report, const TextOptions& options) {
  Document document;
  if (!report.hang) {
    if (is_asked_for(options, Section::kHang))
      document.add(SingleLine{{{"HANG     no rank waits for another that does not come"}}});
    return document;
  }
  const Hang& hang = *report.hang;
  document.add(Heading{.title = "HANG", .remark = hang.state, .style = Style::kBad});
  document.add(Paragraph{.text = hang_sentence(hang)});
  int64_t more = 0;
  const std::vector<AlikeRanks> alike = alike_ranks(hang);
  for (size_t i = 0; i < alike.size(); ++i) {
    if (i >= kMostHungRanks) {
      more += static_cast<int64_t>(alike[i].ranks.size());
      continue;
    }
    document.add(Paragraph{.text = alike[i].said,
                           .lead = alike[i].ranks.size() == 1
                                       ? fmt::format("  rank {:<5}", alike[i].ranks.front())
                                       : fmt::format("  {}: ", ranks_text(alike[i].ranks))});
  }
  if (more > 0) document.add_more(plural(more, "rank") + " (--format json)");
  return document;
}

Document output_section(const Report& report, const TextOptions& options) {
  if (!report.ending || !has_failed(report)) return {};
  const auto& ranks = report.ending->ranks;
  const auto rank = std::ranges::find_if(
      ranks, [](const EndedRank& one) { return one.first && !one.output.empty(); });
  if (rank == ranks.end()) return {};
  std::vector<std::string_view> lines;  // without C++ frames, which contain addresses
  for (const std::string& line : rank->output) {
    if (!line.empty() && line.find("frame #") == std::string::npos) lines.emplace_back(line);
  }
  const size_t shown = std::min(lines.size(), static_cast<size_t>(options.top));
  if (shown == 0) return {};
  Document document;
  document.add(Heading{.title = "STANDARD ERROR",
                       .remark = fmt::format("rank {}, its last {}", rank->rank,
                                             plural(static_cast<int64_t>(shown), "line"))});
  for (const std::string_view line : std::span(lines).last(shown))
    document.add(SingleLine{{{fmt::format("  {}", line)}}});
  return document;
}

}  // namespace dprof::analyzer
