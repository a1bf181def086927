// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/nccl_rows.h"

namespace dprof::recorder {

bool NcclRows::on_record(const wire::ReadRecord&, const ThreadRef&, int64_t) { return false; }

void NcclRows::on_payload(const RangePayload&) {}

void NcclRows::flush() {}

void NcclRows::finish() {}

}  // namespace dprof::recorder
