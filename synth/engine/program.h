// SPDX-License-Identifier: Apache-2.0
// The program of one rank in one step, as its host threads would run it: a list of instructions for
// the engine. It contains lengths, not times: those result from the execution.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "schema/generated/rows.h"

namespace dprof::synth {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

[[nodiscard]] inline bool is_message(schema::Function function) {
  return function == schema::Function::kSend || function == schema::Function::kRecv;
}

// The activity of the training thread, in the truth's terms.
enum class Busy : uint8_t {
  kForward,  // computing
  kBackward,
  kOptimizer,
  kOther,
  kInput,  // waiting for, or fetching, a batch
  kHost,   // neither computing nor waiting: dispatch, Python, a sleep
  kGc,
  kCheckpoint,
  kAllocator,
  kWaitWork,  // for a collective
  kSync,      // for the device
  kNothing,   // outside of steps
};

enum class Do : uint8_t {
  kBegin,       // of a range: name, category; a = autograd sequence
  kEnd,         // of the innermost range
  kBusy,        // the host is busy for ns with `busy`
  kThread,      // continues on host thread a
  kLaunch,      // puts an activity into queue a: ns long, kind b
  kCollective,  // calls[a]
  kWaitWork,    // until the a-th call of this program has ended
  kSyncQueue,   // until queue a is empty
  kRecord,      // an event, in queue a
  kReady,       // the gradients of the call with note a are ready
  kStreamWait,  // queue a waits for the last event that queue b recorded
  kLoad,        // the next batch, made by a worker in b; ns of fetching once it is ready
  kMemory,      // memory[a]
  kStepBegin,   // step a
  kStepEnd,
  kForever,  // endless operators
  kStop,     // the process ends: a = exit code, b = signal
};

struct Instruction {
  Do what{};
  Busy busy = Busy::kHost;
  uint8_t category = 0;  // RangeCategory
  int32_t name = -1;
  int64_t ns = 0;
  int64_t a = -1;
  int64_t b = -1;
  int64_t bytes = -1;
};

// A queue of a rank: a stream of its device, or a worker thread of Gloo's.
inline constexpr int kComputeQueue = 0;
inline constexpr int kFirstCommQueue = 1;
inline constexpr int kInline = -1;  // on the calling thread, which waits

struct CollectiveCall {
  int group = 0;  // of the run
  schema::Function function = schema::Function::kAllReduce;
  schema::DataType dtype = schema::DataType::kFloat32;
  schema::Reduction reduction = schema::Reduction::kSum;
  int64_t bytes = 0;
  int64_t network_bytes = -1;  // input of its cost model; < 0 = bytes
  int root = -1;               // numbers in the communicator
  int peer = -1;
  bool any_source = false;
  int bucket = -1;
  int note = -1;  // of kReady; < 0: its gradients are ready when it is called
  int queue = kFirstCommQueue;
  double slow = 1;     // factor on the length, because the network is bad
  bool never = false;  // because the network is stalled
};

struct MemoryCall {
  bool allocate = true;
  int64_t block = 0;  // its identity within the rank
  int64_t bytes = 0;
  schema::MemoryCategory category{};
};

struct Program {
  std::vector<Instruction> instructions;
  std::vector<CollectiveCall> calls;
  std::vector<MemoryCall> memory;

  void clear() {
    instructions.clear();
    calls.clear();
    memory.clear();
  }
};

}  // namespace dprof::synth
