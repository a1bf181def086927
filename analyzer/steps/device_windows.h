// SPDX-License-Identifier: Apache-2.0
// Maps host steps to windows on the GPU: the host runs ahead of it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/digest/launches.h"
#include "analyzer/steps/result.h"
#include "base/interval.h"

namespace dprof::analyzer {

// The device window [b_s, b_s+1) of each host window: b_s is the begin of the first activity
// launched in host step s, made monotone. The last one ends at the first activity launched after
// it, or at `end`, the end of the device's work. `hosts` are sorted and disjoint; a window before a
// gap between host windows ends at the first work launched in the gap. nullopt for steps without
// launches. O(launches + windows).
[[nodiscard]] std::vector<std::optional<Interval>> device_windows_of(
    std::span<const Launch> launches, std::span<const Interval> hosts, TraceNs end);

// An entry's windows in these steps: on the device if it has one in each step, else on the host.
[[nodiscard]] std::vector<Interval> own_windows(std::span<const AlignedStep> steps, size_t entry);

}  // namespace dprof::analyzer
