// SPDX-License-Identifier: Apache-2.0
// What a source (torch, NCCL, CUDA) lets the helper thread do for it. NVTX needs nothing: its hooks
// look at the mask themselves.
//
// Threading  all on the helper, one after the other. All but drain() may call the dynamic linker,
//            for which forks wait a little (linker_use.h).
#pragma once

#include <cstdint>

#include "collector/wire/layout.h"

namespace dprof::inject {

struct SourceHooks {
  // What is to be recorded has changed, or the session has begun: the mask that hooks test
  // (hot_bits.h, 0 = nothing) and the level that is asked for.
  void (*apply)(uint32_t mask, wire::DetailLevel detail) noexcept;
  // On each wake-up. Returns for how long it needs no other, in ns.
  uint64_t (*serve)(uint64_t now_ns) noexcept;
  // After serve(): what may take long and needs no linker. Returns the same. May be null.
  uint64_t (*drain)() noexcept;
  // The process ends in good order, and its libraries are still there. Last call; 2 s at most. May
  // be null.
  void (*finish)() noexcept;
  // The recorder is gone, or said stop. Everything is switched off and given back, for good. Last
  // call. May be null: apply(0) is enough.
  void (*stop)() noexcept;
};

inline constexpr uint64_t kNoHurry = 100'000'000;  // the helper wakes up that often anyway

// All of them, in the order in which they are served.
struct SourceList {
  const SourceHooks* const* begin_;
  const SourceHooks* const* end_;
  [[nodiscard]] const SourceHooks* const* begin() const noexcept { return begin_; }
  [[nodiscard]] const SourceHooks* const* end() const noexcept { return end_; }
};
[[nodiscard]] SourceList all_sources() noexcept;

}  // namespace dprof::inject
