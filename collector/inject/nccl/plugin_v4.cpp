// SPDX-License-Identifier: Apache-2.0
// Version 4, NCCL 2.27: no API events, so no stream and no launch.
#include "collector/inject/nccl/plugin_common.h"
#include "collector/inject/nccl/plugin_tables.h"

namespace dprof::inject::nccl {
namespace {

int init(void** context, int* mask, const char* name, uint64_t hash, int nodes, int ranks, int rank,
         Logger) noexcept {
  void* made = open({.hash = hash,
                     .name = name,
                     .ranks = ranks,
                     .rank = rank,
                     .nodes = nodes,
                     .plugin_version = 4,
                     .caller = __builtin_return_address(0)},
                    mask);
  if (context != nullptr) *context = made;
  return kSuccess;
}

void* start_any(void* context, const EventV4& event) noexcept {
  switch (event.type) {
    case event_type::kColl:
      return start_coll(context, nullptr, event.coll);
    case event_type::kP2p: {
      // NCCL 2.28 and later leave `channels` unset when they use this version.
      const P2pV4& p2p = event.p2p;
      return start_point_to_point(
          context, {nullptr, p2p.function, p2p.data_type, p2p.count, p2p.peer, p2p.channels});
    }
    case event_type::kProxyOp:
      return start_proxy(event.parent, event.proxy_op);
    case event_type::kProxyStep:
      return start_proxy_step(event.parent);
    case event_type::kKernelCh:
      return start_kernel_channel(event.parent, event.kernel_channel.channel,
                                  event.kernel_channel.device_ns);
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace dprof::inject::nccl

constinit const dprof::inject::nccl::ProfilerV4 ncclProfiler_v4 = {
    dprof::inject::nccl::kPluginName,
    &dprof::inject::nccl::init,
    &dprof::inject::nccl::start_event<&dprof::inject::nccl::start_any,
                                      dprof::inject::nccl::EventV4>,
    &dprof::inject::nccl::stop_event,
    &dprof::inject::nccl::record_state<dprof::inject::nccl::StateArgsV4>,
    &dprof::inject::nccl::finalize};
