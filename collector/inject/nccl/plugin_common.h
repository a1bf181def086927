// SPDX-License-Identifier: Apache-2.0
// Code shared by the versions of the plugin interface: fields of the same name. For the
// plugin_v*.cpp only.
#pragma once

#include "collector/inject/nccl/nccl_abi.h"
#include "collector/inject/nccl/nccl_events.h"

namespace dprof::inject::nccl {

inline constexpr char kPluginName[] = "dprof";

template <typename Coll>
[[nodiscard]] void* start_coll(void* context, const void* parent, const Coll& coll) noexcept {
  return start_collective(
      context, {parent, coll.sequence, coll.function, coll.data_type, coll.count, coll.root,
                coll.channels, coll.warps, coll.algorithm, coll.protocol});
}

template <typename ProxyOp>
[[nodiscard]] void* start_proxy(const void* parent, const ProxyOp& op) noexcept {
  return start_proxy_op({parent, op.pid, op.peer, op.steps, op.channel, op.is_send != 0});
}

// Shared by versions 5 and 6. Null for a type that is not recorded.
template <typename Event>
[[nodiscard]] void* start_common(void* context, const Event& event) noexcept {
  switch (event.type) {
    case event_type::kGroupApi:
      return start_group(event.group_api.captured, event.group_api.depth);
    case event_type::kCollApi: {
      const auto& call = event.coll_api;
      return start_call(context, {event.parent, call.function, call.data_type, call.count,
                                  call.stream, call.root, call.captured, false});
    }
    case event_type::kP2pApi: {
      const auto& call = event.p2p_api;
      return start_call(context, {event.parent, call.function, call.data_type, call.count,
                                  call.stream, -1, call.captured, true});
    }
    case event_type::kKernelLaunch:
      return start_launch(event.parent, event.kernel_launch.stream);
    case event_type::kColl:
      return start_coll(context, event.parent, event.coll);
    case event_type::kP2p: {
      const auto& p2p = event.p2p;
      return start_point_to_point(
          context, {event.parent, p2p.function, p2p.data_type, p2p.count, p2p.peer, p2p.channels});
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

// The entry of every version's table; `kStart` reads that version's events.
template <auto kStart, typename Event>
int start_event(void* context, void** handle, Event* event) noexcept {
  if (handle == nullptr) return kSuccess;
  *handle = event != nullptr ? kStart(context, *event) : nullptr;
  return kSuccess;
}

// Versions 4 to 6.
template <typename StateArgs>
int record_state(void* handle, int state, StateArgs* arguments) noexcept {
  if (arguments == nullptr) return kSuccess;
  if (state == event_state::kProxyStepSendWait || state == event_state::kProxyStepRecvFlushWait) {
    add_proxy_bytes(handle, arguments->proxy_step.bytes);
  } else if (state == event_state::kKernelChStop) {
    set_kernel_channel_stop(handle, arguments->kernel_channel.device_ns);
  }
  return kSuccess;
}

inline int stop_event(void* handle) noexcept {
  stop(handle);
  return kSuccess;
}

inline int finalize(void* context) noexcept {
  close(context);
  return kSuccess;
}

}  // namespace dprof::inject::nccl
