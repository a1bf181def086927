// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/communication.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

std::string or_blank(const std::optional<int64_t>& ns) {
  return ns ? format_duration({*ns}) : std::string();
}

std::string faint_line(const Painter& paint, std::string_view content) {
  return paint(Style::kFaint, fmt::format("  {}", content)) + '\n';
}

TextTable overlap_table(const std::vector<RankOverlap>& ranks, double steps, const StepUnit& unit) {
  TextTable table;
  for (const char* title :
       {"rank", "communication", "hidden", "wait", "transfer", "share hidden", "at best"})
    table.add_column(title, TextTable::Align::kRight);
  for (const RankOverlap& rank : ranks) {
    const auto per_step = [&](int64_t ns) { return unit.number(static_cast<double>(ns) / steps); };
    table.add_row({fmt::to_string(rank.rank), per_step(rank.communication_ns),
                   per_step(rank.hidden_ns), per_step(rank.exposed_wait_ns),
                   per_step(rank.exposed_transfer_ns), rank.ratio ? format_share(*rank.ratio) : "",
                   rank.best_ratio ? format_share(*rank.best_ratio) : ""});
  }
  return table;
}

std::string contention_text(const Report& report, size_t width, const Painter& paint) {
  if (!report.contention) return {};
  const Contention& contention = *report.contention;
  const char* what = contention.of_kernels ? "kernel" : "operator";
  std::string said = fmt::format("beside a collective {}s take {:.2f} times as long ({})", what,
                                 contention.factor, plural(contention.operators, what));
  if (contention.hidden_cost_ns > 0) {
    said += fmt::format("; of the hidden time {} per step are paid that way",
                        format_duration({contention.hidden_cost_ns}));
  }
  if (contention.transfer_factor) {
    said += fmt::format("; beside computation transfers take {:.2f} times as long",
                        *contention.transfer_factor);
  }
  return paragraph_of("  ", said, kIndent, width, paint, Style::kFaint);
}

std::string cap_text(const std::optional<int64_t>& cap) {
  return cap ? fmt::format("{} MiB", *cap / (1 << 20)) : "none";
}

// "node-b (ranks 4–7): in 3 slow groups, 1.42 times as long, 2.10 ms per step, since step 40".
std::string host_text(const SlowHost& host) {
  std::string text = fmt::format("{} (rank{} {}): in {}, {:.2f} times as long", host.host,
                                 host.ranks.size() == 1 ? "" : "s", rank_list(host.ranks),
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

// Who explains the slow groups; what became slower within the run.
std::vector<std::string> slow_sentences(const SlowLinks& slow) {
  std::vector<std::string> sentences;
  for (const SlowHost& host : slow.hosts) sentences.push_back(host_text(host));
  if (slow.hosts.empty() && !slow.suspects.empty()) {
    std::string names;
    for (const std::string& suspect : slow.suspects)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", suspect);
    sentences.push_back("what they share: " + names);
  } else if (slow.within_only) {
    sentences.emplace_back("somewhere within these groups; the recorded groups do not tell where");
  } else if (slow.hosts.empty() && !slow.groups.empty()) {
    sentences.emplace_back("no single link or host explains all of them");
  }
  for (const SlowTransfers& onset : slow.onsets) sentences.push_back(onset_text(onset));
  return sentences;
}

std::string slow_groups_text(const SlowLinks& slow, const TextOptions& options,
                             const Painter& paint) {
  TextTable table;
  table.add_column("group", TextTable::Align::kLeft);
  table.add_column("ranks", TextTable::Align::kLeft);
  table.add_column("slower", TextTable::Align::kRight);
  table.add_column("windows", TextTable::Align::kRight);
  const size_t shown = std::min(slow.groups.size(), static_cast<size_t>(std::max(1, options.top)));
  for (size_t i = 0; i < shown; ++i) {
    const SlowGroupInfo& group = slow.groups[i];
    table.add_row({cut_to(printable(group.communicator), 36), cut_to(rank_list(group.ranks), 32),
                   fmt::format("{:.2f} times", group.ratio), format_count(group.windows)});
  }
  std::string text = paint(Style::kStrong, "SLOW LINKS");
  text +=
      slow.groups.empty() ? "\n" : "   against comparable groups\n" + table.render(kIndent, paint);
  if (shown < slow.groups.size()) {
    text += faint_line(paint, fmt::format("… and {} more (--top {})", slow.groups.size() - shown,
                                          slow.groups.size()));
  }
  for (const std::string& said : slow_sentences(slow)) {
    text += paragraph_of("  ", printable(said), kIndent, static_cast<size_t>(options.width), paint,
                         Style::kPlain);
  }
  return text;
}

std::string fits_text(const std::vector<LinkFit>& fits, const TextOptions& options,
                      const Painter& paint) {
  TextTable table;
  table.add_column("function", TextTable::Align::kLeft);
  table.add_column("group", TextTable::Align::kLeft);
  for (const char* title : {"latency", "bandwidth", "half at", "sizes", "calls", "off by"})
    table.add_column(title, TextTable::Align::kRight);
  const size_t shown = std::min(fits.size(), static_cast<size_t>(std::max(1, options.top)));
  for (size_t i = 0; i < shown; ++i) {
    const LinkFit& fit = fits[i];
    const std::string bandwidth =
        fit.beta_ns_per_byte > 0 ? format_bytes(std::llround(1e9 / fit.beta_ns_per_byte)) + "/s"
                                 : "unknown";
    table.add_row({std::string(word_of(fit.function)), printable(fit.communicator),
                   format_duration({std::llround(fit.alpha_ns)}), bandwidth,
                   format_bytes(std::llround(fit.half_bytes)), format_count(fit.sizes),
                   format_count(fit.n), format_share(fit.residual)});
  }
  return fmt::format("{}   transfer = latency + bytes / bandwidth, fitted to the fastest\n{}",
                     paint(Style::kStrong, "LINKS"), table.render(kIndent, paint));
}

}  // namespace

bool has_slow_links(const Report& report) {
  return report.slow_links &&
         !(report.slow_links->groups.empty() && report.slow_links->onsets.empty());
}

std::string overlap_section(const Report& report, const TextOptions& options,
                            const Painter& paint) {
  const std::optional<int64_t> steps = steady_steps(report);
  const std::optional<MeanStep> mean = mean_step(report);
  if (!report.overlap || report.overlap->per_rank.empty() || !steps || !mean) return {};
  std::vector<RankOverlap> ranks = report.overlap->per_rank;
  if (std::ranges::none_of(ranks, [](const RankOverlap& r) { return r.communication_ns > 0; }))
    return {};
  std::string more;
  if (ranks.size() > kMostRanks) {
    std::ranges::stable_sort(ranks, std::greater(), [](const RankOverlap& r) {
      return r.exposed_wait_ns + r.exposed_transfer_ns;
    });
    more = faint_line(paint, fmt::format("… and {} ranks with less exposed (--format json)",
                                         ranks.size() - kMostRanks));
    ranks.resize(kMostRanks);
  }
  const StepUnit unit(mean->wall_ns);
  return fmt::format(
      "{}   {} per step; hidden = computation ran beside it; the rest is exposed\n{}{}{}",
      paint(Style::kStrong, "OVERLAP"), unit.name(),
      overlap_table(ranks, static_cast<double>(*steps), unit).render(kIndent, paint), more,
      contention_text(report, static_cast<size_t>(options.width), paint));
}

std::string bucket_section(const Report& report, const TextOptions& options, const Painter& paint) {
  if (!report.buckets || report.buckets->buckets.empty()) return {};
  const Buckets& buckets = *report.buckets;
  TextTable table;
  for (const char* title :
       {"bucket", "bytes", "fill", "order", "queue", "wait", "transfer", "exposed"})
    table.add_column(title, TextTable::Align::kRight);
  const size_t shown =
      std::min(buckets.buckets.size(), static_cast<size_t>(std::max(1, options.top)));
  for (size_t i = 0; i < shown; ++i) {
    const BucketSummary& b = buckets.buckets[i];
    table.add_row({fmt::to_string(b.bucket), b.bytes ? format_bytes(*b.bytes) : "",
                   or_blank(b.fill_delay_ns), or_blank(b.order_delay_ns),
                   or_blank(b.queue_delay_ns), format_duration({b.wait_ns}),
                   format_duration({b.transfer_ns}), format_duration({b.exposed_ns})});
  }
  std::string text =
      fmt::format("{}   medians; fill: until ready, order: until called, queue: until begun\n{}",
                  paint(Style::kStrong, "BUCKETS"), table.render(kIndent, paint));
  if (shown < buckets.buckets.size()) {
    text += faint_line(paint, fmt::format("… and {} more (--top {})",
                                          buckets.buckets.size() - shown, buckets.buckets.size()));
  }
  if (buckets.caps.empty()) return text;
  const auto best = std::ranges::min_element(buckets.caps, {}, &BucketCap::exposed_ns);
  const std::string said = fmt::format(
      "by the model {} are exposed as recorded, {} with a cap of {}, {} at best",
      buckets.present_exposed_ns ? format_duration({*buckets.present_exposed_ns}) : "unknown times",
      format_duration({best->exposed_ns}), cap_text(best->cap_bytes),
      buckets.bound_ns ? format_duration({*buckets.bound_ns}) : "unknown");
  text +=
      paragraph_of("  ", said, kIndent, static_cast<size_t>(options.width), paint, Style::kPlain);
  return text;
}

std::string link_section(const Report& report, const TextOptions& options, const Painter& paint) {
  std::string text;
  if (has_slow_links(report)) text = slow_groups_text(*report.slow_links, options, paint);
  if (!is_asked_for(options, Section::kLinks) || !report.link_fits || report.link_fits->empty())
    return text;
  if (!text.empty()) text += '\n';
  return text + fits_text(*report.link_fits, options, paint);
}

}  // namespace dprof::analyzer
