// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/loader_use.h"

#include <atomic>
#include <cstdint>
#include <ctime>

namespace dprof::inject {
namespace {

constexpr long kPauseNs = 50'000;
constexpr int kForkTries = 400;    // 20 ms in all
constexpr int kExitTries = 20000;  // 1 s

constinit std::atomic<uint32_t> forks = 0;  // that have begun and not ended
constinit std::atomic<bool> in_loader = false;
constinit std::atomic<bool> ending = false;

void pause() noexcept {
  const timespec time{0, kPauseNs};
  nanosleep(&time, nullptr);
}

void wait_for_helper(int tries) noexcept {
  for (int i = 0; i < tries && in_loader.load(); ++i) pause();
}

// In the loader from now on, unless the process is ending.
bool enter() noexcept {
  in_loader.store(true);
  if (!ending.load()) return true;
  in_loader.store(false);
  return false;
}

}  // namespace

LoaderUse::LoaderUse() noexcept {
  for (int i = 0; i < kForkTries; ++i) {
    while (!enter()) pause();
    if (forks.load() == 0) return;
    in_loader.store(false);
    pause();
  }
  while (!enter()) pause();
}

LoaderUse::~LoaderUse() { in_loader.store(false); }

void begin_fork() noexcept {
  forks.fetch_add(1);
  wait_for_helper(kForkTries);
}

void end_fork() noexcept { forks.fetch_sub(1); }

void forget_loader_use() noexcept {
  forks.store(0);
  in_loader.store(false);
}

void end_loader_use() noexcept {
  ending.store(true);
  wait_for_helper(kExitTries);
}

}  // namespace dprof::inject
