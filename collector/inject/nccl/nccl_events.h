// SPDX-License-Identifier: Apache-2.0
// NCCL's events as records, for all versions of the plugin interface: the tables (plugin_v*.cpp)
// read the versions' structs and call these. Each start returns the handle for NCCL, null if the
// event was not recorded, so that NCCL does not end it.
//
// Threading  any thread of NCCL's: callers of its API, the proxy's, CUDA's host callbacks. An event
//            can end on another thread than it began on.
// Cost       one load and a return while recording is off. On: budgets at the functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collector/inject/nccl/communicators.h"

namespace dprof::inject::nccl {

struct CallEvent {
  const void* parent;
  const char* function;
  const char* data_type;
  size_t count;
  const void* stream;
  int root;  // -1 = none
  bool captured;
  bool point_to_point;
};
struct CollectiveEvent {
  const void* parent;
  uint64_t sequence;
  const char* function;
  const char* data_type;
  size_t count;
  int root;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct PointToPointEvent {
  const void* parent;
  const char* function;
  const char* data_type;
  size_t count;
  int peer;
  uint8_t channels;
};
struct ProxyOpEvent {
  const void* parent;
  int pid;
  int peer;
  int steps;
  uint8_t channel;
  bool is_send;
};

void* start_group(bool captured, int depth) noexcept;
void* start_call(void* context, const CallEvent& event) noexcept;
void* start_collective(void* context, const CollectiveEvent& event) noexcept;
void* start_point_to_point(void* context, const PointToPointEvent& event) noexcept;
void* start_launch(const void* parent, const void* stream) noexcept;

// Options: written at their end only, together with what was reported in between.
void* start_proxy_op(const ProxyOpEvent& event) noexcept;
void* start_proxy_step(const void* parent) noexcept;
void* start_kernel_channel(const void* parent, uint8_t channel, uint64_t device_ns) noexcept;
void add_proxy_bytes(void* step, size_t bytes) noexcept;
void set_kernel_channel_stop(void* handle, uint64_t device_ns) noexcept;

void stop(void* handle) noexcept;

}  // namespace dprof::inject::nccl
