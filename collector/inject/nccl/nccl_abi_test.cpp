// SPDX-License-Identifier: Apache-2.0
// Our declarations against NCCL's. The constants of versions 3, 4 and 5 are from the debug
// information of libnccl 2.28.9 (gdb: ptype /o ncclProfilerEventDescr_v5_t, and so on); those of
// version 6 follow from src/include/plugin/profiler/profiler_v6.h of NCCL 2.29 and 2.30, which
// declares everything in version 5 identically.
#include "collector/inject/nccl/nccl_abi.h"

#include <gtest/gtest.h>

namespace dprof::inject::nccl {
namespace {

struct Place {
  const char* what;
  size_t ours, nccls;
};
#define PLACE(type, field, offset) \
  Place { #type "." #field, offsetof(type, field), offset }
#define SIZE(type, bytes) \
  Place { #type, sizeof(type), bytes }

void compare(std::initializer_list<Place> places) {
  for (const Place& place : places) EXPECT_EQ(place.ours, place.nccls) << place.what;
}

TEST(NcclAbi, Version3) {
  compare({SIZE(EventV3, 120),
           PLACE(EventV3, type, 0),
           PLACE(EventV3, parent, 8),
           PLACE(EventV3, rank, 16),
           PLACE(EventV3, coll.name, 24),
           PLACE(EventV3, coll.comm_hash, 32),
           PLACE(EventV3, coll.sequence, 40),
           PLACE(EventV3, coll.function, 48),
           PLACE(EventV3, coll.send_buffer, 56),
           PLACE(EventV3, coll.receive_buffer, 64),
           PLACE(EventV3, coll.count, 72),
           PLACE(EventV3, coll.root, 80),
           PLACE(EventV3, coll.data_type, 88),
           PLACE(EventV3, coll.channels, 96),
           PLACE(EventV3, coll.warps, 97),
           PLACE(EventV3, coll.algorithm, 104),
           PLACE(EventV3, coll.protocol, 112),
           PLACE(EventV3, p2p.name, 24),
           PLACE(EventV3, p2p.comm_hash, 32),
           PLACE(EventV3, p2p.function, 40),
           PLACE(EventV3, p2p.buffer, 48),
           PLACE(EventV3, p2p.data_type, 56),
           PLACE(EventV3, p2p.count, 64),
           PLACE(EventV3, p2p.peer, 72),
           PLACE(EventV3, proxy_op.pid, 24),
           PLACE(EventV3, proxy_op.channel, 28),
           PLACE(EventV3, proxy_op.peer, 32),
           PLACE(EventV3, proxy_op.steps, 36),
           PLACE(EventV3, proxy_op.chunk_bytes, 40),
           PLACE(EventV3, proxy_op.is_send, 44),
           PLACE(EventV3, kernel_channel.channel, 24),
           SIZE(StateArgsV3, 16),
           PLACE(StateArgsV3, proxy_op.steps, 8)});
}

TEST(NcclAbi, Version4) {
  compare({SIZE(EventV4, 104),
           PLACE(EventV4, type, 0),
           PLACE(EventV4, parent, 8),
           PLACE(EventV4, rank, 16),
           PLACE(EventV4, coll.sequence, 24),
           PLACE(EventV4, coll.function, 32),
           PLACE(EventV4, coll.send_buffer, 40),
           PLACE(EventV4, coll.receive_buffer, 48),
           PLACE(EventV4, coll.count, 56),
           PLACE(EventV4, coll.root, 64),
           PLACE(EventV4, coll.data_type, 72),
           PLACE(EventV4, coll.channels, 80),
           PLACE(EventV4, coll.warps, 81),
           PLACE(EventV4, coll.algorithm, 88),
           PLACE(EventV4, coll.protocol, 96),
           PLACE(EventV4, p2p.function, 24),
           PLACE(EventV4, p2p.buffer, 32),
           PLACE(EventV4, p2p.data_type, 40),
           PLACE(EventV4, p2p.count, 48),
           PLACE(EventV4, p2p.peer, 56),
           PLACE(EventV4, p2p.channels, 60),
           PLACE(EventV4, proxy_op.pid, 24),
           PLACE(EventV4, proxy_op.channel, 28),
           PLACE(EventV4, proxy_op.peer, 32),
           PLACE(EventV4, proxy_op.steps, 36),
           PLACE(EventV4, proxy_op.chunk_bytes, 40),
           PLACE(EventV4, proxy_op.is_send, 44),
           PLACE(EventV4, kernel_channel.channel, 24),
           PLACE(EventV4, kernel_channel.device_ns, 32),
           SIZE(StateArgsV4, 8)});
}

// Versions 5 and 6: one list for both declarations.
template <typename Event>
void compare_common() {
  compare({SIZE(Event, 112),
           PLACE(Event, type, 0),
           PLACE(Event, parent, 8),
           PLACE(Event, rank, 16),
           PLACE(Event, group_api.captured, 24),
           PLACE(Event, group_api.depth, 28),
           PLACE(Event, coll_api.function, 24),
           PLACE(Event, coll_api.count, 32),
           PLACE(Event, coll_api.data_type, 40),
           PLACE(Event, coll_api.root, 48),
           PLACE(Event, coll_api.stream, 56),
           PLACE(Event, coll_api.captured, 64),
           PLACE(Event, p2p_api.function, 24),
           PLACE(Event, p2p_api.count, 32),
           PLACE(Event, p2p_api.data_type, 40),
           PLACE(Event, p2p_api.stream, 48),
           PLACE(Event, p2p_api.captured, 56),
           PLACE(Event, kernel_launch.stream, 24),
           PLACE(Event, coll.sequence, 24),
           PLACE(Event, coll.function, 32),
           PLACE(Event, coll.send_buffer, 40),
           PLACE(Event, coll.receive_buffer, 48),
           PLACE(Event, coll.count, 56),
           PLACE(Event, coll.root, 64),
           PLACE(Event, coll.data_type, 72),
           PLACE(Event, coll.channels, 80),
           PLACE(Event, coll.warps, 81),
           PLACE(Event, coll.algorithm, 88),
           PLACE(Event, coll.protocol, 96),
           PLACE(Event, coll.group, 104),
           PLACE(Event, p2p.function, 24),
           PLACE(Event, p2p.buffer, 32),
           PLACE(Event, p2p.data_type, 40),
           PLACE(Event, p2p.count, 48),
           PLACE(Event, p2p.peer, 56),
           PLACE(Event, p2p.channels, 60),
           PLACE(Event, p2p.group, 64),
           PLACE(Event, proxy_op.pid, 24),
           PLACE(Event, proxy_op.channel, 28),
           PLACE(Event, proxy_op.peer, 32),
           PLACE(Event, proxy_op.steps, 36),
           PLACE(Event, proxy_op.chunk_bytes, 40),
           PLACE(Event, proxy_op.is_send, 44),
           PLACE(Event, kernel_channel.channel, 24),
           PLACE(Event, kernel_channel.device_ns, 32)});
}

TEST(NcclAbi, Version5) {
  compare_common<EventV5>();
  compare({SIZE(StateArgsV5, 8)});
}

TEST(NcclAbi, Version6) {
  compare_common<EventV6>();
  compare({PLACE(EventV6, ce_coll.sequence, 24), PLACE(EventV6, ce_coll.function, 32),
           PLACE(EventV6, ce_coll.count, 56), PLACE(EventV6, ce_coll.root, 64),
           PLACE(EventV6, ce_coll.data_type, 72), PLACE(EventV6, ce_coll.synchronization, 80),
           PLACE(EventV6, ce_coll.intra_batch_sync, 88), PLACE(EventV6, ce_coll.batch_size, 92),
           PLACE(EventV6, ce_coll.batches, 96), PLACE(EventV6, ce_coll.ce_sequence, 100),
           PLACE(EventV6, ce_coll.stream, 104), SIZE(StateArgsV6, 8)});
}

template <typename Profiler>
void compare_table() {
  compare({SIZE(Profiler, 48), PLACE(Profiler, name, 0), PLACE(Profiler, init, 8),
           PLACE(Profiler, start_event, 16), PLACE(Profiler, stop_event, 24),
           PLACE(Profiler, record_event_state, 32), PLACE(Profiler, finalize, 40)});
}

TEST(NcclAbi, Tables) {
  compare_table<ProfilerV3>();
  compare_table<ProfilerV4>();
  compare_table<ProfilerV5>();
  compare_table<ProfilerV6>();
}

#undef SIZE
#undef PLACE

}  // namespace
}  // namespace dprof::inject::nccl
