// SPDX-License-Identifier: Apache-2.0
// How far the figures can be trusted: clocks, the replay behind the prices, unknowns.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "analyzer/render/sections.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostHosts = 16;
constexpr size_t kMostParts = 8;
constexpr size_t kMostLosses = 8;
constexpr size_t kLongestSpeakers = 40;

std::string bound_text(const std::optional<int64_t>& bound) {
  return bound ? "±" + format_duration({*bound}) : "unknown";
}

// The least accurate ones first, if not all can be shown.
std::vector<HostClock> shown_hosts(const Clock& clock) {
  std::vector<HostClock> hosts = clock.hosts;
  if (hosts.size() <= kMostHosts) return hosts;
  std::ranges::stable_sort(hosts, std::greater(),
                           [](const HostClock& host) { return host.bound_ns.value_or(INT64_MAX); });
  hosts.resize(kMostHosts);
  return hosts;
}

Table table_of_hosts(const std::vector<HostClock>& hosts) {
  Table table;
  table.add_columns(Align::kLeft, {"host"});
  table.add_columns(Align::kRight, {"ahead by", "drift", "bound", "likely", "probes"});
  table.add_columns(Align::kLeft, {"by"});
  for (const HostClock& host : hosts) {
    const bool known = host.bound_ns.has_value();
    std::string method = host.method;
    if (host.resets > 0) method += fmt::format(", {} of the clock", plural(host.resets, "step"));
    table.add_row(
        {host.host, known ? format_duration({host.offset_ns}) : "",
         known ? fmt::format("{:.2f} ppm", static_cast<double>(host.drift_ppb) / 1000) : "",
         bound_text(host.bound_ns), host.likely_ns ? format_duration({*host.likely_ns}) : "",
         host.probes > 0 ? format_count(host.probes) : "", method});
  }
  return table;
}

std::string unreliable_text(const DeviceClock& device) {
  return fmt::format(
      "rank {}, device {}: its times are unreliable: {} of {} began before they were launched{}",
      device.rank, device.device, format_count(device.before_launch),
      plural(device.kernels, "kernel"),
      device.residual_ns
          ? ", the fit to the host's clock leaves " + format_duration({*device.residual_ns})
          : std::string());
}

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
    sentences.push_back(fmt::format("evening out the last stage alone would recover {} of that",
                                    format_share(*s.last_stage_share)));
  }
  if (s.worst_ranks_share && report.run.ranks > 1) {
    sentences.push_back(fmt::format("evening out the worst 3 % of the ranks would recover {}",
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

// The catalogue's advice; "" if the text contains one, or the code's advice is of no use.
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

// Groups diagnostics by code, the most severe first.
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

// Diagnostics of several ranks with the same text and count: "rank 3: 24 entries".
struct SaidOfRanks {
  std::vector<int> ranks;  // empty: it does not begin with one
  std::string text;        // without the rank
  int64_t count = 0;       // of each
};
std::vector<SaidOfRanks> by_words(std::span<const Diagnostic> diagnostics) {
  std::vector<SaidOfRanks> all;
  std::map<std::pair<std::string, int64_t>, size_t> known;
  for (const Diagnostic& d : diagnostics) {
    SaidOfRanks said{.ranks = {}, .text = d.text.empty() ? d.code : d.text, .count = d.count};
    constexpr std::string_view kRank = "rank ";
    if (said.text.starts_with(kRank)) {
      int rank = 0;
      const char* const end = said.text.data() + said.text.size();
      const auto [after, error] = std::from_chars(said.text.data() + kRank.size(), end, rank);
      if (error == std::errc() && std::string_view(after, end).starts_with(": ")) {
        said.text.erase(0, static_cast<size_t>(after - said.text.data()) + 2);
        said.ranks = {rank};
        const auto [first, is_new] = known.try_emplace({said.text, said.count}, all.size());
        if (!is_new) {
          all[first->second].ranks.push_back(rank);
          continue;
        }
      }
    }
    all.push_back(std::move(said));
  }
  return all;
}

// Texts of diagnostics of one kind, with their counts unless the texts contain them.
std::string joined(std::span<const Diagnostic> diagnostics) {
  constexpr size_t kMost = 4;
  const std::vector<SaidOfRanks> all = by_words(diagnostics);
  std::string text;
  for (const SaidOfRanks& said : std::span(all).first(std::min(kMost, all.size()))) {
    if (!text.empty()) text += "; ";
    if (!said.ranks.empty()) {
      text += cut_to(ranks_text(said.ranks), kLongestSpeakers);
      text += said.ranks.size() > 1 ? ", each: " : ": ";
    }
    text += said.text;
    const bool counted = said.count <= 1 ||
                         said.text.find(fmt::to_string(said.count)) != std::string::npos ||
                         said.text.find(format_count(said.count)) != std::string::npos;
    if (!counted) text += fmt::format(" (×{})", format_count(said.count));
  }
  if (all.size() > kMost) text += fmt::format("; and {} more", all.size() - kMost);
  return text;
}

// What was not computed, by name; the reasons are shown on request.
std::string not_computed_text(std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> names;
  std::erase_if(diagnostics, [&](const Diagnostic& d) {
    if (d.code != "not_computed") return false;
    std::string name = d.text.substr(0, d.text.find(':'));
    if (std::ranges::count(names, name) == 0) names.push_back(std::move(name));
    return true;
  });
  return names.empty()
             ? ""
             : fmt::format("not computed: {} (why: --sections unknown)", fmt::join(names, ", "));
}

std::string loss_text(const Loss& loss) {
  std::string reason(word_of(loss.reason));
  std::ranges::replace(reason, '_', ' ');
  return fmt::format("rank {}: {} lost ({}, {})", loss.rank, plural(loss.count, "record"),
                     word_of(loss.source), reason);
}

// A problem, or only a note.
Item unknown_item(const std::string& text, bool info) {
  if (info) return {.text = text, .style = Style::kFaint};
  return {.text = text, .mark = "!", .mark_style = Style::kBad};
}

}  // namespace

bool has_clock_trouble(const Report& report) {
  if (!report.clock) return false;
  const Clock& clock = *report.clock;
  return clock.violations > 0 ||
         std::ranges::any_of(clock.hosts, [](const HostClock& h) { return !h.bound_ns; }) ||
         std::ranges::any_of(clock.devices, [](const DeviceClock& d) { return !d.reliable; });
}

Document clock_section(const Report& report, const TextOptions& /*options*/) {
  if (!report.clock) return {};
  const Clock& clock = *report.clock;
  const auto reliable = [](const DeviceClock& device) { return device.reliable; };
  if (clock.hosts.size() < 2 && clock.violations == 0 &&
      std::ranges::all_of(clock.devices, reliable))
    return {};
  const std::vector<HostClock> hosts = shown_hosts(clock);
  Document document = titled_table(
      "CLOCKS", fmt::format("against {} in mid-recording, with the largest bound", clock.reference),
      table_of_hosts(hosts));
  if (hosts.size() < clock.hosts.size()) {
    document.add_more(fmt::format("{} hosts with smaller bounds (--format json has them all)",
                                  clock.hosts.size() - hosts.size()));
  }
  if (clock.checked > 0) {
    document.add(Paragraph{
        .text = fmt::format("{} of {} ended on one rank before they had begun on all",
                            format_count(clock.violations), plural(clock.checked, "collective"))});
  }
  for (const DeviceClock& device : clock.devices) {
    if (!device.reliable) document.add_item({.text = unreliable_text(device), .mark = "!"});
  }
  return document;
}

std::string identity_text(const Report& report) {
  if (!report.replay) return {};
  const Replay& r = *report.replay;
  std::string text = fmt::format("the recorded {}, replayed unchanged, are off by {} per step",
                                 r.unit.empty() ? "steps" : r.unit, format_share(r.identity_error));
  if (r.steps > 0) text += fmt::format(", over {}", plural(r.steps, "step"));
  if (!r.accepted) text += "; the limit is 5 %";
  if (r.unexplained > 0)
    text += fmt::format("; {} of a step has no recorded cause", format_share(r.unexplained));
  return text;
}

bool has_slowdown(const Report& report) { return report.replay && report.replay->slowdown; }

Document replay_section(const Report& report, const TextOptions& options) {
  if (!report.replay) return {};
  std::vector<std::string> sentences;
  if (report.replay->slowdown) sentences = slowdown_sentences(report, *report.replay->slowdown);
  if (is_asked_for(options, Section::kReplay)) sentences.push_back(identity_text(report));
  if (sentences.empty()) return {};
  Document document{{Heading{.title = "REPLAY"}}};
  for (std::string& sentence : sentences) document.add(Paragraph{.text = std::move(sentence)});
  return document;
}

Document unknown_section(const Report& report, const TextOptions& options) {
  const Recording& recording = report.recording;
  Document document{{Heading{.title = "WHAT IS NOT KNOWN"}}};
  std::vector<Diagnostic> diagnostics = recording.diagnostics;
  // The list of losses says more than the diagnostic about them.
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
  for (size_t i = 0; i < std::min(kMostLosses, losses.size()); ++i) {
    const bool last = i + 1 == std::min(kMostLosses, losses.size());
    std::string content = loss_text(losses[i]);
    if (last && i + 1 < losses.size())
      content += fmt::format("; and {} more such lines", losses.size() - i - 1);
    document.add_item(unknown_item(with_hint(content, last ? loss_hint : ""), false));
  }
  std::string not_computed;
  if (!is_asked_for(options, Section::kUnknown)) {
    not_computed = not_computed_text(diagnostics);
    // Already covered by the findings.
    if (report.stragglers && !is_seen_from_one_rank(report)) {
      std::erase_if(diagnostics, [](const Diagnostic& d) {
        return d.code == "two_ranks" || d.code == "ranks_alike";
      });
    }
  }
  for (const std::vector<Diagnostic>& kind : by_kind(diagnostics)) {
    const bool info = kind.front().severity == schema::Severity::kInfo;
    // Unrelated ones are listed separately.
    const size_t at_once = kind.front().code == "not_computed" ? 1 : kind.size();
    for (size_t at = 0; at < kind.size(); at += at_once) {
      const std::string content = joined(std::span(kind).subspan(at, at_once));
      document.add_item(unknown_item(with_hint(content, hint_of(kind.back())), info));
    }
  }
  if (!not_computed.empty()) document.add_item(unknown_item(not_computed, true));
  return document.blocks.size() > 1 ? document : Document();
}

}  // namespace dprof::analyzer
