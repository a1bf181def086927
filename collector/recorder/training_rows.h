// SPDX-License-Identifier: Apache-2.0
// What libdprof_torch.so says of memory, gradient buckets and process groups, and what a program
// says of its data by NVTX payloads, as rows: memory_event, memory_sample, loader_event,
// communicator_member, collective.bucket.
#pragma once

#include "collector/recorder/row_context.h"
#include "collector/wire/ring.h"

namespace dprof::recorder {

// Threading  one thread.
class TrainingRows {
 public:
  explicit TrainingRows(RowContext context) : context_(std::move(context)) {}

  // A record of kinds 50 to 69, already known to have a plausible time. False: it makes no sense.
  bool on_record(const wire::ReadRecord& read, const ThreadRef& thread, int64_t time_ns);
  // A payload with a schema, of any domain.
  void on_payload(const RangePayload& payload);
  // The end of any range that nests on its thread; loader waits are found by their names.
  void on_range(const OpenRange& range, const ThreadRef& thread, int64_t end_ns);
  void flush();
  void finish();
  [[nodiscard]] int64_t rows() const { return rows_; }

 private:
  RowContext context_;
  int64_t rows_ = 0;
};

}  // namespace dprof::recorder
