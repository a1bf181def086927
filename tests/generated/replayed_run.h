// SPDX-License-Identifier: Apache-2.0
// For tests: a generated run, taken as far as its replay.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "analyzer/replay/replayer.h"
#include "analyzer/steps/steps.h"
#include "synth/generate.h"

namespace dprof {

struct ReplayedRun {
  synth::Truth truth;
  std::optional<analyzer::Steps> steps;
  std::unique_ptr<analyzer::Replayer> replayer;  // nullptr: nothing to replay

  // Mean per step.
  [[nodiscard]] double recorded_ns() const;
  [[nodiscard]] double gain_ns(const analyzer::Replacement& replacement) const;
};

// Generates, and reads it as the analysis does.
ReplayedRun replayed(const synth::Spec& spec);

}  // namespace dprof
