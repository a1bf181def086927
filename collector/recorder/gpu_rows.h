// SPDX-License-Identifier: Apache-2.0
// What CUPTI saw, as rows: device, stream, gpu_activity, gpu_dependency, calls of the driver and
// the runtime (host_range, category api).
#pragma once

#include "collector/recorder/row_context.h"
#include "collector/wire/ring.h"

namespace dprof::recorder {

// Order      CUPTI delivers in no order: rows are held back until a GpuFlush (or finish()) and put
//            in order of start per stream.
// Threading  one thread.
class GpuRows {
 public:
  explicit GpuRows(RowContext context) : context_(std::move(context)) {}

  // A record of kinds 10 to 29, already known to have a plausible time. False: it makes no sense.
  bool on_record(const wire::ReadRecord& read, const ThreadRef& thread, int64_t time_ns);
  void flush();
  void finish();  // after the process's end: writes what is held back
  [[nodiscard]] int64_t rows() const { return rows_; }

 private:
  RowContext context_;
  int64_t rows_ = 0;
};

}  // namespace dprof::recorder
