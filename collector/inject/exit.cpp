// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/exit.h"

#include <unistd.h>

#include <cstdlib>

#include "collector/inject/session.h"
#include "collector/inject/source.h"

namespace dprof::inject {

void watch_exit() noexcept {
  atexit(&mark_clean_end);
  at_quick_exit(&mark_clean_end);
}

void mark_clean_end() noexcept {
  // A vfork child shares our memory, so the wiped page does not tell it apart: its pid does.
  if (!session_alive() || hot_page.pid.load(std::memory_order_relaxed) != getpid()) return;
  for (const SourceHooks* source : all_sources()) {
    if (source->finish != nullptr) source->finish();
  }
  runtime.mapping.header()->clean_end.store(1, std::memory_order_release);
}

}  // namespace dprof::inject
