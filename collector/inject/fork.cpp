// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/fork.h"

#include <sys/mman.h>
#include <unistd.h>

#include "collector/inject/c_library.h"
#include "collector/inject/linker_use.h"
#include "collector/inject/session.h"
#include "collector/inject/threads.h"

namespace dprof::inject {
namespace {

// In the child, on its only thread; nothing here allocates or locks.
void in_child() noexcept {
  forget_linker_use();
  disable_session();
  thread_state = nullptr;
  runtime.connection.close();
  if (runtime.memory_descriptor >= 0) close(runtime.memory_descriptor);
  runtime.memory_descriptor = -1;
  if (runtime.mapping.base != nullptr) munmap(runtime.mapping.base, wire::kTotalBytes);
  runtime.mapping = {};
}

}  // namespace

bool watch_forks() noexcept {
  return __register_atfork(&begin_fork, &end_fork, &in_child, __dso_handle) == 0;
}

}  // namespace dprof::inject
