// SPDX-License-Identifier: Apache-2.0
#include "analyzer/vocabulary/diagnostic.h"

#include <utility>

namespace dprof::analyzer {

Diagnostic make_diagnostic(std::string_view code, std::string text, int64_t count) {
  const schema::DiagnosticKind& kind = schema::diagnostic_kind(code);
  return {.code = std::string(code),
          .severity = kind.severity,
          .count = count,
          .text = std::move(text)};
}

}  // namespace dprof::analyzer
