// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/fork.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

#include "collector/inject/session.h"
#include "collector/inject/threads.h"

namespace dprof::inject {
namespace {

constexpr int kTries = 400;
constexpr long kPauseNs = 50'000;  // 20 ms in all

constinit std::atomic<uint32_t> forks = 0;  // that have begun and not ended
constinit std::atomic<bool> in_loader = false;

void pause() noexcept {
  const timespec time{0, kPauseNs};
  nanosleep(&time, nullptr);
}

void before_fork() noexcept {
  forks.fetch_add(1);
  for (int i = 0; i < kTries && in_loader.load(); ++i) pause();
}

void in_parent() noexcept { forks.fetch_sub(1); }

// In the child, on its only thread; nothing here allocates or locks.
void in_child() noexcept {
  forks.store(0);
  in_loader.store(false);
  disable_session();
  thread_state = nullptr;
  runtime.connection.close();
  if (runtime.memory_descriptor >= 0) close(runtime.memory_descriptor);
  runtime.memory_descriptor = -1;
  if (runtime.mapping.base != nullptr) munmap(runtime.mapping.base, wire::kTotalBytes);
  runtime.mapping = {};
}

}  // namespace

bool watch_forks() noexcept { return pthread_atfork(&before_fork, &in_parent, &in_child) == 0; }

LoaderUse::LoaderUse() noexcept {
  for (int i = 0; i < kTries; ++i) {
    in_loader.store(true);
    if (forks.load() == 0) return;
    in_loader.store(false);
    pause();
  }
  in_loader.store(true);
}

LoaderUse::~LoaderUse() { in_loader.store(false); }

}  // namespace dprof::inject
