// SPDX-License-Identifier: Apache-2.0
// Places in a run to which the window goes by itself.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/report/finding.h"
#include "gui/view/model/model.h"

namespace dprof::view {

// The step that contains the moment, else the previous one, else the first. The model has steps.
[[nodiscard]] int64_t step_at(const Model& model, TraceNs time);

// The step that contains a finding's evidence; if that is longer, a steady step near its middle
// with neighbours of usual length; without evidence (or without a finding: nullptr), near the
// middle of the run. nullopt = the run has no steps.
[[nodiscard]] std::optional<int64_t> typical_step(const Model& model,
                                                  const analyzer::Finding* finding);

// Some ranks ended abnormally, or the run hangs.
[[nodiscard]] bool has_failed(const Model& model);
// The end of the rank's process; nullptr = unknown.
[[nodiscard]] const analyzer::EndedRank* end_of_rank(const Model& model, int rank);
// The second in which the run failed: where the others arrived at a collective that the culprit
// never reached, else where the first of them ended. nullopt = it did not fail, or the time is
// unknown.
[[nodiscard]] std::optional<Interval> second_of_failure(const Model& model);

// The last collective that never completed, in which the run hangs: into Model::collectives.
[[nodiscard]] std::optional<uint32_t> hung_collective(const Model& model);

}  // namespace dprof::view
