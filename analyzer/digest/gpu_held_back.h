// SPDX-License-Identifier: Apache-2.0
// Computation held back by a collective of another stream without any recorded ordering: the
// streams share a hardware queue of the device. Private to digest/gpu*.
#pragma once

#include <span>
#include <vector>

#include "analyzer/digest/gpu.h"
#include "analyzer/digest/gpu_activities.h"
#include "analyzer/digest/gpu_gaps.h"

namespace dprof::analyzer {

// `activities` of one device, in order of begin. Only if the collective's own stream waits for
// recorded events: then the events that order streams are known. O(activities).
[[nodiscard]] std::vector<HeldBack> held_back_in(std::span<const Activity> activities,
                                                 std::span<const LaunchCall> launches,
                                                 const Dependencies& dependencies);

}  // namespace dprof::analyzer
