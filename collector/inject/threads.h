// SPDX-License-Identifier: Apache-2.0
// One ring per recording thread: taken at its first event, returned when it ends. A thread without
// a ring records nothing, and each of its events is counted.
//
// Threading  current_thread() and what it returns belong to the calling thread; claiming is
//            lock-free. The states are static, so a hook never allocates.
#pragma once

#include "collector/inject/hot_page.h"
#include "collector/inject/session.h"
#include "collector/inject/strings.h"
#include "collector/wire/ring.h"

namespace dprof::inject {

// The nesting ranges of this thread that were written: ends are written for those only. A
// range can begin while its source is off, or be dropped by a full ring.
//
// Cost  usually a compare with the top.
class OpenRanges {
 public:
  static constexpr uint32_t kDepth = 128;

  // Beyond kDepth the outermost entry is forgotten: its end will not be written.
  void push(uint64_t what, bool written) noexcept {
    if (depth_ == kDepth) [[unlikely]]
      forget_outermost();
    entries_[depth_++] = {what, written};
  }
  // Removes the innermost entry of `what`; true if its begin was written.
  bool pop(uint64_t what) noexcept {
    for (uint32_t at = depth_; at-- > 0;) {
      if (entries_[at].what != what) continue;
      const bool written = entries_[at].written;
      --depth_;
      for (uint32_t i = at; i < depth_; ++i) entries_[i] = entries_[i + 1];
      return written;
    }
    return false;
  }
  // Forgets everything if the source was off in between, because ends in that time were not seen.
  void follow(uint32_t mask) noexcept {
    const uint32_t epoch = mask >> kMaskEpochShift;
    if (epoch == epoch_) return;
    epoch_ = epoch;
    depth_ = 0;
  }
  void clear() noexcept { depth_ = 0; }

 private:
  struct Entry {
    uint64_t what = 0;
    bool written = false;
  };

  [[gnu::noinline, gnu::cold]] void forget_outermost() noexcept {
    for (uint32_t i = 1; i < depth_; ++i) entries_[i - 1] = entries_[i];
    --depth_;
  }

  Entry entries_[kDepth] = {};
  uint32_t depth_ = 0;
  uint32_t epoch_ = 0;
};

struct ThreadState {
  wire::RingWriter writer;
  TextCache texts;
  OpenRanges nvtx_open;   // by domain
  OpenRanges torch_open;  // by address of the RecordFunction
  uint32_t ring = 0;
  uint64_t ranges = 0;  // NVTX start/end ranges numbered on this ring so far
};

// Times the enclosing hook once in wire::kTimedEvery records.
//
// Cost  1 ns otherwise.
class HookTimer {
 public:
  explicit HookTimer(ThreadState& thread) noexcept : thread_(thread) {
    if (thread.writer.timing_due()) [[unlikely]]
      begin_ = ticks();
  }
  ~HookTimer() {
    if (begin_ != 0) [[unlikely]]
      thread_.writer.note_time(ticks() - begin_);
  }
  HookTimer(const HookTimer&) = delete;
  HookTimer& operator=(const HookTimer&) = delete;

 private:
  ThreadState& thread_;
  uint64_t begin_ = 0;
};

extern thread_local ThreadState* thread_state __attribute__((tls_model("initial-exec")));

// Takes a ring for the calling thread; null (and counted) if none is free. After a failed search no
// thread searches again until the helper has found a free ring.
[[gnu::noinline, gnu::cold]] ThreadState* claim_thread() noexcept;

[[nodiscard]] inline ThreadState* current_thread() noexcept {
  ThreadState* state = thread_state;
  return state != nullptr ? state : claim_thread();
}

// Once, before the session is active: registers the handler for the end of a recording thread.
[[nodiscard]] bool prepare_threads() noexcept;

// Keeps two free rings populated, so that a thread's first event only takes one. By the helper, at
// least each 100 ms.
void keep_spare_rings() noexcept;

}  // namespace dprof::inject
