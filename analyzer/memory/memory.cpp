// SPDX-License-Identifier: Apache-2.0
#include "analyzer/memory/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/memory/categories.h"
#include "analyzer/memory/curves.h"
#include "analyzer/memory/headroom.h"
#include "analyzer/memory/leaks.h"
#include "analyzer/memory/sizing.h"
#include "analyzer/memory/timeline.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kMuchUnknown = 0.15;

class MemoryAnalyst {
 public:
  MemoryAnalyst(std::span<const RankDigest> digests, const Steps* steps,
                std::vector<Diagnostic>& notes)
      : digests_(digests), steps_(steps), notes_(notes) {}

  std::optional<Memory> run() {
    for (size_t d = 0; d < digests_.size(); ++d) {
      for (const DeviceMemory& device : digests_[d].memory.devices) look_at(d, device);
    }
    if (memory_.per_rank.empty()) {
      note("memory: no trace has allocations, statistics of an allocator or resident sizes");
      return std::nullopt;
    }
    std::ranges::stable_sort(memory_.per_rank, {},
                             [](const RankMemory& m) { return std::pair(m.rank, m.device); });
    add_headroom(digests_, memory_.per_rank);
    settle_leaks();
    choose_fragmentation();
    memory_.imbalance = imbalance_of(memory_.per_rank);
    memory_.zero = zero_sizing_of(digests_, memory_.per_rank);
    memory_.checkpointing = checkpointing_sizing_of(memory_.per_rank);
    say_what_is_unknown();
    return std::move(memory_);
  }

 private:
  void note(std::string text, int64_t count = 1) {
    notes_.push_back(make_diagnostic("not_computed", std::move(text), count));
  }

  void look_at(size_t d, const DeviceMemory& device) {
    const RankDigest& digest = digests_[d];
    if (device.events == 0 && device.readings.empty() && device.out_of_memory.empty()) return;
    const StepClock clock(digest);
    const std::vector<Interval> windows = steady_windows(steps_, d);
    const std::vector<StepLevel> levels = levels_in(device.cells, windows, clock);
    RankMemory memory{.rank = digest.rank, .device = device.device};
    memory.source = source_of(device);
    memory.unmatched = device.unmatched_frees + device.reused;
    fill_peaks(memory, device, clock);
    fill_contents(memory, device, digest, clock);
    fill_steady(memory, device, levels);
    if (device.device < 0) fill_host(digest, device, windows);
    for (const OomRecord& oom : device.out_of_memory) {
      OutOfMemory out{.rank = digest.rank,
                      .device = device.device,
                      .step = clock.index(oom.at),
                      .bytes = oom.bytes,
                      .free_bytes = oom.free_bytes,
                      .fragmented = {}};
      if (oom.free_bytes) out.fragmented = *oom.free_bytes >= oom.bytes;
      memory_.out_of_memory.push_back(out);
    }
    memory_.per_rank.push_back(std::move(memory));
    look_for_leak(digest, device, windows);
  }

  // The allocator's own figure, where it gave one, and else what was counted.
  static void fill_peaks(RankMemory& memory, const DeviceMemory& device, const StepClock& clock) {
    memory.peak_allocated = device.peak_allocated;
    // Torch reserves no host memory; what was imported may say 0.
    if (device.device >= 0 || device.peak_reserved.value_or(0) > 0)
      memory.peak_reserved = device.peak_reserved;
    TraceNs at = device.peak_at;
    bool known = device.peak_allocated.has_value();
    if (device.device >= 0 && !device.own_totals) {
      int64_t allocated = 0;
      for (const MemoryReading& reading : device.readings) {
        const int64_t most =
            std::max(reading.peak_allocated.value_or(0), reading.allocated.value_or(0));
        memory.peak_reserved =
            std::max({memory.peak_reserved, reading.peak_reserved, reading.reserved});
        if (most <= allocated) continue;
        allocated = most;
        memory.peak_allocated = most;
        if (device.events > 0) continue;
        at = reading.at;
        known = true;
      }
    }
    if (!known) return;
    memory.peak_step = clock.index(at);
  }

  static void fill_contents(RankMemory& memory, const DeviceMemory& device,
                            const RankDigest& digest, const StepClock& clock) {
    if (device.events == 0 || !memory.peak_allocated) return;
    memory.before_bytes = device.before_at_peak;
    for (size_t phase = 0; phase < kMemoryPhases; ++phase) {
      if (!device.phase_peaks.at(phase)) continue;
      const auto marker = static_cast<schema::Marker>(phase);
      memory.by_phase.push_back({std::string(phase_name(marker)), *device.phase_peaks.at(phase)});
    }
    std::ranges::stable_sort(memory.by_phase, std::ranges::greater(), &PhasePeak::allocated);
    memory.peak_phase = phase_name(device.peak_phase);
    const auto contents =
        contents_at_peak(device, digest.memory.sites, clock, *memory.peak_allocated);
    if (!contents) return;
    memory.by_category = contents->by_use;
    memory.at_peak = contents->holders;
    memory.retained_graph_bytes = contents->retained_graph_bytes;
    if (*memory.peak_allocated <= 0) return;
    const int64_t unknown = contents->by_use.at(static_cast<size_t>(MemoryUse::kPersistent)) +
                            contents->by_use.at(static_cast<size_t>(MemoryUse::kUnknown));
    memory.unknown_share =
        static_cast<double>(unknown) / static_cast<double>(*memory.peak_allocated);
  }

  static void fill_steady(RankMemory& memory, const DeviceMemory& device,
                          const std::vector<StepLevel>& levels) {
    memory.fragmentation = fragmentation_of(device, levels);
    memory.retries = device.retries;
    if (levels.empty()) return;
    std::vector<int64_t> peaks;
    int64_t allocs = 0;
    int64_t frees = 0;
    for (const StepLevel& step : levels) {
      peaks.push_back(step.level.high);
      allocs += step.level.segment_allocs;
      frees += step.level.segment_frees;
      memory.cache_flushes += step.level.flushes;
    }
    memory.steady_peak_allocated = median_ns(std::move(peaks));
    if (!device.peak_reserved) return;
    const auto steps = static_cast<double>(levels.size());
    memory.segment_allocs_per_step = static_cast<double>(allocs) / steps;
    memory.segment_frees_per_step = static_cast<double>(frees) / steps;
  }

  void fill_host(const RankDigest& digest, const DeviceMemory& device,
                 std::span<const Interval> windows) {
    HostMemory host{.rank = digest.rank};
    for (const MemoryReading& reading : device.readings) {
      if (!reading.allocated) continue;
      ++host.samples;
      host.peak_resident =
          std::max({host.peak_resident, *reading.allocated, reading.peak_allocated.value_or(0)});
      if (windows.empty() || reading.at < windows.front().begin ||
          reading.at > windows.back().end) {
        continue;
      }
      if (!host.first_steady) host.first_steady = reading.allocated;
      host.last_steady = reading.allocated;
    }
    if (host.samples > 0) memory_.host.push_back(host);
  }

  void look_for_leak(const RankDigest& digest, const DeviceMemory& device,
                     std::span<const Interval> windows) {
    LeakSearch search = find_leak(digest, device, windows);
    if (search.judged && !memory_.leaks) memory_.leaks.emplace();
    if (search.leak) memory_.leaks->push_back(std::move(*search.leak));
    if (!search.judged && why_no_leaks_.empty()) why_no_leaks_ = search.why_not;
    unjudged_ += search.judged ? 0 : 1;
  }

  void settle_leaks() {
    if (unjudged_ > 0) {
      note(fmt::format("memory: leaks were not looked for ({})", why_no_leaks_), unjudged_);
    }
    if (!memory_.leaks) return;
    for (Leak& leak : *memory_.leaks) {
      const auto of = std::ranges::find_if(memory_.per_rank, [&](const RankMemory& m) {
        return m.rank == leak.rank && m.device == leak.device;
      });
      if (of->soft_headroom && leak.bytes_per_step > 0) {
        leak.steps_to_oom = static_cast<double>(std::max<int64_t>(0, *of->soft_headroom)) /
                            static_cast<double>(leak.bytes_per_step);
      }
    }
    std::ranges::stable_sort(*memory_.leaks, std::ranges::greater(), &Leak::bytes_per_step);
  }

  void choose_fragmentation() {
    for (const RankMemory& memory : memory_.per_rank) {
      const std::optional<double> slack = memory.fragmentation.slack;
      if (!slack) continue;
      if (!memory_.fragmentation || *slack > *memory_.fragmentation->slack)
        memory_.fragmentation = memory.fragmentation;
    }
  }

  void say_what_is_unknown() {
    int64_t resident_only = 0;
    int64_t much_unknown = 0;
    int64_t no_contents = 0;
    for (const RankMemory& memory : memory_.per_rank) {
      resident_only += memory.source == MemorySource::kResident ? 1 : 0;
      much_unknown += memory.unknown_share.value_or(0) > kMuchUnknown ? 1 : 0;
      const bool followed = memory.source == MemorySource::kAllocatorEvents ||
                            memory.source == MemorySource::kCountedEvents;
      no_contents += followed && memory.peak_allocated && !memory.by_category ? 1 : 0;
    }
    if (resident_only > 0) {
      note(fmt::format("memory: of {} ranks only the resident set of the process is known: "
                       "which allocations it is from needs `--detail full`",
                       resident_only),
           resident_only);
    }
    if (much_unknown > 0) {
      note(
          fmt::format(
              "memory: of {} ranks more than {:.0f} % of the peak is held by blocks of which nobody says what they are",
              much_unknown, 100 * kMuchUnknown),
          much_unknown);
    }
    if (no_contents > 0) {
      note(
          fmt::format(
              "memory: "
              "of {} ranks the blocks that were followed are more than the allocator's total, so records are missing, and what lay there at the peak is not told",
              no_contents),
          no_contents);
    }
  }

  std::span<const RankDigest> digests_;
  const Steps* steps_;
  std::vector<Diagnostic>& notes_;
  Memory memory_;
  int64_t unjudged_ = 0;
  std::string why_no_leaks_;
};

}  // namespace

std::optional<Memory> memory_of(std::span<const RankDigest> digests, const Steps* steps,
                                std::vector<Diagnostic>& notes) {
  return MemoryAnalyst(digests, steps, notes).run();
}

}  // namespace dprof::analyzer
