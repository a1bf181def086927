// SPDX-License-Identifier: Apache-2.0
// The events of one rank, in true time, as executed by the engine. Writers turn it into rows,
// and the truth is computed from it.
#pragma once

#include <cstdint>
#include <vector>

#include "synth/engine/program.h"

namespace dprof::synth {

struct RangeDone {
  int32_t thread = 0;
  int32_t name = -1;
  uint8_t category = 0;
  int64_t begin = 0;
  int64_t end = kNever;  // kNever = open
  int64_t sequence = -1;
  int64_t correlation = -1;
};

// The reason why an activity did not start earlier.
enum class BoundBy : uint8_t { kLaunch, kQueue, kDependency };

struct ActivityDone {
  int32_t queue = 0;
  int32_t name = -1;
  schema::GpuActivityKind kind{};
  Busy phase = Busy::kOther;
  BoundBy bound = BoundBy::kLaunch;
  int64_t work = -1;  // the collective that it executes
  int64_t call = 0;   // when its launch was called
  int64_t begin = 0;
  int64_t end = kNever;
  int64_t bytes = -1;
  int64_t correlation = -1;
};

// One rank's part of a collective.
struct WorkDone {
  CollectiveCall call;
  uint32_t instance = UINT32_MAX;  // of the world's
  int64_t sequence = 0;            // per communicator and function
  int64_t group_sequence = -1;
  int64_t enqueue = kNever;
  int64_t ready = kNever;  // its bucket's last gradient
  int64_t start = kNever;
  int64_t end = kNever;
  int64_t last_start = kNever;  // members that it has to wait for
  int64_t correlation = -1;
  int64_t program = 0;  // that called it: step + 1
  int32_t caller = 0;   // host thread
};

struct DependencyDone {
  int64_t event = 0;
  int32_t from_queue = -1;
  int32_t to_queue = -1;  // -1 = the host
  int64_t record = 0;
  int64_t wait = 0;
  int64_t correlation = -1;
};

struct LoadDone {
  int64_t begin = 0;
  int64_t end = kNever;
  int64_t depth = 0;
  int64_t batch = 0;
};

struct MemoryDone {
  int64_t time = 0;
  MemoryCall call;
};

struct StepDone {
  int64_t index = 0;
  int64_t begin = 0;
  int64_t end = kNever;
};

// A piece of the training thread's time; together the pieces cover its life without a gap.
struct HostPiece {
  Busy busy{};
  int64_t begin = 0;
  int64_t end = 0;
};

struct Ending {
  int64_t at = 0;  // last moment that can appear in the trace
  int64_t exit_code = 0;
  int64_t signal = 0;    // 0 = by itself
  bool stopped = false;  // by an instruction of its own, not at the end of its steps
  bool lost = false;     // with its host: its end was not observed
};

// Invariant  ranges and activities of one lane are ordered by begin, works by their call.
struct Trail {
  std::vector<RangeDone> ranges;
  std::vector<ActivityDone> activities;
  std::vector<WorkDone> works;
  std::vector<DependencyDone> dependencies;
  std::vector<LoadDone> loads;
  std::vector<MemoryDone> memory;
  std::vector<StepDone> steps;
  std::vector<HostPiece> pieces;
  Ending ending;
};

}  // namespace dprof::synth
