// SPDX-License-Identifier: Apache-2.0
// A diagnostic: a note beside the figures that data was lost, is doubtful or was not computed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "schema/diagnostics.h"

namespace dprof::analyzer {

struct Diagnostic {
  std::string code;  // of the catalogue
  schema::Severity severity = schema::Severity::kInfo;
  int64_t count = 1;
  std::string text;  // with file and hint
  DPROF_FIELDS(code, severity, count, text);
};
[[nodiscard]] Diagnostic make_diagnostic(std::string_view code, std::string text,
                                         int64_t count = 1);

}  // namespace dprof::analyzer
