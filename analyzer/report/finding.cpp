// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/finding.h"

namespace dprof::analyzer {

std::string_view word_of(FindingSeverity severity) {
  switch (severity) {
    case FindingSeverity::kInfo:
      return "info";
    case FindingSeverity::kWarn:
      return "warn";
    case FindingSeverity::kCritical:
      return "critical";
  }
  return "info";
}

}  // namespace dprof::analyzer
