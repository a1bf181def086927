// SPDX-License-Identifier: Apache-2.0
// When the memory of a host ends, of which the processes on it take more from step to step.
//
// Threading  pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/rules/rule.h"

namespace dprof::analyzer {

struct HostForecast {
  std::vector<int> ranks;     // that grow on that host
  int64_t left_bytes = 0;     // at its last sample, see HostMemoryLeft
  double bytes_per_step = 0;  // all of them together
  double bound = 0;           // half-width of the 95 % interval of it, if all are off alike
  double steps = 0;           // from the end of the recording on
  double earliest = 0;        // by that interval
  double latest = 0;
};

// Of the host of `rank`, whose host memory grows. nullopt: no trace of that host tells how much of
// its memory was left, or which ranks share it is not known.
[[nodiscard]] std::optional<HostForecast> host_forecast(const RuleInput& input, int rank);

// "12,000 (11,000 to 13,400) more steps, about 3.2 h".
[[nodiscard]] std::string words_of(const RuleInput& input, const HostForecast& forecast);

}  // namespace dprof::analyzer
