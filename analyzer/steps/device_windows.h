// SPDX-License-Identifier: Apache-2.0
// Windows of host steps on the GPU: the host runs ahead of it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/digest/launches.h"
#include "analyzer/steps/result.h"
#include "base/interval.h"

namespace dprof::analyzer {

// For each host window the device window [b_s, b_s+1): b_s is where the first activity begins whose
// launch lies in host step s, made monotone. The last one ends where the first activity launched
// after it begins, or with `end`, the end of the device's work. `hosts` are sorted and disjoint; a
// window after a gap between host windows ends where work launched in the gap begins. nullopt for
// steps that launched nothing. O(launches + windows).
[[nodiscard]] std::vector<std::optional<Interval>> device_windows_of(
    std::span<const Launch> launches, std::span<const Interval> hosts, TraceNs end);

// An entry's windows in these steps: on the device where it has one in each of them, else on the
// host.
[[nodiscard]] std::vector<Interval> own_windows(std::span<const AlignedStep> steps, size_t entry);

}  // namespace dprof::analyzer
