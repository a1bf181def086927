// SPDX-License-Identifier: Apache-2.0
// Detail of a piece of time beyond its category.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dprof::analyzer {

enum class HostDetail : uint8_t {
  kNone,
  // Of category host:
  kCheckpoint,
  kRange,
  kUnattributed,
  kGc,
  kOptimizer,
  kLogging,
  kPreempted,  // ready to run, without a core
  // Of category idle: rows of this time were lost or not recorded.
  kLost,
  // Of category copy.
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kMemset,
  // Of a phase's computation on the host: ready to run, without a core.
  kRunnable,
};
inline constexpr size_t kHostDetails = 14;

}  // namespace dprof::analyzer
