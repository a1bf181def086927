// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nccl/nccl_events.h"

#include "collector/inject/cuda/cuda_source.h"
#include "collector/inject/nccl/nccl_open.h"
#include "collector/inject/nccl/nccl_recording.h"
#include "collector/inject/nccl/nccl_words.h"
#include "collector/inject/nccl/sequence.h"
#include "collector/wire/nccl_records.h"

namespace dprof::inject::nccl {
namespace {

// Ids given out so far per ring. A ring has one thread at a time, and its threads follow one
// another in order.
constinit uint64_t issued[wire::kMaxRings] = {};

uint8_t record_flags(uint64_t id) noexcept {
  return static_cast<uint8_t>(
      ((id & kCapturedBit) != 0 ? wire::nccl_flag::kCaptured : 0) |
      ((id & kImplicitGroupBit) != 0 ? wire::nccl_flag::kGroupImplicit : 0));
}

int64_t count_of(size_t count) noexcept { return static_cast<int64_t>(count); }

uint32_t text_of(ThreadState& thread, const char* text) noexcept {
  return thread.texts.id_of(runtime.mapping, text);
}

// A send's or receive's number. Also counts unrecorded ones, because the other side may record
// them.
uint64_t count_transfer(Communicator& communicator, int peer, uint8_t function,
                        bool captured) noexcept {
  // Replays of a graph appear only where they cross the network: not the same on all ranks.
  if (captured || communicator.uncounted.load(std::memory_order_relaxed)) return wire::kNoSequence;
  const uint64_t sequence = next_sequence(communicator.number.load(std::memory_order_relaxed), peer,
                                          function == wire::function::kSend);
  if (sequence == wire::kNoSequence && communicator.number != 0) {
    communicator.uncounted.store(true, std::memory_order_relaxed);
  }
  return sequence;
}

}  // namespace

uint64_t new_id(const ThreadState& thread, Type type, uint64_t flags) noexcept {
  return make_id(thread.ring, ++issued[thread.ring], type, flags);
}

// HOT PATH, on training threads. Budget: 20 ns. Not recorded itself: its id joins calls and launch.
void* start_group(bool captured, int depth) noexcept {
  const ThreadState* thread = recording();
  if (thread == nullptr) return nullptr;
  const uint64_t flags = (captured ? kCapturedBit : 0) | (depth <= 1 ? kImplicitGroupBit : 0);
  return handle_of(new_id(*thread, Type::kGroupApi, flags));
}

// HOT PATH, on training threads. Budget: 60 ns (bench/nccl_event.cpp).
void* start_call(void* context, const CallEvent& event) noexcept {
  ThreadState* thread = recording();
  if (thread == nullptr) return nullptr;
  const HookTimer timer(*thread);
  const uint64_t group = parent_of(event.parent, Type::kGroupApi);
  const uint64_t id = new_id(*thread, Type::kCall, event.captured ? kCapturedBit : 0);
  wire::Record record = new_record(wire::Kind::kNcclCall);
  record.string = text_of(*thread, event.function);
  wire::NcclCall body;
  body.id = id;
  body.hash = communicator_of(context).hash.load(std::memory_order_relaxed);
  body.count = count_of(event.count);
  body.stream = id_of(event.stream);
  body.launch = group;
  body.root = event.root;
  body.function = function_of(event.function);
  body.data_type = data_type_of(event.data_type);
  body.flags = static_cast<uint8_t>(record_flags(id) |
                                    (record_flags(group) & wire::nccl_flag::kGroupImplicit));
  body.point_to_point = event.point_to_point ? 1 : 0;
  wire::set_body(record, body);
  return thread->writer.push(record) ? handle_of(id) : nullptr;
}

// HOT PATH, on training threads. Budget: 60 ns.
void* start_collective(void* context, const CollectiveEvent& event) noexcept {
  ThreadState* thread = recording();
  if (thread == nullptr) return nullptr;
  const HookTimer timer(*thread);
  const uint64_t call = parent_of(event.parent, Type::kCall);
  const uint64_t id = new_id(*thread, Type::kCollective);
  wire::Record record = new_record(wire::Kind::kNcclCollective);
  record.string = text_of(*thread, event.function);
  wire::NcclCollective body;
  body.id = id;
  body.call = call;
  body.hash = communicator_of(context).hash.load(std::memory_order_relaxed);
  // NCCL does not advance its count for replays of a graph.
  body.sequence = (call & kCapturedBit) != 0 ? wire::kNoSequence : event.sequence;
  body.count = count_of(event.count);
  body.root = event.root;
  body.function = function_of(event.function);
  body.data_type = data_type_of(event.data_type);
  body.channels = event.channels;
  body.flags = record_flags(call & kCapturedBit);
  wire::set_body(record, body);
  wire::NcclTuning tuning{};
  tuning.algorithm = text_of(*thread, event.algorithm);
  tuning.protocol = text_of(*thread, event.protocol);
  tuning.warps = event.warps;
  return thread->writer.push(record, &tuning, sizeof tuning) ? handle_of(id) : nullptr;
}

// HOT PATH, on training threads. Budget: 60 ns.
void* start_point_to_point(void* context, const PointToPointEvent& event) noexcept {
  if (!session_alive()) {
    silence();
    return nullptr;
  }
  Communicator& communicator = communicator_of(context);
  const uint64_t call = parent_of(event.parent, Type::kCall);
  const uint8_t function = function_of(event.function);
  const uint64_t sequence =
      count_transfer(communicator, event.peer, function, (call & kCapturedBit) != 0);
  ThreadState* thread = recording();
  if (thread == nullptr) return nullptr;
  const HookTimer timer(*thread);
  const uint64_t id = new_id(*thread, Type::kPointToPoint);
  wire::Record record = new_record(wire::Kind::kNcclPointToPoint);
  record.string = text_of(*thread, event.function);
  wire::NcclPointToPoint body;
  body.id = id;
  body.call = call;
  body.hash = communicator.hash.load(std::memory_order_relaxed);
  body.sequence = sequence;
  body.count = count_of(event.count);
  body.peer = event.peer;
  body.function = function;
  body.data_type = data_type_of(event.data_type);
  body.channels = event.channels;
  body.flags = record_flags(call & kCapturedBit);
  wire::set_body(record, body);
  return thread->writer.push(record) ? handle_of(id) : nullptr;
}

// HOT PATH, on training threads. Budget: 60 ns, and what CUPTI takes for its part.
void* start_launch(const void* parent, const void* stream) noexcept {
  ThreadState* thread = recording();
  if (thread == nullptr) return nullptr;
  const HookTimer timer(*thread);
  const uint64_t id = new_id(*thread, Type::kLaunch);
  wire::Record record = new_record(wire::Kind::kNcclLaunch);
  wire::set_body(record,
                 wire::NcclLaunch{id, parent_of(parent, Type::kGroupApi), id_of(stream), {}});
  if (!thread->writer.push(record)) return nullptr;
  push_external(id);
  return handle_of(id);
}

// HOT PATH, on training threads. Budget: 10 ns, and for a launch CUPTI's part. The return of a
// call, collective or message is not recorded: their work ends on the GPU.
void stop(void* handle) noexcept {
  const uint64_t id = id_of(handle);
  if (id == 0) return;
  switch (type_of(id)) {
    case Type::kLaunch:
      pop_external();
      return;
    case Type::kProxyOp:
    case Type::kKernelChannel:
      finish_open(id);
      return;
    case Type::kGroupApi:
    case Type::kCall:
    case Type::kCollective:
    case Type::kPointToPoint:
    case Type::kProxyStep:
      return;
  }
}

}  // namespace dprof::inject::nccl
