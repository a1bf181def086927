// SPDX-License-Identifier: Apache-2.0
// What the name and category of a host range say about its thread.
#pragma once

#include <string_view>

#include "schema/generated/rows.h"
#include "schema/marker_names.h"

namespace dprof::analyzer {

enum class RangeClass : uint8_t {
  kMarker,    // a step or phase
  kAutograd,  // a node of the autograd graph
  kOp,        // an operator that computes
  kCall,      // a call into c10d: enqueues a collective, computes nothing
  kWait,      // waits for a collective
  kNamed,     // a range that somebody named
  kHolder,    // a micro-step: only holds other ranges
  kMoment,    // has no length
};

struct RangeKind {
  RangeClass what = RangeClass::kNamed;
  schema::Marker marker = schema::Marker::kNone;
  bool marks = false;  // somebody marked it on its thread: a phase, if it stands in a step
};

// Operators that block until a collective is done.
inline constexpr std::string_view kWaitNames[] = {"c10d::wait", "_c10d_functional::wait_tensor",
                                                  "c10d_functional::wait_tensor", "Work::wait",
                                                  "c10d::monitored_barrier_"};

// Names that tell of a collective itself, not of computation.
inline constexpr std::string_view kCallPrefixes[] = {
    "c10d::", "_c10d_functional::", "c10d_functional::", "gloo:", "nccl:", "record_param_comms"};

[[nodiscard]] RangeKind kind_of(schema::RangeCategory category, std::string_view name);

}  // namespace dprof::analyzer
