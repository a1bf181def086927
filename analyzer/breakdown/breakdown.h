// SPDX-License-Identifier: Apache-2.0
// The report's time tables: how each rank's steady steps divide, and how much of its communication
// was hidden.
#pragma once

#include <span>
#include <vector>

#include "analyzer/breakdown/communication.h"
#include "analyzer/breakdown/result.h"
#include "analyzer/breakdown/sums.h"
#include "analyzer/digest/digest.h"
#include "analyzer/steps/result.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

// `sums`: for each entry of steps.ranks one Sums per step of `steps`.
using StepSums = std::vector<std::vector<Sums>>;
// `pieces`: the lattice of each digest. A GPU rank's steps are those of its device, if the device
// has work in each of them: the rank's time is divided by the device's activity.
[[nodiscard]] StepSums step_sums_of(const Steps& steps, std::span<const Lattice> pieces);

Breakdown breakdown_of(std::span<const RankDigest> digests, const Steps& steps,
                       const StepSums& sums);
Overlap overlap_of(const CommunicationInput& input, const StepSums& sums);

}  // namespace dprof::analyzer
