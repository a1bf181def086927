// SPDX-License-Identifier: Apache-2.0
// A session within the test program, without a recorder: the test reads the rings itself.
//
// Threading  one at a time, by one thread.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "collector/inject/memory.h"
#include "collector/inject/session.h"
#include "collector/inject/threads.h"
#include "collector/wire/arena.h"

namespace dprof::inject {

class LocalSession {
 public:
  LocalSession() {
    const SharedMemory memory = create_shared_memory();
    EXPECT_EQ(memory.error, 0) << memory.what;
    close(memory.descriptor);
    runtime.mapping = memory.mapping;
    runtime.scale = tick_scale_of(nullptr);
    wire::arena_start(runtime.mapping);
    if (static bool prepared = false; !std::exchange(prepared, true)) {
      EXPECT_TRUE(prepare_threads());
    }
    // Like a real session: a fork child finds zeroes.
    EXPECT_EQ(madvise(&hot_page, sizeof hot_page, MADV_WIPEONFORK), 0);
    hot_page.pid.store(getpid());
    hot_page.alive.store(1);
    set_mask(mask_of(wire::DetailLevel::kFull));
  }
  ~LocalSession() {
    disable_session();
    thread_state = nullptr;
    munmap(runtime.mapping.base, wire::kTotalBytes);
    runtime.mapping = {};
  }
  LocalSession(const LocalSession&) = delete;
  LocalSession& operator=(const LocalSession&) = delete;
};

}  // namespace dprof::inject
