// SPDX-License-Identifier: Apache-2.0
// Optional events, requested with DPROF_NCCL_EVENTS=channels,proxy. They have a cost and known
// faults (docs/nccl.md), so they are off by default, and an NCCL that is known to fail with them is
// not asked for them at all.
//
// Threading  any thread; reads the environment.
#pragma once

#include <cstdint>

namespace dprof::inject::nccl {

inline constexpr char kEventsVariable[] = "DPROF_NCCL_EVENTS";

struct Options {
  uint32_t mask = 0;      // event types that are added
  bool refused = false;   // a requested event is left out
  char source[192] = {};  // for Fact::kNcclSource: "on", and the outcome of the request
};

// `wishes` as in the variable, null = none. With an unknown NCCL version no events are requested.
[[nodiscard]] Options options_for(const char* wishes, int version) noexcept;

}  // namespace dprof::inject::nccl
