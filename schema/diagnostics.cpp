// SPDX-License-Identifier: Apache-2.0
#include "schema/diagnostics.h"

#include <algorithm>

#include "base/check.h"

namespace dprof::schema {

const DiagnosticKind& diagnostic_kind(std::string_view code) {
  const auto* found = std::ranges::find(kDiagnostics, code, &DiagnosticKind::code);
  DPROF_CHECK(found != std::end(kDiagnostics));
  return *found;
}

}  // namespace dprof::schema
