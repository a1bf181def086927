// SPDX-License-Identifier: Apache-2.0
// Meaning of a host range's name and category for its thread.
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
  kCall,        // a call into c10d: enqueues a collective, computes nothing
  kWait,        // waits for a collective
  kNamed,       // a range that somebody named
  kHolder,      // a micro-step: only holds other ranges
  kMoment,      // has no length
  kAllocation,  // the memory allocator at work
  kGc,          // Python's garbage collection
  kLogging,
  kProfiler,  // the profiler's own cost
};

struct RangeKind {
  RangeClass what = RangeClass::kNamed;
  schema::Marker marker = schema::Marker::kNone;
  bool marks = false;  // somebody marked it on its thread: a phase, if it stands in a step
  bool launches_graph = false;
  bool in_forward = false;  // it stands in a forward, or around one
};

// Operators that block until a collective is done.
inline constexpr std::string_view kWaitNames[] = {"c10d::wait", "_c10d_functional::wait_tensor",
                                                  "c10d_functional::wait_tensor", "Work::wait",
                                                  "c10d::monitored_barrier_"};

// Names that tell of a collective itself, not of computation.
inline constexpr std::string_view kCallPrefixes[] = {
    "c10d::", "_c10d_functional::", "c10d_functional::", "gloo:", "nccl:", "record_param_comms"};

// What a call of the CUDA driver or runtime, or of HIP's, does to the thread that makes it.
enum class ApiClass : uint8_t {
  kOther,
  kBlocking,    // waits for the device
  kAsyncCopy,   // may wait for it: from or to pageable memory
  kAllocation,  // memory of the device, or pinned memory
};

[[nodiscard]] ApiClass api_class_of(std::string_view name);

// Kernels of NCCL, RCCL and MSCCL, by their names: for those that no recorded collective explains.
[[nodiscard]] bool names_communication(std::string_view kernel);

[[nodiscard]] RangeKind kind_of(schema::RangeCategory category, std::string_view name);

}  // namespace dprof::analyzer
