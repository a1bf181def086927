// SPDX-License-Identifier: Apache-2.0
// The controls of the page What if: a line for each word of the grammar of `dprof report
// --what-if`, with its possible values, and whether this run can answer it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/replay/what_if.h"
#include "base/result.h"

namespace dprof::view {

// A value of a control, and the change that it means; "" = as recorded.
struct WhatIfStop {
  std::string label;
  std::string change;
};

enum class WhatIfGroup : uint8_t { kRanks, kHost, kCommunication, kDevice, kComputation, kScale };

struct WhatIfControl {
  WhatIfGroup group{};
  std::string label;
  std::vector<WhatIfStop> stops;
  bool slides = false;  // otherwise each stop is a word to click
  size_t tried = 0;     // the stop with the largest effect, evaluated by itself

  // The stop whose change is among these; the as-recorded one if none is.
  [[nodiscard]] size_t stop_in(const std::vector<std::string>& changes) const;
};

// `ranks`: those with their own controls, beside the ones that work most.
[[nodiscard]] std::vector<WhatIfControl> what_if_controls(const analyzer::WhatIfModel& model,
                                                          const std::vector<int>& ranks);

// The outcome of a question: an answer (or a refusal), or why the question is invalid.
struct WhatIfAnswer {
  std::optional<analyzer::WhatIf> answer;
  std::optional<Error> error;
};
// All changes together. O(tasks). On any thread.
[[nodiscard]] WhatIfAnswer answer_of(const analyzer::WhatIfModel& model,
                                     const std::vector<std::string>& changes);

// The gain of each change by itself. O(changes · tasks). On any thread.
using WhatIfTrials = std::vector<std::pair<std::string, WhatIfAnswer>>;
[[nodiscard]] WhatIfTrials trials_of(const analyzer::WhatIfModel& model,
                                     const std::vector<std::string>& changes);
// nullptr = not tried.
[[nodiscard]] const WhatIfAnswer* trial_of(const WhatIfTrials& trials, std::string_view change);

// "dprof report RUN --what-if input=0 --sections what-if", for pasting into a shell.
[[nodiscard]] std::string what_if_command(const std::string& run,
                                          const std::vector<std::string>& changes);

}  // namespace dprof::view
