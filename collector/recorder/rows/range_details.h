// SPDX-License-Identifier: Apache-2.0
// A range's details besides name and times: NVTX domain, colour, category and payload, and the
// schemas for reading payloads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "collector/recorder/rows/row_context.h"
#include "collector/wire/record.h"

namespace dprof::recorder {

// Threading  one thread.
class RangeDetails {
 public:
  // `on_payload` is called for each payload with a schema.
  RangeDetails(const RowContext& context, PayloadSchemas& schemas,
               std::function<void(const RangePayload&)> on_payload)
      : mapping_(context.mapping),
        clock_(context.clock),
        output_(context.output),
        names_(context.names),
        losses_(context.losses),
        schemas_(schemas),
        on_payload_(std::move(on_payload)) {}

  // A field of a schema. False: it is invalid, or there are too many.
  bool on_schema_entry(const wire::Record& record);
  // The start of the range `about` (its domain, name and schema are taken from the record).
  void on_begin(RangePayload about, const wire::ReadRecord& read);
  // A payload at the end: a second row of the same range.
  void on_end(const OpenRange& range, const ThreadRef& thread, int64_t end_ns,
              const wire::ReadRecord& read);

 private:
  void write(const RangePayload& about, const wire::RangeBegin& begin,
             const wire::ReadRecord& read);

  wire::Mapping mapping_;
  const RunClock& clock_;
  TraceOutput& output_;
  Names& names_;
  LossTable& losses_;
  PayloadSchemas& schemas_;
  std::function<void(const RangePayload&)> on_payload_;
};

}  // namespace dprof::recorder
