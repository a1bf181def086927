// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/shutdown.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "collector/inject/c_library.h"
#include "collector/inject/linker_use.h"
#include "collector/inject/session.h"
#include "collector/wire/ring.h"
#include "collector/wire/ticks.h"

namespace dprof::inject {
namespace {

constexpr uint64_t kPatienceNs = 2'000'000'000;
constexpr long kAskAgainNs = 1'000'000;  // the helper may just be about to sleep

thread_local bool is_helper __attribute__((tls_model("initial-exec"))) = false;
constinit std::atomic<uint32_t> phase_word = static_cast<uint32_t>(Phase::kServing);

bool move(Phase from, Phase to) noexcept {
  auto expected = static_cast<uint32_t>(from);
  return phase_word.compare_exchange_strong(expected, static_cast<uint32_t>(to),
                                            std::memory_order_acq_rel);
}

bool is_ours() noexcept {
  // A vfork child shares our memory, wiped page included: its pid identifies it.
  return hot_page.pid.load(std::memory_order_relaxed) == getpid();
}

void set_clean_end(uint32_t word) noexcept {
  if (!is_ours()) return;
  finish_session();
  runtime.mapping.header()->clean_end.store(word, std::memory_order_release);
}

// The exit code is not known here.
void end_quickly(void*) noexcept { set_clean_end(wire::kCleanEnd); }

// Runs before the destructors of libraries.
void end_in_order() noexcept {
  if (!is_ours()) return;
  finish_session();
  end_linker_use();
  end_quickly(nullptr);
}

// Runs after the destructors: the linker does not know whose handler this is. Registered in a
// library's constructor, an on_exit() handler alone would run too late to keep the helper out of
// the linker.
void note_code(int code, void*) noexcept { mark_clean_end(code); }

}  // namespace

Phase phase() noexcept { return static_cast<Phase>(phase_word.load(std::memory_order_acquire)); }

void note_helper() noexcept { is_helper = true; }

bool begin_stopping() noexcept { return move(Phase::kServing, Phase::kStopping); }

void declare_over() noexcept {
  phase_word.store(static_cast<uint32_t>(Phase::kOver), std::memory_order_release);
  wire::futex_wake(phase_word);
}

void watch_exit() noexcept {
  on_exit(&note_code, nullptr);
  atexit(&end_in_order);
  __cxa_at_quick_exit(&end_quickly, __dso_handle);
}

void finish_session() noexcept {
  if (!is_ours() || is_helper) return;
  const int kept = errno;
  move(Phase::kServing, Phase::kFinishing);
  const uint64_t until = wire::monotonic_ns() + kPatienceNs;
  for (Phase now = phase(); now != Phase::kOver && wire::monotonic_ns() < until; now = phase()) {
    wire::futex_wake(runtime.mapping.control()->generation);  // the helper sleeps on it
    const timespec time{0, kAskAgainNs};
    syscall(SYS_futex, &phase_word, FUTEX_WAIT, static_cast<uint32_t>(now), &time, nullptr, 0);
  }
  errno = kept;
}

void mark_clean_end(int code) noexcept { set_clean_end(wire::clean_end_of(code)); }

}  // namespace dprof::inject
