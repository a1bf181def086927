// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/threads.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/inject/core_table.h"
#include "collector/inject/test_support/local_session.h"
#include "collector/wire/enum_values.h"

namespace dprof::inject {
namespace {

void set_status(uint32_t ring, wire::RingStatus status) {
  runtime.mapping.ring(ring)->status.store(static_cast<uint32_t>(status));
}

uint64_t events_without_ring() {
  return runtime.mapping.header()
      ->losses[static_cast<uint32_t>(wire::SharedLoss::kNoRing)]
      .count.load();
}

// Otherwise each event of such a thread would search all rings, twice.
TEST(Threads, AfterAVainLookOnlyTheHelperLooksForAFreeRing) {
  const LocalSession session;
  for (uint32_t ring = 0; ring < wire::kMaxRings; ++ring) set_status(ring, wire::RingStatus::kLive);
  EXPECT_EQ(claim_thread(), nullptr);
  set_status(77, wire::RingStatus::kFree);
  EXPECT_EQ(claim_thread(), nullptr) << "nobody has looked again";
  EXPECT_EQ(events_without_ring(), 2u);
  keep_spare_rings();
  const ThreadState* thread = claim_thread();
  ASSERT_NE(thread, nullptr);
  EXPECT_EQ(thread->ring, 77u);
  EXPECT_EQ(events_without_ring(), 2u);
}

// No handler of ours runs in the child, and the ring in its thread state is its parent's.
TEST(Threads, TheChildOfARawForkWritesNothing) {
  const LocalSession session;
  const CoreApi& core = core_table();
  wire::Record begin{};
  begin.kind = wire::Kind::kRangeBegin;
  begin.slots = 1;
  begin.range_begin = {};
  core.begin_range("open at the fork", 1, &begin);
  ASSERT_NE(thread_state, nullptr);
  const std::atomic<uint64_t>& head = runtime.mapping.ring(thread_state->ring)->head;
  const uint64_t before = head.load();
  const auto child = static_cast<pid_t>(syscall(SYS_fork));
  if (child == 0) {
    core.end_range(1, wire::range_category::kUser);
    syscall(SYS_exit_group, 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(head.load(), before);
  core.end_range(1, wire::range_category::kUser);
  EXPECT_EQ(head.load(), before + 1);
}

}  // namespace
}  // namespace dprof::inject
