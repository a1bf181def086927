// SPDX-License-Identifier: Apache-2.0
// Places of a run that the window goes to by itself.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/report/finding.h"
#include "gui/view/model/model.h"

namespace dprof::view {

// The step that holds the moment, else the one before it, else the first. The model has steps.
[[nodiscard]] int64_t step_at(const Model& model, TraceNs time);

// The step that a finding's evidence lies in; where that is longer, a steady step near its middle
// whose neighbourhood is as long as usual; without evidence (or without a finding: nullptr), near
// the middle of all. nullopt = the run has no steps.
[[nodiscard]] std::optional<int64_t> typical_step(const Model& model,
                                                  const analyzer::Finding* finding);

// Some ranks did not end well, or the run hangs.
[[nodiscard]] bool has_failed(const Model& model);
// How the rank's process ended; nullptr = nothing is known of it.
[[nodiscard]] const analyzer::EndedRank* end_of_rank(const Model& model, int rank);
// The second in which it failed: where the others came to what the culprit never came to, else
// where the first of them ended. nullopt = it did not fail, or when is not known.
[[nodiscard]] std::optional<Interval> second_of_failure(const Model& model);

// The last one of those that never completed, in which the run hangs: into Model::collectives.
[[nodiscard]] std::optional<uint32_t> hung_collective(const Model& model);

}  // namespace dprof::view
