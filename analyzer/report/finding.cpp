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

std::optional<FindingSeverity> severity_of_word(std::string_view word) {
  for (const FindingSeverity severity :
       {FindingSeverity::kInfo, FindingSeverity::kWarn, FindingSeverity::kCritical}) {
    if (word_of(severity) == word) return severity;
  }
  return std::nullopt;
}

}  // namespace dprof::analyzer
