// SPDX-License-Identifier: Apache-2.0
// The helper thread's work for a source (torch, NCCL, CUDA). NVTX needs none of it: its hooks
// read the mask themselves.
//
// Threading  all on the helper, one after the other. All but drain() can call the dynamic linker,
//            for which forks wait a little (linker_use.h).
#pragma once

#include <cstdint>

#include "collector/wire/layout.h"

namespace dprof::inject {

struct SourceHooks {
  // The session has begun, or the recorder changed what to record: the mask that hooks test
  // (hot_bits.h, 0 = nothing) and the requested level.
  void (*apply)(uint32_t mask, wire::DetailLevel detail) noexcept;
  // On each wake-up. Returns how long no further call is needed, in ns.
  uint64_t (*serve)(uint64_t now_ns) noexcept;
  // After serve(): work that can take long and needs no linker. Returns the same. Can be null.
  uint64_t (*drain)() noexcept;
  // The process ends in good order, and its libraries are still loaded. Last call; 2 s at most. Can
  // be null.
  void (*finish)() noexcept;
  // The recorder is gone, or said stop. Everything is switched off and released for good. Last
  // call. Can be null: apply(0) is enough.
  void (*stop)() noexcept;
};

inline constexpr uint64_t kNoHurry = 100'000'000;  // the helper wakes up this often anyway

// All sources, in the order in which they are served.
struct SourceList {
  const SourceHooks* const* begin_;
  const SourceHooks* const* end_;
  [[nodiscard]] const SourceHooks* const* begin() const noexcept { return begin_; }
  [[nodiscard]] const SourceHooks* const* end() const noexcept { return end_; }
};
[[nodiscard]] SourceList all_sources() noexcept;

}  // namespace dprof::inject
