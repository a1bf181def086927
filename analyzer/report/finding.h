// SPDX-License-Identifier: Apache-2.0
// The findings of the rules, with advice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/vocabulary/evidence.h"

namespace dprof::analyzer {

enum class FindingSeverity : uint8_t { kInfo, kWarn, kCritical };
// "info", "warn", "critical".
[[nodiscard]] std::string_view word_of(FindingSeverity severity);
[[nodiscard]] std::optional<FindingSeverity> severity_of_word(std::string_view word);

struct Finding {
  std::string rule;
  FindingSeverity severity = FindingSeverity::kInfo;
  std::string title;   // "rank 5 holds everyone up: +46.2 ms per step (15 %), in 98 % of steps"
  std::string detail;  // one or two sentences with the deciding numbers
  std::string advice;
  std::vector<int> ranks;
  std::optional<int64_t> cost_ns;  // per step
  std::optional<int64_t> bound_ns;
  std::string cause;
  double confidence = 0;
  std::optional<int> caused_by;  // index of the finding of which this is a symptom
  std::vector<Evidence> evidence;
  // For --explain, a sentence each: how it was decided, from which numbers; what would refute it.
  std::vector<std::string> decided_by;
  std::vector<std::string> refuted_by;
  // The --what-if argument that removes it, "input=0"; "" = no change removes exactly this.
  std::string removed_by;
};

}  // namespace dprof::analyzer
