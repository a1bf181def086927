// SPDX-License-Identifier: Apache-2.0
// Layout of the memfd that a recorded process shares with its recorder. Sparse: pages exist only
// where used.
//
//   header · control page · ring directory · string arena · rings
//
// All words that both sides touch are lock-free atomics. The recorder writes the control page and
// the tails; the process writes everything else. `kWireVersion` changes with any layout here or in
// record.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collector/wire/record.h"

namespace dprof::wire {

inline constexpr uint64_t kMagic = 0x3147'4e49'5250'4444;  // "DDPRING1"
inline constexpr uint32_t kWireVersion = 6;

inline constexpr uint32_t kMaxRings = 128;
inline constexpr uint32_t kRingSlots = 16384;  // 1 MiB: 164 ms at 100,000 records/s
inline constexpr uint64_t kRingBytes = uint64_t{kRingSlots} * kSlotBytes;
inline constexpr uint64_t kArenaBytes = uint64_t{64} << 20;
inline constexpr uint32_t kMaxTextBytes = 4096;  // longer texts are cut
// Follows the message of an exception that ended its thread, not its process.
inline constexpr std::string_view kEndedItsThread = " (in a thread; the process went on)";

inline constexpr uint64_t kHeaderOffset = 0;
inline constexpr uint64_t kControlOffset = 4096;
inline constexpr uint64_t kDirectoryOffset = 8192;
inline constexpr uint64_t kDirectoryEntryBytes = 256;
inline constexpr uint64_t kArenaOffset = 65536;
inline constexpr uint64_t kRingsOffset = kArenaOffset + kArenaBytes;
inline constexpr uint64_t kTotalBytes = kRingsOffset + kMaxRings * kRingBytes;
static_assert(kDirectoryOffset + kMaxRings * kDirectoryEntryBytes <= kArenaOffset);

enum class ClockSource : uint32_t { kTsc = 1, kMonotonic = 2 };
enum class DetailLevel : uint32_t { kLight = 1, kStandard = 2, kFull = 3 };
enum class CaptureState : uint32_t { kOff = 0, kArmed = 1, kRecording = 2, kStop = 3 };
enum class CaptureCause : uint32_t {
  kStart = 0,
  kWindow = 1,
  kRequest = 2,
  kGovernor = 3,
  kLoss = 4,
  kTrigger = 5
};

// ns since the recorder's start = ((ticks - tick0) * multiplier) >> shift, in 128-bit arithmetic.
// Fixed for the run.
struct TickScale {
  uint64_t tick0;
  uint64_t multiplier;
  uint32_t shift;
  ClockSource source;
  friend bool operator==(const TickScale&, const TickScale&) = default;
};
static_assert(sizeof(TickScale) == 24);

[[nodiscard]] inline int64_t ticks_to_ns(const TickScale& scale, uint64_t ticks) noexcept {
  const auto distance = static_cast<__int128>(ticks) - static_cast<__int128>(scale.tick0);
  return static_cast<int64_t>((distance * static_cast<__int128>(scale.multiplier)) >> scale.shift);
}

// Facts that become known some time after the start: arena ids, 0 = not known.
enum class Fact : uint32_t {
  kTorchVersion,
  kTorchBuildId,
  kTorchSource,
  kNvtxSource,
  kRankVariables,
  kNcclSource,   // "on", or why not
  kNcclVersion,  // "2.28.9"
  kCuptiSource,  // "on", or why not
  kCuptiVersion,
  kCudaDriver,    // version of the driver
  kMemorySource,  // which memory is recorded
  kException,     // uncaught: "TYPE: MESSAGE", then "\n\tFILE:LINE FUNCTION" for each frame
  kTorchPath,     // of a libtorch_cpu of unknown build, for the recorder to probe
  kCount
};
inline constexpr uint32_t kFactCount = 16;  // room

// Remarks of the process; the recorder turns each non-zero count into a diagnostic of that name.
enum class Remark : uint32_t {
  kTorchVersionMismatch,
  kTorchLibraryMissing,
  kCuptiTaken,    // another client uses CUPTI; named in Fact::kCuptiSource if known
  kCuptiRefused,  // CUPTI answered with an error
  kCuptiMissing,  // no libcupti could be loaded
  kNcclTooOld,
  kNcclEventsRefused,  // part of DPROF_NCCL_EVENTS; details in Fact::kNcclSource
  kCount
};
inline constexpr uint32_t kRemarkCount = 32;

// Losses that belong to no ring.
enum class SharedLoss : uint32_t {
  kNoRing,
  kArenaFull,
  kTextCut,
  kCuptiDropped,  // CUPTI's own count
  kCuptiQueue,    // buffers that were recycled unread; counts bytes / 64
  kCount
};
inline constexpr uint32_t kSharedLossCount = 8;

struct LossCounter {
  std::atomic<uint64_t> count;
  std::atomic<uint64_t> first_ticks;  // 0 = none
  std::atomic<uint64_t> last_ticks;
};

// Cost of the hooks: one call in kTimedEvery is timed. Written by the producer.
inline constexpr uint32_t kTimedEvery = 1024;
struct HookTimes {
  std::atomic<uint64_t> calls;        // slots written up to the last timed call
  std::atomic<uint64_t> timed;        // number of timed calls
  std::atomic<uint64_t> timed_ticks;  // their total time
};

// Header::clean_end of a process that ends in good order, with its exit code if known.
inline constexpr uint32_t kCleanEnd = 1;
inline constexpr uint32_t kCodeKnown = 0x100;
[[nodiscard]] constexpr uint32_t clean_end_of(int code) noexcept {
  return kCleanEnd | kCodeKnown | (static_cast<uint32_t>(code) & 0xff) << 16;
}
// The exit code; -1 = not known.
[[nodiscard]] constexpr int code_of_clean_end(uint32_t word) noexcept {
  return (word & kCodeKnown) != 0 ? static_cast<int>(word >> 16 & 0xff) : -1;
}

struct Header {
  uint64_t magic;
  uint32_t wire_version;
  uint32_t max_rings;
  uint32_t ring_slots;
  uint32_t reserved;
  uint64_t arena_bytes;
  uint64_t total_bytes;
  TickScale scale;
  std::atomic<uint32_t> clean_end;    // 0: not in good order, or still running
  std::atomic<uint32_t> rings_taken;  // directory entries ever used
  std::atomic<uint64_t> arena_used;   // bytes; may pass arena_bytes when full
  std::atomic<uint32_t> facts[kFactCount];
  std::atomic<uint32_t> remarks[kRemarkCount];
  LossCounter losses[kSharedLossCount];
};
static_assert(sizeof(Header) <= kControlOffset);

enum class TorchVerdict : uint32_t { kNone = 0, kFits = 1, kDiffers = 2 };
inline constexpr uint32_t kVerdictBytes = 512;

// Written by the recorder: the fields first, then `generation` (release), then a futex wake of
// `generation`.
struct ControlPage {
  std::atomic<uint32_t> generation;
  std::atomic<uint32_t> state;    // CaptureState
  std::atomic<uint32_t> detail;   // DetailLevel
  std::atomic<uint32_t> sources;  // bit mask of Source numbers that may record; all ones = all
  std::atomic<uint32_t> cause;    // CaptureCause of the last change
  std::atomic<uint32_t> hangs;    // how often the job was seen to hang: each time, unfinished
                                  // records are to be flushed
  alignas(64) std::atomic<uint32_t> recorder_asleep;  // 1: the drain thread sleeps on `wake`
  std::atomic<uint32_t> wake;  // futex; a producer adds 1 when its ring is half full
  alignas(64) std::atomic<uint32_t> torch_verdict;  // TorchVerdict
  char torch_sentence[kVerdictBytes];               // for kDiffers; written before it
};
static_assert(sizeof(ControlPage) <= kDirectoryOffset - kControlOffset);

enum class RingStatus : uint32_t { kFree = 0, kLive = 1, kClosed = 2 };

// One entry of the ring directory. free → live (a thread took it) → closed (that thread ended) →
// free (drained). `os_tid` is set before `live`; head and tail go on counting from owner to owner.
struct alignas(64) RingShared {
  // Written by the producer.
  std::atomic<uint64_t> head;    // slots ever written
  std::atomic<uint32_t> status;  // RingStatus; the recorder writes kFree
  std::atomic<uint32_t> os_tid;
  LossCounter dropped;
  HookTimes hooks;
  // Written by the recorder.
  alignas(64) std::atomic<uint64_t> tail;  // slots ever read
};
static_assert(sizeof(RingShared) <= kDirectoryEntryBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<uint32_t>::is_always_lock_free);

// The parts of a mapping. `base` is page-aligned and kTotalBytes long.
struct Mapping {
  unsigned char* base = nullptr;

  [[nodiscard]] Header* header() const noexcept {
    return reinterpret_cast<Header*>(base + kHeaderOffset);
  }
  [[nodiscard]] ControlPage* control() const noexcept {
    return reinterpret_cast<ControlPage*>(base + kControlOffset);
  }
  [[nodiscard]] RingShared* ring(uint32_t index) const noexcept {
    return reinterpret_cast<RingShared*>(base + kDirectoryOffset + index * kDirectoryEntryBytes);
  }
  [[nodiscard]] Record* slots(uint32_t index) const noexcept {
    return reinterpret_cast<Record*>(base + kRingsOffset + index * kRingBytes);
  }
  [[nodiscard]] unsigned char* arena() const noexcept { return base + kArenaOffset; }
};

inline void count_loss(LossCounter& loss, uint64_t ticks) noexcept {
  if (loss.count.fetch_add(1, std::memory_order_relaxed) == 0) {
    loss.first_ticks.store(ticks, std::memory_order_relaxed);
  }
  loss.last_ticks.store(ticks, std::memory_order_relaxed);
}

}  // namespace dprof::wire
