// SPDX-License-Identifier: Apache-2.0
// Each rank's memory (docs/analysis/memory.md): this part of the report's typed result. Bytes are
// those of the allocator's blocks, steps are step indices. std::nullopt = unknown, never a guess;
// an empty list = looked, found none.
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

// The source of a device's figures, the best first.
enum class MemorySource : uint8_t {
  kAllocatorEvents,  // each allocation, and the allocator's own totals with it or once per step
  kCountedEvents,    // each allocation, added up here: older blocks that were never freed are
                     // missing
  kStepSamples,      // the allocator's statistics, once per step
  kResident,         // the resident set of the process: without an allocator's data
};
inline constexpr size_t kMemorySources = 4;
[[nodiscard]] std::string_view word_of(MemorySource source);  // as in JSON: "allocator_events"
[[nodiscard]] std::string_view title_of(MemorySource source);

// The contents of memory, in the order of the report.
enum class MemoryUse : uint8_t {
  kParameter,
  kGradient,
  kBucket,  // DDP's buffers
  kOptimizerState,
  kActivation,  // made in forward, for backward
  kInput,       // batches
  kTemporary,   // made and freed within one operation or phase
  kAutograd,    // made and freed within backward
  kPersistent,  // stays for more than two steps, and its use is unknown
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

// Blocks live at the peak, by use and allocation site.
struct MemoryHolder {
  MemoryUse use = MemoryUse::kUnknown;
  std::string site;   // the innermost operation or range that allocated it; "" = unknown
  std::string phase;  // in which it was allocated; "before" = before the recording
  int64_t blocks = 0;
  int64_t bytes = 0;
  DPROF_FIELDS(use, site, phase, blocks, bytes);
};

struct Fragmentation {
  // Both are shares of reserved memory, at the peak of a step; median over steady steps.
  std::optional<double> slack;           // reserved and not allocated
  std::optional<double> non_releasable;  // of the slack, in segments that are partly in use
  DPROF_FIELDS(slack, non_releasable);
};

// One device of one rank; device -1 is host memory. Peaks are over the whole recording.
struct RankMemory {
  int rank = 0;
  int device = -1;
  std::optional<int64_t> peak_allocated;  // device -1 with kResident: nullopt, see Memory::host
  std::optional<int64_t> peak_reserved;
  std::optional<int64_t> peak_step;  // step in which `peak_allocated` was first reached
  MemorySource source = MemorySource::kResident;
  std::string peak_phase;                     // "" = unknown
  std::optional<MemoryUseBytes> by_category;  // adds up to peak_allocated
  std::optional<double> unknown_share;        // share of the peak in kPersistent and kUnknown
  std::vector<PhasePeak> by_phase;            // by peak, largest first
  std::vector<MemoryHolder> at_peak;          // largest first, 12 at most
  int64_t before_bytes = 0;                   // at the peak, allocated before the recording
  int64_t retained_graph_bytes = 0;  // at the peak, activations kept beyond the step after theirs
  std::optional<int64_t> steady_peak_allocated;  // median over the steady steps' peaks
  Fragmentation fragmentation;
  // At the end of the recording, if known: reserved and not allocated, and its largest piece.
  std::optional<int64_t> free_at_end;
  std::optional<int64_t> largest_free_at_end;
  std::optional<double> segment_allocs_per_step;  // mean in steady steps; 0 is healthy
  std::optional<double> segment_frees_per_step;
  // The number of times the allocator found no memory, released its cache and retried; nullopt =
  // cannot be distinguished from the program emptying the cache.
  std::optional<int64_t> retries;
  int64_t cache_flushes = 0;              // runs of segments released in steady steps
  std::optional<int64_t> device_total;    // bytes of the device
  std::optional<int64_t> non_torch_peak;  // of these, used beyond the allocators' reserved memory
  std::optional<int64_t> hard_headroom;   // device_total - non_torch_peak - peak_reserved
  std::optional<int64_t> soft_headroom;   // the same with peak_allocated
  // Frees of blocks without a recorded allocation, and blocks that were allocated twice: the former
  // are from before the recording, or both are lost records.
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
  int64_t blocks = 0;  // allocated in the judged window and still live at the end
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
  int64_t steps = 0;            // from which it was computed
  int64_t risen_bytes = 0;      // over the judged window: its 20 % to 80 %
  std::vector<LeakSite> sites;  // largest first, 5 at most
  DPROF_FIELDS(rank, device, bytes_per_step, bound, steps_to_oom, source, steps, risen_bytes,
               sites);
};

// Resident memory of a process, read by the recorder from outside.
struct HostMemory {
  int rank = 0;
  int64_t samples = 0;
  int64_t peak_resident = 0;
  std::optional<int64_t> first_steady;  // at the first and last sample within steady steps
  std::optional<int64_t> last_steady;
  std::optional<double> page_faults_per_step;  // per steady step
  std::optional<double> kernel_cpu_ns_per_step;
  DPROF_FIELDS(rank, samples, peak_resident, first_steady, last_steady, page_faults_per_step,
               kernel_cpu_ns_per_step);
};

struct OutOfMemory {
  int rank = 0;
  int device = -1;
  std::optional<int64_t> step;
  int64_t bytes = 0;                  // requested
  std::optional<int64_t> free_bytes;  // reserved and not allocated at that moment
  std::optional<bool> fragmented;     // enough was free, but in pieces
  DPROF_FIELDS(rank, device, step, bytes, free_bytes, fragmented);
};

// Compares the peaks of the ranks with the same kind of device.
struct MemoryImbalance {
  int rank = 0;  // with the largest peak
  int64_t peak = 0;
  int64_t median = 0;
  double max_over_mean = 1;
  int64_t max_less_median = 0;
  int64_t ranks = 0;
  DPROF_FIELDS(rank, peak, median, max_over_mean, max_less_median, ranks);
};

// The memory that sharding the training state among data-parallel ranks would free, at the peak of
// the rank with the largest one.
struct ZeroSizing {
  int rank = 0;
  int64_t ranks = 0;                     // that would share it
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

// A rank's memory over time.
struct MemoryCurve {
  int device = -1;  // -1 = the host
  MemorySource source = MemorySource::kResident;
  LevelCurve levels;
};

}  // namespace dprof::analyzer
