// SPDX-License-Identifier: Apache-2.0
// Version 3, NCCL 2.26: no API events, so no stream and no launch; the communicator is named in its
// events only, and its size is not known.
#include "collector/inject/nccl/plugin_common.h"
#include "collector/inject/nccl/plugin_tables.h"

namespace dprof::inject::nccl {
namespace {

// The communicator's first event supplies its name.
void note(void* context, uint64_t hash, const char* name, int rank) noexcept {
  Communicator& communicator = communicator_of(context);
  if (hash != 0 && communicator.hash.load(std::memory_order_relaxed) == 0) [[unlikely]]
    learn(communicator, hash, name, rank);
}

int init(void** context, int* mask) noexcept {
  void* made = open({.hash = 0,
                     .name = nullptr,
                     .ranks = -1,
                     .rank = -1,
                     .nodes = -1,
                     .plugin_version = 3,
                     .caller = __builtin_return_address(0)},
                    mask);
  if (context != nullptr) *context = made;
  return kSuccess;
}

void* start_any(void* context, const EventV3& event) noexcept {
  switch (event.type) {
    case event_type::kColl: {
      const CollV3& coll = event.coll;
      note(context, coll.comm_hash, coll.name, event.rank);
      return start_coll(context, nullptr, coll);
    }
    case event_type::kP2p: {
      const P2pV3& p2p = event.p2p;
      note(context, p2p.comm_hash, p2p.name, event.rank);
      return start_point_to_point(context,
                                  {nullptr, p2p.function, p2p.data_type, p2p.count, p2p.peer, 0});
    }
    case event_type::kProxyOp:
      return start_proxy(event.parent, event.proxy_op);
    case event_type::kProxyStep:
      return start_proxy_step(event.parent);
    case event_type::kKernelCh:
      return start_kernel_channel(event.parent, event.kernel_channel.channel, 0);
    default:
      return nullptr;
  }
}

// The arguments of its states mean something else than in later versions: they are not recorded.
int record_event_state(void*, int, StateArgsV3*) noexcept { return kSuccess; }

}  // namespace
}  // namespace dprof::inject::nccl

constinit const dprof::inject::nccl::ProfilerV3 ncclProfiler_v3 = {
    dprof::inject::nccl::kPluginName,
    &dprof::inject::nccl::init,
    &dprof::inject::nccl::start_event<&dprof::inject::nccl::start_any,
                                      dprof::inject::nccl::EventV3>,
    &dprof::inject::nccl::stop_event,
    &dprof::inject::nccl::record_event_state,
    &dprof::inject::nccl::finalize};
