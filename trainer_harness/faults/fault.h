// SPDX-License-Identifier: Apache-2.0
// Faults injected into a run on purpose, to check a profiler's findings against a known truth:
// their kinds and their syntax.
//
// A fault is written `KIND:key=value,...`, as in `loader:rank=1,ms=12` or
// `compute:rank=0,ms=5,every=10,mode=sleep`. fault_catalogue() lists the kinds with their required
// and optional keys.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer_harness/common/usage_error.h"

namespace dprof::trainer_harness {

enum class FaultKind : uint8_t {
  kCompute,
  kForward,
  kBackward,
  kOptimizer,
  kLoader,
  kGcPause,
  kSync,
  kCpuContention,
  kPinnedCore,
  kSkewedBatch,
  kLongSequences,
  kRotating,
  kTransient,
  kPeriodic,
  kOnset,
  kSlowLink,
  kBucketCap,
  kLeak,
  kAllocChurn,
  kEmptyCache,
  kCheckpointStall,
  kLoggingStall,
  kEarlyExit,
  kWrongSize,
  kWrongOrder,
  kHang,
  kCrash,
  kKill,
};

// Places of a step where a fault can act.
enum class Place : uint8_t {
  kStepBegin,
  kInput,     // while a batch is made, on the thread that makes it
  kForward,   // at its start
  kBackward,  // in a gradient hook: the other ranks wait within *their* backward, so that phase
              // times do not show it
  kOptimizer,
  kCheckpoint,
  kLog,
  kStepEnd,
  kNone,  // not in a step: it changes input data or settings
};

// The keys of a fault's `key=value` pairs.
enum class FaultKey : uint8_t {
  kRank,
  kMs,
  kShare,
  kStep,
  kFrom,
  kTo,
  kEvery,
  kMode,
  kMb,
  kRate,
  kDelay,
  kLoss,
};

// A set of FaultKeys, one bit each.
using FaultKeys = uint32_t;
constexpr FaultKeys bit(FaultKey key) { return FaultKeys{1} << static_cast<unsigned>(key); }

inline constexpr int kEveryRank = -1;

// A kind of fault.
struct FaultRow {
  std::string_view name;
  FaultKind kind;
  Place place;
  FaultKeys needs;
  FaultKeys takes;        // in addition to those
  int default_rank = 0;   // without rank=; or kEveryRank
  bool spins = false;     // unless mode= says otherwise
  bool one_rank = false;  // rank=all makes no sense
  double share = 0;       // the default
  double mb = 0;          // the default
  std::string_view about;
};

struct Fault {
  FaultKind kind = FaultKind::kCompute;
  int rank = 0;  // or kEveryRank
  double ms = 0;
  double share = 0;
  int64_t from = 0;  // steps [from, to), every `every`th of them
  int64_t to = std::numeric_limits<int64_t>::max();
  int64_t every = 1;
  bool once = false;  // step=S: at the first opportunity in that step only
  bool spin = false;  // keeps its core busy; else it sleeps
  double mb = 0;
  double rate_mbit = 0;  // 0: not limited
  double delay_ms = 0;
  double loss = 0;   // share of packets lost
  std::string text;  // as given by the user
};

[[nodiscard]] std::span<const FaultRow> fault_catalogue();
[[nodiscard]] const FaultRow& fault_row(FaultKind kind);

// "compute, forward, ...": for help and hints.
[[nodiscard]] std::string fault_kind_names();

// The syntax of this kind's keys: "rank=R|all,ms=D[,from=S,to=S]".
[[nodiscard]] std::string fault_usage(const FaultRow& row);

// Throws UsageError.
[[nodiscard]] Fault parse_fault(std::string_view text);

// Throws UsageError if a job of `world_size` ranks cannot have these faults.
void check_faults(const std::vector<Fault>& faults, int world_size);

}  // namespace dprof::trainer_harness
