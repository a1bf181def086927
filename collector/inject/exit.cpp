// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/exit.h"

#include <unistd.h>

#include <cstdlib>

#include "collector/inject/linker_use.h"
#include "collector/inject/session.h"
#include "collector/inject/source.h"

namespace dprof::inject {
namespace {

bool is_ours() noexcept {
  // A vfork child shares our memory, so the wiped page does not tell it apart: its pid does.
  return session_alive() && hot_page.pid.load(std::memory_order_relaxed) == getpid();
}

void finish_sources() noexcept {
  for (const SourceHooks* source : all_sources()) {
    if (source->finish != nullptr) source->finish();
  }
}

// What follows are the destructors of libraries. Sources finish first: the helper, which takes what
// they still have, uses the linker.
void end_in_order() noexcept {
  if (!is_ours()) return;
  finish_sources();
  end_linker_use();
  runtime.mapping.header()->clean_end.store(1, std::memory_order_release);
}

}  // namespace

void watch_exit() noexcept {
  atexit(&end_in_order);
  at_quick_exit(&mark_clean_end);
}

void mark_clean_end() noexcept {
  if (!is_ours()) return;
  finish_sources();
  runtime.mapping.header()->clean_end.store(1, std::memory_order_release);
}

}  // namespace dprof::inject
