// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/training_rows.h"

namespace dprof::recorder {

bool TrainingRows::on_record(const wire::ReadRecord&, const ThreadRef&, int64_t) { return false; }

void TrainingRows::on_payload(const RangePayload&) {}

void TrainingRows::on_range(const OpenRange&, const ThreadRef&, int64_t) {}

void TrainingRows::flush() {}

void TrainingRows::finish() {}

}  // namespace dprof::recorder
