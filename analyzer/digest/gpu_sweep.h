// SPDX-License-Identifier: Apache-2.0
// Divides a device's time by its activities, over all streams at once. Private to digest/gpu*.
#pragma once

#include <span>
#include <vector>

#include "analyzer/digest/gpu.h"
#include "analyzer/digest/gpu_activities.h"
#include "analyzer/digest/gpu_gaps.h"

namespace dprof::analyzer {

// Pieces over `span`, which contains all activities; these are in order of their begin.
//
// Computation precedes communication, which precedes copies; of several kernels the one that began
// last gives the phase, of several collectives the one that ends last is named. O(n log active).
std::vector<DevicePiece> sweep_device(std::span<const Activity> activities, Interval span,
                                      std::span<const LaunchCall> launches,
                                      const GapClassifier& gaps);

}  // namespace dprof::analyzer
