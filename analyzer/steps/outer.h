// SPDX-License-Identifier: Apache-2.0
// Steady steps that carry something beside training: a checkpoint, a validation.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyzer/steps/result.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

// For each step of steps.steady() what it carries: "checkpoint", "validation", "other", or "" for
// an ordinary one. A step is not ordinary if
//   - a range in it says so (checkpoint, validation, evaluate, …) and it holds a checkpoint or is
//     longer than three times the median, or
//   - most ranks did other collectives in it than in their other steps.
// O(collectives + steps * ranks).
[[nodiscard]] std::vector<std::string> outer_kinds(std::span<const RankDigest> digests,
                                                   const Steps& steps);

}  // namespace dprof::analyzer
