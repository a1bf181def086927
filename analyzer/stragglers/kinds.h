// SPDX-License-Identifier: Apache-2.0
// The kinds of own time by which ranks are compared. Time in which a rank was held up is none of
// them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "schema/marker_names.h"

namespace dprof::analyzer {

enum class OwnKind : uint8_t {
  kInput,
  // Computation: on a GPU its kernels, else the host's operators.
  kForward,
  kBackward,
  kOptimizer,
  kOtherCompute,
  // Host: within a phase but in no operator.
  kForwardHost,
  kBackwardHost,
  kOptimizerHost,
  kGc,
  kCheckpoint,
  kLogging,
  kRange,         // in another named range
  kUnattributed,  // outside every range
  kRunnable,      // ready to run, but without a core
  kAllocator,
  kSyncBubble,
  kCopy,
  kStarved,  // launches, and device idleness without a known cause
  kProfiler,
};
inline constexpr size_t kOwnKinds = 19;
using KindNs = std::array<int64_t, kOwnKinds>;

struct KindInfo {
  std::string_view cause;  // default cause of a delay of this kind
  std::string_view name;   // for people
  schema::Marker phase;    // where to look for evidence
};

inline constexpr std::array<KindInfo, kOwnKinds> kKinds = {{
    {"dataloader", "input wait", schema::Marker::kInput},
    {"compute", "forward", schema::Marker::kForward},
    {"compute", "backward", schema::Marker::kBackward},
    {"compute", "optimizer", schema::Marker::kOptimizer},
    {"compute", "other computation", schema::Marker::kNone},
    {"host", "forward outside of operators", schema::Marker::kForward},
    {"host", "backward outside of operators", schema::Marker::kBackward},
    {"host", "optimizer outside of operators", schema::Marker::kOptimizer},
    {"gc", "garbage collection", schema::Marker::kNone},
    {"checkpoint", "checkpoint", schema::Marker::kCheckpoint},
    {"rank0_work", "logging", schema::Marker::kNone},
    {"host", "named host range", schema::Marker::kNone},
    {"host", "host time outside of every range", schema::Marker::kNone},
    {"cpu_contention", "time without a core", schema::Marker::kNone},
    {"allocator", "allocator", schema::Marker::kNone},
    {"synchronisation", "idle device after a synchronisation", schema::Marker::kNone},
    {"host", "copies", schema::Marker::kNone},
    {"host", "idle device", schema::Marker::kNone},
    {"unknown", "the profiler", schema::Marker::kNone},
}};

[[nodiscard]] constexpr size_t index_of(OwnKind kind) { return static_cast<size_t>(kind); }
[[nodiscard]] constexpr bool computes(size_t kind) {
  return kind >= index_of(OwnKind::kForward) && kind <= index_of(OwnKind::kOtherCompute);
}

// A range or the kernel itself identifies it: a few occurrences are enough.
[[nodiscard]] constexpr bool is_evident(size_t kind) {
  const auto is = [&](OwnKind k) { return kind == index_of(k); };
  return is(OwnKind::kGc) || is(OwnKind::kCheckpoint) || is(OwnKind::kLogging) ||
         is(OwnKind::kAllocator);
}

}  // namespace dprof::analyzer
