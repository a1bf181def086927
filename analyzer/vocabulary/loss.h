// SPDX-License-Identifier: Apache-2.0
// Distinguishes lost records from other missing rows.
#pragma once

#include "schema/generated/rows.h"

namespace dprof::analyzer {

// Records that should exist and do not. Records that an importer skipped on purpose do not count;
// its diagnostics report those.
[[nodiscard]] constexpr bool is_lost(schema::LossReason reason) {
  return reason != schema::LossReason::kSkippedRow;
}

}  // namespace dprof::analyzer
