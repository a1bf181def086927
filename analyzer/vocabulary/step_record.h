// SPDX-License-Identifier: Apache-2.0
// A step of one rank and its phases.
#pragma once

#include <cstdint>

#include "base/interval.h"
#include "schema/marker_names.h"

namespace dprof::analyzer {

// A phase of the training thread: a named range (marker_names.h), or a backward that was inferred
// from its autograd nodes.
struct PhaseRange {
  Interval span;
  schema::Marker marker = schema::Marker::kNone;
  int64_t row = 0;  // id in host_range, for evidence
};

struct StepRecord {
  int64_t index = 0;
  Interval window;
};

}  // namespace dprof::analyzer
