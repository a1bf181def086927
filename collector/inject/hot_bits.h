// SPDX-License-Identifier: Apache-2.0
// The bits of the mask that hooks test, shared by libdprof.so and libdprof_torch.so.
#pragma once

#include <cstdint>

namespace dprof::inject {

// A source's bit is 1 << its number in the trace's enumeration Source.
inline constexpr uint32_t kMaskTorch = 1u << 1;
inline constexpr uint32_t kMaskNvtx = 1u << 2;
inline constexpr uint32_t kMaskNccl = 1u << 3;
inline constexpr uint32_t kMaskCuda = 1u << 4;
inline constexpr uint32_t kMaskSources = 0xffu;
inline constexpr uint32_t kMaskStandard = 1u << 8;  // detail standard or more
inline constexpr uint32_t kMaskFull = 1u << 9;      // detail full
inline constexpr uint32_t kMaskEpochShift = 16;     // the rest counts NVTX's on/off changes

}  // namespace dprof::inject
