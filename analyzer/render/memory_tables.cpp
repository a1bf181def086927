// SPDX-License-Identifier: Apache-2.0
// Sections on memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzer/render/layout.h"
#include "analyzer/render/sections.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostHolders = 8;
constexpr size_t kLongestSite = 80;       // enough for three frames of a stack
constexpr double kLeastPeakShare = 0.01;  // of a peak

std::string bytes_or_blank(const std::optional<int64_t>& bytes) {
  return bytes ? format_bytes(*bytes) : std::string();
}

std::string device_text(int device) {
  return device < 0 ? "host" : fmt::format("device {}", device);
}

std::string resident_text(const Memory& memory) {
  if (memory.host.empty()) return {};
  const auto largest = std::ranges::max_element(memory.host, {}, &HostMemory::peak_resident);
  return fmt::format("resident at most {} (rank {})", format_bytes(largest->peak_resident),
                     largest->rank);
}

std::string leak_text(const Leak& leak) {
  std::string text = fmt::format("rank {}, {}: grows by {} ± {} per step over {}", leak.rank,
                                 device_text(leak.device), format_bytes(leak.bytes_per_step),
                                 format_bytes(leak.bound), plural(leak.steps, "step"));
  if (leak.steps_to_oom)
    text += fmt::format("; full in about {} steps", format_count(std::llround(*leak.steps_to_oom)));
  for (size_t i = 0; i < leak.sites.size(); ++i) {
    const LeakSite& site = leak.sites[i];
    text += fmt::format("{}{} in {} from {}{}", i == 0 ? "; still there: " : ", ",
                        format_bytes(site.bytes), plural(site.blocks, "block"),
                        site.site.empty() ? "an unknown place" : site.site,
                        site.phase.empty() ? "" : fmt::format(" ({})", site.phase));
  }
  return text;
}

std::string out_of_memory_text(const OutOfMemory& failed) {
  std::string text = fmt::format("rank {}, {}: an allocation of {} failed", failed.rank,
                                 device_text(failed.device), format_bytes(failed.bytes));
  if (failed.step) text += fmt::format(" in step {}", *failed.step);
  if (failed.free_bytes)
    text += fmt::format(", {} were reserved but free", format_bytes(*failed.free_bytes));
  if (failed.fragmented.value_or(false)) text += ", in blocks that were too small";
  return text;
}

void add_peaks(Document& document, const Memory& memory) {
  std::vector<RankMemory> ranks = memory.per_rank;
  std::erase_if(ranks, [](const RankMemory& m) { return !m.peak_allocated && !m.peak_reserved; });
  if (ranks.empty()) return;
  const size_t all = ranks.size();
  if (all > kMostRanks) {
    std::ranges::stable_sort(ranks, std::greater(), [](const RankMemory& m) {
      return m.peak_allocated.value_or(*m.peak_reserved);
    });
    ranks.resize(kMostRanks);
  }
  Table table;
  table.add_columns(Align::kRight, {"rank"});
  table.add_columns(Align::kLeft, {"of"});
  table.add_columns(Align::kRight, {"peak", "reserved", "steady", "headroom"});
  table.add_columns(Align::kLeft, {"when", "known by"});
  for (const RankMemory& m : ranks) {
    table.add_row({fmt::to_string(m.rank), device_text(m.device), bytes_or_blank(m.peak_allocated),
                   bytes_or_blank(m.peak_reserved), bytes_or_blank(m.steady_peak_allocated),
                   bytes_or_blank(m.hard_headroom), peak_moment(m),
                   std::string(word_of(m.source))});
  }
  document.add(std::move(table));
  if (all > kMostRanks)
    document.add_more(fmt::format("{} with less (--format json)",
                                  format_count(static_cast<int64_t>(all - kMostRanks))));
}

// "parameters 1.20 GB (40 %), activations …"; "" = unknown.
std::string uses_text(const RankMemory& peak) {
  if (!peak.by_category || !peak.peak_allocated || *peak.peak_allocated <= 0) return {};
  std::vector<size_t> uses;
  const auto share = [&](size_t use) {
    return static_cast<double>((*peak.by_category)[use]) /
           static_cast<double>(*peak.peak_allocated);
  };
  for (size_t use = 0; use < kMemoryUses; ++use) {
    if (share(use) >= kLeastPeakShare) uses.push_back(use);
  }
  std::ranges::stable_sort(uses, std::greater(), share);
  std::string text;
  for (const size_t use : uses) {
    text +=
        fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", title_of(static_cast<MemoryUse>(use)),
                    format_bytes((*peak.by_category)[use]), format_share(share(use)));
  }
  return text;
}

void add_holders(Document& document, const RankMemory& peak) {
  if (peak.at_peak.empty()) return;
  Table table;
  table.add_columns(Align::kLeft, {"at the peak"});
  table.add_columns(Align::kRight, {"bytes", "share", "blocks"});
  table.add_columns(Align::kLeft, {"allocated in", "by"});
  for (const MemoryHolder& holder :
       std::span(peak.at_peak).first(std::min(kMostHolders, peak.at_peak.size()))) {
    table.add_row({std::string(title_of(holder.use)), format_bytes(holder.bytes),
                   format_share(static_cast<double>(holder.bytes) /
                                static_cast<double>(std::max<int64_t>(1, *peak.peak_allocated))),
                   format_count(holder.blocks), holder.phase,
                   cut_to(printable(holder.site), kLongestSite)});
  }
  document.add(std::move(table));
}

}  // namespace

const RankMemory* largest_peak(const Memory& memory) {
  const RankMemory* largest = nullptr;
  const auto key = [](const RankMemory& m) {
    return std::pair(m.device >= 0, m.peak_allocated.value_or(-1));
  };
  for (const RankMemory& one : memory.per_rank) {
    if (one.peak_allocated && (largest == nullptr || key(one) > key(*largest))) largest = &one;
  }
  return largest;
}

std::string peak_moment(const RankMemory& memory) {
  std::string text = memory.peak_step ? fmt::format("step {}", *memory.peak_step) : std::string();
  if (!memory.peak_phase.empty())
    text += fmt::format("{}{}", text.empty() ? "" : ", ", memory.peak_phase);
  return text;
}

std::vector<std::string> memory_troubles(const Memory& memory) {
  std::vector<std::string> troubles;
  for (const OutOfMemory& failed : memory.out_of_memory)
    troubles.push_back(out_of_memory_text(failed));
  if (memory.leaks) {
    for (const Leak& leak : *memory.leaks) troubles.push_back(leak_text(leak));
  }
  return troubles;
}

std::vector<std::string> memory_remarks(const Memory& memory) {
  std::vector<std::string> remarks;
  if (memory.imbalance && memory.imbalance->ranks > 1) {
    const MemoryImbalance& i = *memory.imbalance;
    remarks.push_back(fmt::format("rank {} peaks highest, {} over the ranks' median of {}", i.rank,
                                  format_bytes(i.max_less_median), format_bytes(i.median)));
  }
  if (memory.fragmentation && memory.fragmentation->slack) {
    std::string text = fmt::format("{} of reserved memory is not allocated",
                                   format_share(*memory.fragmentation->slack));
    if (memory.fragmentation->non_releasable)
      text += fmt::format(", {} cannot be released",
                          format_share(*memory.fragmentation->non_releasable));
    remarks.push_back(text + ", on the worst rank");
  }
  for (const RankMemory& m : memory.per_rank) {
    if (!m.free_at_end || !m.largest_free_at_end || *m.free_at_end == 0) continue;
    if (remarks.size() >= kMostRanks) break;
    remarks.push_back(fmt::format(
        "rank {}, {}: {} were reserved and free at the end, the largest piece {}", m.rank,
        device_text(m.device), format_bytes(*m.free_at_end), format_bytes(*m.largest_free_at_end)));
  }
  if (memory.zero && memory.zero->worthwhile) {
    const ZeroSizing& z = *memory.zero;
    remarks.push_back(fmt::format(
        "training state is {} of the peak: sharded over {} ranks, ZeRO 1, 2, 3 would free {}, {}, {} per rank",
        format_share(z.share), format_count(z.ranks), format_bytes(z.saved_bytes[0]),
        format_bytes(z.saved_bytes[1]), format_bytes(z.saved_bytes[2])));
  }
  if (memory.checkpointing && memory.checkpointing->worthwhile) {
    remarks.push_back(fmt::format(
        "activations are {} of the peak ({}): checkpointing frees most of that at the cost of a second forward",
        format_share(memory.checkpointing->share),
        format_bytes(memory.checkpointing->activation_bytes)));
  }
  if (memory.leaks && memory.leaks->empty())
    remarks.emplace_back("no leak: nothing grows steadily");
  if (!memory.leaks) remarks.emplace_back("leaks: unknown, this recording does not show them");
  return remarks;
}

std::string memory_line(const Report& report) {
  if (!report.memory) return {};
  const RankMemory* peak = largest_peak(*report.memory);
  std::string resident = resident_text(*report.memory);
  if (peak == nullptr) return resident;
  const std::string moment = peak_moment(*peak);
  std::string text =
      fmt::format("peak {} on rank {}, {}{}", format_bytes(*peak->peak_allocated), peak->rank,
                  device_text(peak->device), moment.empty() ? "" : fmt::format(" ({})", moment));
  if (peak->peak_reserved) text += fmt::format(", {} reserved", format_bytes(*peak->peak_reserved));
  return resident.empty() ? text : text + "; " + resident;
}

bool has_memory_trouble(const Report& report) {
  return report.memory && (!report.memory->out_of_memory.empty() ||
                           (report.memory->leaks && !report.memory->leaks->empty()));
}

Document memory_section(const Report& report, const TextOptions& options) {
  const bool in_full = is_asked_for(options, Section::kMemory);
  if (!report.memory || (!in_full && !has_memory_trouble(report))) return {};
  const Memory& memory = *report.memory;
  Document document;
  document.add(Heading{.title = "MEMORY"});
  for (const std::string& trouble : memory_troubles(memory))
    document.add_item({.text = trouble, .mark = "!"});
  if (!in_full) return document;
  add_peaks(document, memory);
  if (const RankMemory* peak = largest_peak(memory)) {
    if (const std::string uses = uses_text(*peak); !uses.empty())
      document.add(Paragraph{.text = fmt::format("rank {} at its peak: {}", peak->rank, uses)});
    add_holders(document, *peak);
  }
  for (const std::string& remark : memory_remarks(memory)) document.add_item({.text = remark});
  if (const std::string resident = resident_text(memory); !resident.empty())
    document.add_item({.text = resident});
  return document;
}

}  // namespace dprof::analyzer
