// SPDX-License-Identifier: Apache-2.0
// What NCCL's profiler plugin and NCCL's own NVTX ranges say, as rows: communicator, collective.
#pragma once

#include "collector/recorder/row_context.h"
#include "collector/wire/ring.h"

namespace dprof::recorder {

// Threading  one thread.
class NcclRows {
 public:
  explicit NcclRows(RowContext context) : context_(std::move(context)) {}

  // A record of kinds 30 to 49, already known to have a plausible time. False: it makes no sense.
  bool on_record(const wire::ReadRecord& read, const ThreadRef& thread, int64_t time_ns);
  // A payload with a schema, of any domain.
  void on_payload(const RangePayload& payload);
  void flush();
  void finish();
  [[nodiscard]] int64_t rows() const { return rows_; }

 private:
  RowContext context_;
  int64_t rows_ = 0;
};

}  // namespace dprof::recorder
