// SPDX-License-Identifier: Apache-2.0
// Context for turning a record into rows, lent by the drain to the part that handles the record's
// source.
#pragma once

#include <cstdint>
#include <functional>

#include "collector/recorder/common/clock.h"
#include "collector/recorder/rows/collectives.h"
#include "collector/recorder/rows/losses.h"
#include "collector/recorder/rows/names.h"
#include "collector/recorder/rows/nvtx_payload.h"
#include "collector/recorder/rows/ranges.h"
#include "collector/recorder/rows/steps.h"
#include "collector/recorder/rows/trace_output.h"

namespace dprof::recorder {

struct RowContext {
  wire::Mapping mapping;
  const RunClock& clock;
  TraceOutput& output;
  Names& names;
  RangeTable& ranges;
  Communicators& communicators;
  Collectives& collectives;
  StepFinder& steps;
  LossTable& losses;
  const PayloadSchemas& schemas;
  // The id in `thread` of a thread of the process, by the kernel's number: for records written by
  // another thread.
  std::function<int64_t(uint32_t os_tid)> thread_id;
};

// An NVTX range's payload with a schema. Texts and bytes are valid during the call only.
struct RangePayload {
  int64_t range_id = 0;  // row of host_range
  ThreadRef thread;
  int64_t start_ns = 0;
  std::optional<int64_t> end_ns;  // set if the payload came with the end
  uint32_t domain = 0;            // arena id
  uint32_t name = 0;              // arena id of the range's name, 0 if unknown
  uint64_t schema_id = 0;
  std::string_view bytes;
};

}  // namespace dprof::recorder
