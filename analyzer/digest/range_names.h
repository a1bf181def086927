// SPDX-License-Identifier: Apache-2.0
// The meaning of a host range's name and category for its thread.
#pragma once

#include <initializer_list>
#include <string_view>

#include "schema/generated/rows.h"
#include "schema/marker_names.h"

namespace dprof::analyzer {

[[nodiscard]] bool is_any(std::string_view name, std::initializer_list<std::string_view> words);
[[nodiscard]] bool starts_with_any(std::string_view name,
                                   std::initializer_list<std::string_view> starts);
[[nodiscard]] bool contains_any(std::string_view name,
                                std::initializer_list<std::string_view> parts);

enum class RangeClass : uint8_t {
  kMarker,      // a step or phase
  kAutograd,    // a node of the autograd graph
  kOp,          // an operator that computes
  kCall,        // a call into c10d: enqueues a collective, does not compute
  kWait,        // waits for a collective
  kNamed,       // a range named by the program
  kHolder,      // a micro-step: only contains other ranges
  kMoment,      // has no duration
  kAllocation,  // the memory allocator at work
  kGc,          // Python's garbage collection
  kLogging,
  kProfiler,  // the profiler's own cost
};

struct RangeKind {
  RangeClass what = RangeClass::kNamed;
  schema::Marker marker = schema::Marker::kNone;
  bool marks = false;  // marked by the program on its thread: a phase, if within a step
  bool launches_graph = false;
  bool in_forward = false;  // within a forward, or around one
};

// Operators that block until a collective is done.
inline constexpr std::string_view kWaitNames[] = {"c10d::wait", "_c10d_functional::wait_tensor",
                                                  "c10d_functional::wait_tensor", "Work::wait",
                                                  "c10d::monitored_barrier_"};

// Names that denote a collective itself, not computation.
inline constexpr std::string_view kCallPrefixes[] = {
    "c10d::", "_c10d_functional::", "c10d_functional::", "gloo:", "nccl:", "record_param_comms"};

// The effect of a CUDA driver, CUDA runtime or HIP call on its calling thread.
enum class ApiClass : uint8_t {
  kOther,
  kBlocking,    // waits for the device
  kAsyncCopy,   // can wait for the device: copies from or to pageable memory
  kAllocation,  // allocates device memory or pinned memory
};

[[nodiscard]] ApiClass api_class_of(std::string_view name);

// Kernels of NCCL, RCCL and MSCCL, by name: for kernels without a recorded collective.
[[nodiscard]] bool names_communication(std::string_view kernel);

[[nodiscard]] RangeKind kind_of(schema::RangeCategory category, std::string_view name);

}  // namespace dprof::analyzer
