// SPDX-License-Identifier: Apache-2.0
// Sections on collectives: by kind, how much of them is hidden, DDP's buckets, slow groups, and the
// cost of a transfer by its size.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "analyzer/render/sections.h"
#include "analyzer/render/writers.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

std::string or_blank(const std::optional<int64_t>& ns) {
  return ns ? format_duration({*ns}) : std::string();
}

// A wait within the clocks' error is not shown.
std::string wait_text(const CollectiveSummary& c) {
  if (c.bound_ns && c.wait_ns < *c.bound_ns) return "≤ " + format_duration({*c.bound_ns});
  return format_duration({c.wait_ns});
}

Table overlap_table(const std::vector<RankOverlap>& ranks, double steps, const StepUnit& unit) {
  Table table{"rank", "communication", "hidden", "wait", "transfer", "share hidden", "at best"};
  for (const RankOverlap& rank : ranks) {
    const auto per_step = [&](int64_t ns) { return unit.number(static_cast<double>(ns) / steps); };
    table.add_row({fmt::to_string(rank.rank), per_step(rank.communication_ns),
                   per_step(rank.hidden_ns), per_step(rank.exposed_wait_ns),
                   per_step(rank.exposed_transfer_ns), rank.ratio ? format_share(*rank.ratio) : "",
                   rank.best_ratio ? format_share(*rank.best_ratio) : ""});
  }
  return table;
}

std::string contention_text(const Contention& contention) {
  const char* what = contention.of_kernels ? "kernel" : "operator";
  std::string said = fmt::format("{}s take {:.2f} times as long while a collective runs ({})", what,
                                 contention.factor, plural(contention.operators, what));
  if (contention.hidden_cost_ns > 0) {
    said += fmt::format("; that costs {} per step of the hidden time",
                        format_duration({contention.hidden_cost_ns}));
  }
  if (contention.transfer_factor) {
    said += fmt::format("; transfers take {:.2f} times as long during computation",
                        *contention.transfer_factor);
  }
  return said;
}

std::string cap_text(const std::optional<int64_t>& cap) {
  return cap ? fmt::format("{} MiB", *cap / (1 << 20)) : "none";
}

// "node-b (ranks 4–7): in 3 slow groups, 1.42 times as long, 2.10 ms per step, since step 40".
std::string host_text(const SlowHost& host) {
  std::string text =
      fmt::format("{} ({}): in {}, {:.2f} times as long", host.host, ranks_text(host.ranks),
                  plural(host.groups, "slow group"), host.ratio);
  if (host.excess_ns > 0) text += fmt::format(", {} per step", format_duration({host.excess_ns}));
  if (host.onset_step) text += fmt::format(", since step {}", *host.onset_step);
  return text;
}

std::string onset_text(const SlowTransfers& slow) {
  return fmt::format("{}{} of {}: {:.2f} times as long from step {} on, {} more each",
                     word_of(slow.function),
                     slow.bytes ? fmt::format(" of {}", format_bytes(*slow.bytes)) : std::string(),
                     slow.communicator, slow.ratio, slow.step, format_duration({slow.excess_ns}));
}

// What explains the slow groups; what became slower within the run.
std::vector<std::string> slow_sentences(const SlowLinks& slow) {
  std::vector<std::string> sentences;
  for (const SlowHost& host : slow.hosts) sentences.push_back(host_text(host));
  const bool shared = slow.hosts.empty() && !slow.suspects.empty();
  if (shared)
    sentences.push_back(fmt::format("what they share: {}", fmt::join(slow.suspects, ", ")));
  if (!shared && (slow.within_only || (slow.hosts.empty() && !slow.groups.empty()))) {
    sentences.emplace_back(
        slow.within_only ? "somewhere within these groups; the recorded groups do not show where"
                         : "no single link or host explains all of them");
  }
  for (const SlowTransfers& onset : slow.onsets) sentences.push_back(onset_text(onset));
  return sentences;
}

// "tensor" from "tensor (12)", the name of one group among many.
std::string_view family_of(std::string_view communicator) {
  const size_t bracket = communicator.rfind(" (");
  const bool numbered =
      bracket != std::string_view::npos && communicator.ends_with(')') &&
      communicator.find_first_not_of("0123456789", bracket + 2) == communicator.size() - 1;
  return numbered ? communicator.substr(0, bracket) : communicator;
}

// Equal calls of groups of one family with similar cost share a line: that of the most expensive
// group. A group that is cheaper by more than a fifth has a line of its own.
std::vector<CollectiveSummary> without_alike(std::span<const CollectiveSummary> by_cost) {
  constexpr double kAlike = 0.8;
  struct Line {
    CollectiveSummary first;
    size_t others = 0;
  };
  const auto time_of = [](const CollectiveSummary& c) {
    return static_cast<double>(c.transfer_ns + c.wait_ns);
  };
  std::vector<Line> lines;
  std::map<std::tuple<std::string_view, schema::Function, std::optional<int64_t>, int64_t>, size_t>
      last_of;
  for (const CollectiveSummary& one : by_cost) {
    const std::tuple key(family_of(one.communicator), one.function, one.bytes, one.n);
    const auto last = last_of.find(key);
    if (last != last_of.end() && time_of(one) >= kAlike * time_of(lines[last->second].first)) {
      ++lines[last->second].others;
      continue;
    }
    last_of[key] = lines.size();
    lines.push_back({one});
  }
  std::vector<CollectiveSummary> shown;
  for (Line& line : lines) {
    if (line.others > 0) line.first.communicator += fmt::format(" and {} alike", line.others);
    shown.push_back(std::move(line.first));
  }
  return shown;
}

void add_slow_groups(Document& document, const SlowLinks& slow, int top) {
  Heading heading{.title = "SLOW LINKS"};
  if (!slow.groups.empty()) heading.remark = "against comparable groups";
  document.add(heading);
  if (!slow.groups.empty()) {
    const size_t shown = shown_of(slow.groups.size(), top);
    Table table;
    table.add_columns(Align::kLeft, {"group", "ranks"});
    table.add_columns(Align::kRight, {"slower", "windows"});
    for (const SlowGroupInfo& group : std::span(slow.groups).first(shown)) {
      table.add_row({cut_to(printable(group.communicator), 36), cut_to(rank_list(group.ranks), 32),
                     fmt::format("{:.2f} times", group.ratio), format_count(group.windows)});
    }
    document.add(std::move(table));
    say_more(document, shown, slow.groups.size());
  }
  for (std::string& said : slow_sentences(slow)) document.add(Paragraph{.text = std::move(said)});
}

void add_fits(Document& document, std::span<const LinkFit> fits) {
  document.add(Heading{.title = "LINKS",
                       .remark = "transfer = latency + bytes / bandwidth, fitted to the fastest"});
  Table table;
  table.add_columns(Align::kLeft, {"function", "group"});
  table.add_columns(Align::kRight, {"latency", "bandwidth", "half at", "sizes", "calls", "off by"});
  for (const LinkFit& fit : fits) {
    const std::string bandwidth =
        fit.beta_ns_per_byte > 0 ? format_bytes(std::llround(1e9 / fit.beta_ns_per_byte)) + "/s"
                                 : "unknown";
    table.add_row({std::string(word_of(fit.function)), fit.communicator,
                   format_duration({std::llround(fit.alpha_ns)}), bandwidth,
                   format_bytes(std::llround(fit.half_bytes)), format_count(fit.sizes),
                   format_count(fit.n), format_share(fit.residual)});
  }
  document.add(std::move(table));
}

}  // namespace

size_t shown_of(size_t all, int top) {
  return std::min(all, static_cast<size_t>(std::max(1, top)));
}

void say_more(Document& document, size_t shown, size_t all) {
  if (shown < all) document.add_more(fmt::format("{} more (--top {})", all - shown, all));
}

std::vector<CollectiveSummary> most_expensive_collectives(const Report& report) {
  std::vector<CollectiveSummary> most_expensive =
      report.collectives.value_or(std::vector<CollectiveSummary>());
  std::ranges::stable_sort(most_expensive, std::greater(), [](const CollectiveSummary& c) {
    return static_cast<double>(c.n) * static_cast<double>(c.transfer_ns + c.wait_ns);
  });
  return without_alike(most_expensive);
}

Table collective_table(std::span<const CollectiveSummary> collectives,
                       const CollectiveColumns& columns) {
  Table table;
  const auto column = [&](std::string_view title, Align align, auto&& cell) {
    table.add_column(title, align, collectives, cell);
  };
  using Summary = CollectiveSummary;
  column("function", Align::kLeft,
         [](const Summary& c) { return std::string(word_of(c.function)); });
  if (columns.group) column("group", Align::kLeft, [](const Summary& c) { return c.communicator; });
  column("bytes", Align::kRight,
         [](const Summary& c) { return c.bytes ? format_bytes(*c.bytes) : ""; });
  column("calls", Align::kRight, [](const Summary& c) { return format_count(c.n); });
  if (columns.per_step)
    column("per step", Align::kRight, [](const Summary& c) { return per_step_text(c.per_step); });
  column("transfer", Align::kRight,
         [](const Summary& c) { return format_duration({c.transfer_ns}); });
  column("wait", Align::kRight, wait_text);
  if (columns.bandwidth) {
    column("bus bandwidth", Align::kRight, [](const Summary& c) {
      return c.busbw ? format_bytes(static_cast<int64_t>(*c.busbw)) + "/s" : "";
    });
  }
  if (columns.last_arriver) {
    column("last to arrive", Align::kLeft, [](const Summary& c) {
      return c.last_arriver ? fmt::format("rank {} in {}", c.last_arriver->rank,
                                          format_share(c.last_arriver->share))
                            : "";
    });
  }
  return table;
}

Document collective_section(const Report& report, const TextOptions& options) {
  std::vector<CollectiveSummary> most_expensive = most_expensive_collectives(report);
  if (most_expensive.empty()) return {};
  // A collective that occurs only at the start adds nothing to a step.
  const auto in_steps = [](const CollectiveSummary& c) { return c.per_step.value_or(1) > 0; };
  size_t outside = 0;
  if (!is_asked_for(options, Section::kCollectives) &&
      std::ranges::any_of(most_expensive, in_steps))
    outside =
        std::erase_if(most_expensive, [&](const CollectiveSummary& c) { return !in_steps(c); });
  std::set<std::string> communicators;
  for (const CollectiveSummary& c : most_expensive) communicators.insert(c.communicator);
  const size_t shown = shown_of(most_expensive.size(), options.top);
  CollectiveColumns columns{
      .group = communicators.size() > 1,
      .per_step = std::ranges::any_of(
          most_expensive, [](const CollectiveSummary& c) { return c.per_step.has_value(); }),
      .last_arriver = true};
  Table table = collective_table(std::span(most_expensive).first(shown), columns);
  if (text_width(table) > static_cast<size_t>(options.width)) {
    columns.bandwidth = false;
    table = collective_table(std::span(most_expensive).first(shown), columns);
  }
  Document document = titled_table(
      "COLLECTIVES", "medians per call; wait is that of the rank that waited longest", table);
  say_more(document, shown, most_expensive.size());
  if (outside > 0)
    document.add_more(fmt::format("{} outside steps (--sections collectives)", outside));
  return document;
}

bool has_slow_links(const Report& report) {
  return report.slow_links &&
         !(report.slow_links->groups.empty() && report.slow_links->onsets.empty());
}

Document overlap_section(const Report& report, const TextOptions& /*options*/) {
  const std::optional<int64_t> steps = steady_steps(report);
  const std::optional<MeanStep> mean = mean_step(report);
  if (!report.overlap || report.overlap->per_rank.empty() || !steps || !mean) return {};
  std::vector<RankOverlap> ranks = report.overlap->per_rank;
  if (std::ranges::none_of(ranks, [](const RankOverlap& r) { return r.communication_ns > 0; }))
    return {};
  const size_t all = ranks.size();
  if (all > kMostRanks) {
    std::ranges::stable_sort(ranks, std::greater(), [](const RankOverlap& r) {
      return r.exposed_wait_ns + r.exposed_transfer_ns;
    });
    ranks.resize(kMostRanks);
  }
  const StepUnit unit(mean->wall_ns);
  Document document = titled_table(
      "OVERLAP",
      fmt::format("{} per step; hidden = overlapped by computation; the rest is exposed",
                  unit.name()),
      overlap_table(ranks, static_cast<double>(*steps), unit));
  if (all > kMostRanks) {
    document.add_more(fmt::format("{} ranks with less exposed (--format json)",
                                  format_count(static_cast<int64_t>(all - kMostRanks))));
  }
  if (report.contention) {
    document.add(Paragraph{.text = contention_text(*report.contention), .style = Style::kFaint});
  }
  return document;
}

Document bucket_section(const Report& report, const TextOptions& options) {
  if (!report.buckets || report.buckets->buckets.empty()) return {};
  const Buckets& buckets = *report.buckets;
  Table table{"bucket", "bytes", "fill", "order", "queue", "wait", "transfer", "exposed"};
  const size_t shown = shown_of(buckets.buckets.size(), options.top);
  for (const BucketSummary& b : std::span(buckets.buckets).first(shown)) {
    table.add_row({fmt::to_string(b.bucket), b.bytes ? format_bytes(*b.bytes) : "",
                   or_blank(b.fill_delay_ns), or_blank(b.order_delay_ns),
                   or_blank(b.queue_delay_ns), format_duration({b.wait_ns}),
                   format_duration({b.transfer_ns}), format_duration({b.exposed_ns})});
  }
  Document document = titled_table(
      "BUCKETS", "medians; fill: until ready, order: until called, queue: until started", table);
  say_more(document, shown, buckets.buckets.size());
  if (buckets.caps.empty()) return document;
  const auto best = std::ranges::min_element(buckets.caps, {}, &BucketCap::exposed_ns);
  document.add(
      Paragraph{.text = fmt::format(
                    "by the model, {} are exposed as recorded, {} with a cap of {}, {} at best",
                    buckets.present_exposed_ns ? format_duration({*buckets.present_exposed_ns})
                                               : "unknown times",
                    format_duration({best->exposed_ns}), cap_text(best->cap_bytes),
                    buckets.bound_ns ? format_duration({*buckets.bound_ns}) : "unknown")});
  return document;
}

Document link_section(const Report& report, const TextOptions& options) {
  Document document;
  if (has_slow_links(report)) add_slow_groups(document, *report.slow_links, options.top);
  if (is_asked_for(options, Section::kLinks) && report.link_fits && !report.link_fits->empty()) {
    const size_t shown = shown_of(report.link_fits->size(), options.top);
    add_fits(document, std::span(*report.link_fits).first(shown));
  }
  return document;
}

}  // namespace dprof::analyzer
