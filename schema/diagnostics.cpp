// SPDX-License-Identifier: Apache-2.0
#include "schema/diagnostics.h"

#include <algorithm>

#include "base/check.h"
#include "schema/folder_diagnostics.h"

namespace dprof::schema {

const DiagnosticKind& diagnostic_kind(std::string_view code) {
  const auto* found = std::ranges::find(kDiagnostics, code, &DiagnosticKind::code);
  if (found != std::end(kDiagnostics)) return *found;
  const auto* of_folder = std::ranges::find(kFolderDiagnostics, code, &DiagnosticKind::code);
  DPROF_CHECK(of_folder != std::end(kFolderDiagnostics));
  return *of_folder;
}

}  // namespace dprof::schema
