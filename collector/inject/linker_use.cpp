// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/linker_use.h"

#include <atomic>
#include <cstdint>
#include <ctime>

namespace dprof::inject {
namespace {

constexpr long kPauseNs = 50'000;
constexpr int kForkTries = 400;    // 20 ms in all
constexpr int kExitTries = 20000;  // 1 s

constinit std::atomic<uint32_t> forks = 0;  // begun and not yet ended
constinit std::atomic<bool> in_linker = false;
constinit std::atomic<bool> ending = false;

void pause() noexcept {
  const timespec time{0, kPauseNs};
  nanosleep(&time, nullptr);
}

void wait_for_helper(int tries) noexcept {
  for (int i = 0; i < tries && in_linker.load(); ++i) pause();
}

// Marks the helper as in the loader, unless the process is ending.
bool enter() noexcept {
  in_linker.store(true);
  if (!ending.load()) return true;
  in_linker.store(false);
  return false;
}

}  // namespace

LinkerUse::LinkerUse() noexcept {
  for (int i = 0; i < kForkTries; ++i) {
    while (!enter()) pause();
    if (forks.load() == 0) return;
    in_linker.store(false);
    pause();
  }
  while (!enter()) pause();
}

LinkerUse::~LinkerUse() { in_linker.store(false); }

void begin_fork() noexcept {
  forks.fetch_add(1);
  wait_for_helper(kForkTries);
}

void end_fork() noexcept { forks.fetch_sub(1); }

void forget_linker_use() noexcept {
  forks.store(0);
  in_linker.store(false);
}

void end_linker_use() noexcept {
  ending.store(true);
  wait_for_helper(kExitTries);
}

}  // namespace dprof::inject
