// SPDX-License-Identifier: Apache-2.0
// Distinguishes missing rows that were lost from others.
#pragma once

#include "schema/generated/rows.h"

namespace dprof::analyzer {

// Records that should have been there and are not. What an importer had no use for is none of them:
// its diagnostics tell of that.
[[nodiscard]] constexpr bool is_lost(schema::LossReason reason) {
  return reason != schema::LossReason::kSkippedRow;
}

}  // namespace dprof::analyzer
