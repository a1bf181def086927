// SPDX-License-Identifier: Apache-2.0
#include "analyzer/memory/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "analyzer/memory/categories.h"
#include "analyzer/memory/curves.h"
#include "analyzer/memory/leaks.h"
#include "analyzer/memory/timeline.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kZeroShare = 0.5;
constexpr int64_t kZeroRanks = 4;
constexpr double kCheckpointingShare = 0.6;

int64_t bytes_of(const RankMemory& memory, std::initializer_list<MemoryUse> uses) {
  int64_t bytes = 0;
  for (const MemoryUse use : uses) bytes += memory.by_category->at(static_cast<size_t>(use));
  return bytes;
}

const RankMemory* largest_known(std::span<const RankMemory> per_rank) {
  const RankMemory* largest = nullptr;
  for (const RankMemory& memory : per_rank) {
    if (!memory.by_category || !memory.peak_allocated || *memory.peak_allocated <= 0) continue;
    if (largest == nullptr || *memory.peak_allocated > *largest->peak_allocated) largest = &memory;
  }
  return largest;
}

struct Divided {
  int64_t ranks = 0;
  bool already = false;  // gradients are scattered or parameters gathered: state is sharded
};

// The communicator that reduces most bytes.
std::optional<Divided> data_parallel_ranks(const RankDigest& digest) {
  std::map<size_t, int64_t> reduced;
  int64_t in_parts = 0;
  int64_t whole = 0;
  for (const CollectiveRecord& collective : digest.collectives) {
    const int64_t bytes = collective.bytes.value_or(0);
    if (collective.function == schema::Function::kAllReduce) whole += bytes;
    if (collective.function == schema::Function::kReduceScatter) in_parts += bytes;
    if (collective.function == schema::Function::kAllReduce ||
        collective.function == schema::Function::kReduceScatter) {
      reduced[collective.communicator] += std::max<int64_t>(0, bytes);
    }
  }
  if (reduced.empty()) return std::nullopt;
  const auto most =
      std::ranges::max_element(reduced, {}, [](const auto& entry) { return entry.second; });
  const CommunicatorInfo& group = digest.communicators[most->first];
  const int64_t ranks = group.size.value_or(static_cast<int64_t>(group.members.size()));
  if (ranks < 2) return std::nullopt;
  return Divided{ranks, in_parts > whole};
}

// Over devices if any rank has one, else over host memory. nullopt = fewer than two ranks with a
// known peak.
std::optional<MemoryImbalance> imbalance_of(std::span<const RankMemory> per_rank) {
  const bool devices = std::ranges::any_of(
      per_rank, [](const RankMemory& m) { return m.device >= 0 && m.peak_allocated; });
  std::map<int, int64_t> peaks;
  for (const RankMemory& memory : per_rank) {
    if ((memory.device >= 0) != devices || !memory.peak_allocated) continue;
    int64_t& peak = peaks[memory.rank];
    peak = std::max(peak, *memory.peak_allocated);
  }
  if (peaks.size() < 2) return std::nullopt;
  std::vector<double> values;
  double sum = 0;
  MemoryImbalance imbalance{.ranks = static_cast<int64_t>(peaks.size())};
  for (const auto& [rank, peak] : peaks) {
    values.push_back(static_cast<double>(peak));
    sum += static_cast<double>(peak);
    if (peak <= imbalance.peak) continue;
    imbalance.peak = peak;
    imbalance.rank = rank;
  }
  if (sum <= 0) return std::nullopt;
  const double mean = sum / static_cast<double>(values.size());
  imbalance.max_over_mean = static_cast<double>(imbalance.peak) / mean;
  imbalance.median = std::llround(median(std::move(values)));
  imbalance.max_less_median = imbalance.peak - imbalance.median;
  return imbalance;
}

// For the rank with the largest peak of known contents; the ranks among which it reduces its
// gradients would share the state. nullopt = contents unknown, or no such communicator.
std::optional<ZeroSizing> zero_sizing_of(std::span<const RankDigest> digests,
                                         std::span<const RankMemory> per_rank) {
  const RankMemory* memory = largest_known(per_rank);
  if (memory == nullptr) return std::nullopt;
  const auto digest = std::ranges::find(digests, memory->rank, &RankDigest::rank);
  const std::optional<Divided> divided = data_parallel_ranks(*digest);
  if (!divided) return std::nullopt;
  const int64_t parameters = bytes_of(*memory, {MemoryUse::kParameter});
  const int64_t gradients = bytes_of(*memory, {MemoryUse::kGradient, MemoryUse::kBucket});
  const int64_t optimizer = bytes_of(*memory, {MemoryUse::kOptimizerState});
  const auto saved = [&](int64_t bytes) { return bytes - bytes / divided->ranks; };
  ZeroSizing sizing{.rank = memory->rank, .ranks = divided->ranks};
  sizing.share = static_cast<double>(parameters + gradients + optimizer) /
                 static_cast<double>(*memory->peak_allocated);
  sizing.saved_bytes = {saved(optimizer), saved(optimizer + gradients),
                        saved(optimizer + gradients + parameters)};
  sizing.worthwhile =
      !divided->already && sizing.share >= kZeroShare && divided->ranks >= kZeroRanks;
  return sizing;
}

std::optional<CheckpointingSizing> checkpointing_sizing_of(std::span<const RankMemory> per_rank) {
  const RankMemory* memory = largest_known(per_rank);
  if (memory == nullptr) return std::nullopt;
  CheckpointingSizing sizing{.rank = memory->rank};
  sizing.activation_bytes = bytes_of(*memory, {MemoryUse::kActivation});
  sizing.share =
      static_cast<double>(sizing.activation_bytes) / static_cast<double>(*memory->peak_allocated);
  sizing.worthwhile = sizing.share >= kCheckpointingShare;
  return sizing;
}

const DeviceSize* size_of(const RankDigest& digest, int device) {
  const auto found = std::ranges::find(digest.memory.sizes, device, &DeviceSize::device);
  return found == digest.memory.sizes.end() ? nullptr : &*found;
}

struct Sharing {
  int64_t reserved = 0;  // the sum of all ranks' peaks on the device
  bool complete = true;
};

// Over steady steps; if only statistics were recorded, from the peaks.
Fragmentation fragmentation_of(const DeviceMemory& device, std::span<const StepLevel> levels) {
  std::vector<double> slack;
  std::vector<double> non_releasable;
  for (const StepLevel& step : levels) {
    const MemoryCell& cell = step.level;
    if (cell.reserved_at_high == kUnknownLevel || cell.reserved_at_high <= 0) continue;
    const auto reserved = static_cast<double>(cell.reserved_at_high);
    slack.push_back(std::max(0.0, static_cast<double>(cell.reserved_at_high - cell.high)) /
                    reserved);
    if (cell.split_at_high != kUnknownLevel)
      non_releasable.push_back(static_cast<double>(cell.split_at_high) / reserved);
  }
  Fragmentation fragmentation;
  if (!slack.empty()) {
    fragmentation.slack = median(slack);
    if (non_releasable.size() == slack.size())
      fragmentation.non_releasable = median(non_releasable);
    return fragmentation;
  }
  int64_t allocated = 0;
  int64_t reserved = 0;
  for (const MemoryReading& reading : device.readings) {
    allocated =
        std::max({allocated, reading.allocated.value_or(0), reading.peak_allocated.value_or(0)});
    reserved =
        std::max({reserved, reading.reserved.value_or(0), reading.peak_reserved.value_or(0)});
  }
  if (reserved > 0 && allocated > 0 && allocated <= reserved)
    fragmentation.slack = 1 - static_cast<double>(allocated) / static_cast<double>(reserved);
  return fragmentation;
}

// Fills device_total, non_torch_peak and the headrooms of all ranks, whose peaks are already set.
// Ranks that share a device (by UUID) share its remaining memory.
void add_headroom(std::span<const RankDigest> digests, std::vector<RankMemory>& per_rank) {
  std::map<std::string, DeviceUse> uses;
  for (const RankDigest& digest : digests) {
    for (const DeviceUse& use : digest.memory.uses) {
      DeviceUse& most = uses[use.uuid];
      most.used = std::max(most.used, use.used);
      most.total = std::max(most.total, use.total);
    }
  }
  const auto digest_of = [&](int rank) -> const RankDigest& {
    return *std::ranges::find(digests, rank, &RankDigest::rank);
  };
  std::map<std::string, Sharing> sharing;
  for (const RankMemory& memory : per_rank) {
    const DeviceSize* size = size_of(digest_of(memory.rank), memory.device);
    if (size == nullptr || size->uuid.empty()) continue;
    Sharing& all = sharing[size->uuid];
    all.reserved += memory.peak_reserved.value_or(0);
    all.complete = all.complete && memory.peak_reserved.has_value();
  }
  for (RankMemory& memory : per_rank) {
    const DeviceSize* size = size_of(digest_of(memory.rank), memory.device);
    if (size == nullptr) continue;
    memory.device_total = size->bytes;
    const auto use = uses.find(size->uuid);
    if (use == uses.end() || size->uuid.empty()) continue;
    if (!memory.device_total && use->second.total > 0) memory.device_total = use->second.total;
    const Sharing& all = sharing[size->uuid];
    if (!all.complete) continue;
    memory.non_torch_peak = std::max<int64_t>(0, use->second.used - all.reserved);
    if (!memory.device_total || !memory.peak_allocated) continue;
    memory.hard_headroom = *memory.device_total - *memory.non_torch_peak - all.reserved;
    memory.soft_headroom = *memory.hard_headroom + *memory.peak_reserved - *memory.peak_allocated;
  }
}

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

  // The allocator's own figure if it gave one, else the counted one.
  static void fill_peaks(RankMemory& memory, const DeviceMemory& device, const StepClock& clock) {
    memory.peak_allocated = device.peak_allocated;
    // Torch reserves no host memory; imported data can say 0.
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
    if (!device.readings.empty()) {
      const MemoryReading& last = device.readings.back();
      if (last.largest_free && last.reserved && last.allocated)
        memory.free_at_end = std::max<int64_t>(0, *last.reserved - *last.allocated);
      memory.largest_free_at_end = last.largest_free;
    }
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
    if (!windows.empty()) {
      const Interval steady{windows.front().begin, windows.back().end};
      const auto steps = static_cast<double>(windows.size());
      host.page_faults_per_step = rise_per_step(digest.system.faults, steady, steps);
      host.kernel_cpu_ns_per_step = rise_per_step(digest.system.kernel_cpu, steady, steps);
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
      note(fmt::format(
               "memory: on {} ranks more than {:.0f} % of the peak is in blocks of unknown use",
               much_unknown, 100 * kMuchUnknown),
           much_unknown);
    }
    if (no_contents > 0) {
      note(
          fmt::format(
              "memory: "
              "on {} ranks the tracked blocks exceed the allocator's total, so records are missing and the contents at the peak are unknown",
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
