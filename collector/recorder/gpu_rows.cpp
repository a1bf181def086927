// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/gpu_rows.h"

namespace dprof::recorder {

bool GpuRows::on_record(const wire::ReadRecord&, const ThreadRef&, int64_t) { return false; }

void GpuRows::flush() {}

void GpuRows::finish() {}

}  // namespace dprof::recorder
