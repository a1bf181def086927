// SPDX-License-Identifier: Apache-2.0
// Events beyond the usual ones, asked for with DPROF_NCCL_EVENTS=channels,proxy. They have a price
// and known faults (docs/nccl.md), so nobody gets them unasked, and an NCCL that is known to fail
// with them does not get them at all.
//
// Threading  any thread; reads the environment.
#pragma once

#include <cstdint>

namespace dprof::inject::nccl {

inline constexpr char kEventsVariable[] = "DPROF_NCCL_EVENTS";

struct Options {
  uint32_t mask = 0;      // event types that are added
  bool refused = false;   // something that was asked for is left out
  char source[192] = {};  // for Fact::kNcclSource: "on", and what of the wishes became of
};

// `wishes` as the variable has them, null = none. Of an NCCL whose version is not known nothing is
// asked.
[[nodiscard]] Options options_for(const char* wishes, int version) noexcept;

}  // namespace dprof::inject::nccl
