// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/report.h"

namespace dprof::analyzer {

int64_t lost_records(const Recording& recording) {
  int64_t lost = 0;
  for (const Loss& loss : recording.lost) lost += is_lost(loss.reason) ? loss.count : 0;
  return lost;
}

}  // namespace dprof::analyzer
