// SPDX-License-Identifier: Apache-2.0
// Records with a body, for tests of CUPTI's and NCCL's records.
#pragma once

#include "collector/wire/gpu_records.h"
#include "collector/wire/record.h"

namespace dprof::recorder {

template <typename Body>
wire::Record record_of(wire::Kind kind, uint32_t text, uint64_t ticks, const Body& body) {
  wire::Record record{};
  record.kind = kind;
  record.slots = 1;
  record.string = text;
  record.ticks = ticks;
  set_body(record, body);
  return record;
}

inline wire::GpuActivity kernel_of(int64_t start_ns, int64_t end_ns, uint32_t stream,
                                   uint32_t correlation) {
  wire::GpuActivity body{};
  body.start_ns = start_ns;
  body.end_ns = end_ns;
  body.stream = stream;
  body.correlation = correlation;
  return body;
}

}  // namespace dprof::recorder
