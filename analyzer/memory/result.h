// SPDX-License-Identifier: Apache-2.0
// Each rank's memory (docs/analysis/memory.md): this part of the report's typed result. Bytes are
// those of the allocator's blocks, steps are step indices. std::nullopt = not known, and never a
// guess; an empty list = looked, found none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/digest/memory/level_curve.h"
#include "base/fields.h"

namespace dprof::analyzer {

// What the figures of a device come from, the best first.
enum class MemorySource : uint8_t {
  kAllocatorEvents,  // each allocation, and the allocator's own totals with it or once per step
  kCountedEvents,    // each allocation, added up here: what lay there before and never went is
                     // missing
  kStepSamples,      // the allocator's statistics, once per step
  kResident,         // the resident set of the process: no allocator was listened to
};
inline constexpr size_t kMemorySources = 4;
[[nodiscard]] std::string_view word_of(MemorySource source);  // as in JSON: "allocator_events"
[[nodiscard]] std::string_view title_of(MemorySource source);

// What memory holds, in the order of the report.
enum class MemoryUse : uint8_t {
  kParameter,
  kGradient,
  kBucket,  // DDP's buffers
  kOptimizerState,
  kActivation,  // made in forward, for backward
  kInput,       // batches
  kTemporary,   // made and freed within one operation or phase
  kAutograd,    // made and freed within backward
  kPersistent,  // stays over more than two steps, and nothing says what it is
  kUnknown,
};
inline constexpr size_t kMemoryUses = 10;
using MemoryUseBytes = std::array<int64_t, kMemoryUses>;
[[nodiscard]] std::string_view key_of(MemoryUse use);    // "optimizer_state"
[[nodiscard]] std::string_view title_of(MemoryUse use);  // "optimizer state"

struct PhasePeak {
  std::string phase;  // forward, backward, optimizer, input, checkpoint, other
  int64_t allocated = 0;
  DPROF_FIELDS(phase, allocated);
};

// Blocks that lay there at the peak, by what they hold and who asked for them.
struct MemoryHolder {
  MemoryUse use = MemoryUse::kUnknown;
  std::string site;   // the innermost operation or range that allocated it; "" = unknown
  std::string phase;  // in which it was allocated; "before" = before the recording
  int64_t blocks = 0;
  int64_t bytes = 0;
  DPROF_FIELDS(use, site, phase, blocks, bytes);
};

struct Fragmentation {
  // Both of reserved memory, at the peak of a step; median over steady steps.
  std::optional<double> slack;           // reserved and not allocated
  std::optional<double> non_releasable;  // of it, in segments that are partly in use
  DPROF_FIELDS(slack, non_releasable);
};

// One device of one rank; device -1 is host memory. Peaks are over the whole recording.
struct RankMemory {
  int rank = 0;
  int device = -1;
  std::optional<int64_t> peak_allocated;  // device -1 with kResident: nullopt, see Memory::host
  std::optional<int64_t> peak_reserved;
  std::optional<int64_t> peak_step;  // in which `peak_allocated` was reached first
  MemorySource source = MemorySource::kResident;
  std::string peak_phase;                     // "" = unknown
  std::optional<MemoryUseBytes> by_category;  // adds up to peak_allocated
  std::optional<double> unknown_share;        // of it, kPersistent and kUnknown
  std::vector<PhasePeak> by_phase;            // by peak, largest first
  std::vector<MemoryHolder> at_peak;          // largest first, 12 at most
  int64_t before_bytes = 0;                   // at the peak, allocated before the recording
  int64_t retained_graph_bytes = 0;  // at the peak, activations that outlived the step after theirs
  std::optional<int64_t> steady_peak_allocated;  // median over steady steps of their peaks
  Fragmentation fragmentation;
  // When the recording ended, where that was told: reserved and not allocated, and the largest
  // piece of it.
  std::optional<int64_t> free_at_end;
  std::optional<int64_t> largest_free_at_end;
  std::optional<double> segment_allocs_per_step;  // mean in steady steps; 0 is healthy
  std::optional<double> segment_frees_per_step;
  // Times that the allocator found no memory, gave its cache back and tried again; nullopt = cannot
  // be told from a cache that the program emptied.
  std::optional<int64_t> retries;
  int64_t cache_flushes = 0;              // runs of segments given back in steady steps
  std::optional<int64_t> device_total;    // bytes of the device
  std::optional<int64_t> non_torch_peak;  // of them, used beyond what allocators had reserved
  std::optional<int64_t> hard_headroom;   // device_total - non_torch_peak - peak_reserved
  std::optional<int64_t> soft_headroom;   // the same with peak_allocated
  // Frees of blocks that nobody saw allocated, and blocks that were handed out twice: the first is
  // memory from before the recording, or both are lost records.
  int64_t unmatched = 0;
  DPROF_FIELDS(rank, device, peak_allocated, peak_reserved, peak_step, by_category, source,
               peak_phase, unknown_share, by_phase, at_peak, before_bytes, retained_graph_bytes,
               steady_peak_allocated, fragmentation, free_at_end, largest_free_at_end,
               segment_allocs_per_step, segment_frees_per_step, retries, cache_flushes,
               device_total, non_torch_peak, hard_headroom, soft_headroom, unmatched);
};

struct LeakSite {
  std::string site;
  std::string phase;
  int64_t blocks = 0;  // made in the window that was judged, and still there at the end
  int64_t bytes = 0;
  DPROF_FIELDS(site, phase, blocks, bytes);
};

struct Leak {
  int rank = 0;
  int device = -1;
  int64_t bytes_per_step = 0;
  int64_t bound = 0;                   // half-width of the 95 % interval of bytes_per_step
  std::optional<double> steps_to_oom;  // from the end of the recording; nullopt: total unknown
  MemorySource source = MemorySource::kCountedEvents;
  int64_t steps = 0;            // that it was computed from
  int64_t risen_bytes = 0;      // over the window that was judged: its 20 % to 80 %
  std::vector<LeakSite> sites;  // largest first, 5 at most
  DPROF_FIELDS(rank, device, bytes_per_step, bound, steps_to_oom, source, steps, risen_bytes,
               sites);
};

// Resident memory of a process, as the recorder read it from outside.
struct HostMemory {
  int rank = 0;
  int64_t samples = 0;
  int64_t peak_resident = 0;
  std::optional<int64_t> first_steady;  // at the first and last sample within steady steps
  std::optional<int64_t> last_steady;
  std::optional<double> page_faults_per_step;  // pages that it was given, in steady steps
  std::optional<double> kernel_cpu_ns_per_step;
  DPROF_FIELDS(rank, samples, peak_resident, first_steady, last_steady, page_faults_per_step,
               kernel_cpu_ns_per_step);
};

struct OutOfMemory {
  int rank = 0;
  int device = -1;
  std::optional<int64_t> step;
  int64_t bytes = 0;                  // that were asked for
  std::optional<int64_t> free_bytes;  // reserved and not allocated at that moment
  std::optional<bool> fragmented;     // there was enough, and in pieces
  DPROF_FIELDS(rank, device, step, bytes, free_bytes, fragmented);
};

// Peaks of the ranks that have the same kind of device, against each other.
struct MemoryImbalance {
  int rank = 0;  // with the largest peak
  int64_t peak = 0;
  int64_t median = 0;
  double max_over_mean = 1;
  int64_t max_less_median = 0;
  int64_t ranks = 0;
  DPROF_FIELDS(rank, peak, median, max_over_mean, max_less_median, ranks);
};

// What dividing training state among data-parallel ranks would free, at the peak of the rank with
// the largest one.
struct ZeroSizing {
  int rank = 0;
  int64_t ranks = 0;                     // to divide among
  double share = 0;                      // of the peak: parameters, gradients, optimizer state
  std::array<int64_t, 3> saved_bytes{};  // stage 1, 2, 3
  bool worthwhile = false;               // share >= 50 %, ranks >= 4
  DPROF_FIELDS(rank, ranks, share, saved_bytes, worthwhile);
};

struct CheckpointingSizing {
  int rank = 0;
  double share = 0;  // of the peak: activations
  int64_t activation_bytes = 0;
  bool worthwhile = false;  // share >= 60 %
  DPROF_FIELDS(rank, share, activation_bytes, worthwhile);
};

struct Memory {
  std::vector<RankMemory> per_rank;        // by rank, then device
  std::optional<std::vector<Leak>> leaks;  // steepest first; nullopt = too few steps, or no series
  std::optional<Fragmentation> fragmentation;  // of the rank with the largest slack
  std::vector<HostMemory> host;
  std::vector<OutOfMemory> out_of_memory;
  std::optional<MemoryImbalance> imbalance;
  std::optional<ZeroSizing> zero;
  std::optional<CheckpointingSizing> checkpointing;
  DPROF_FIELDS(per_rank, leaks, fragmentation, host, out_of_memory, imbalance, zero, checkpointing);
};

// How much memory a rank held over time.
struct MemoryCurve {
  int device = -1;  // -1 = of the host
  MemorySource source = MemorySource::kResident;
  LevelCurve levels;
};

}  // namespace dprof::analyzer
