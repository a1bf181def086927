// SPDX-License-Identifier: Apache-2.0
// Verdicts on hosts with a slow link: no rank's own work is longer, yet they hold the others up.
#pragma once

#include <vector>

#include "analyzer/stragglers/result.h"
#include "analyzer/stragglers/stragglers.h"

namespace dprof::analyzer {

// One for each host that explains slow groups; its cost is the transfer beyond the usual, an upper
// bound if computation hides part of it. If no group can be compared with another, one without a
// particular rank, provided that all transfers became slower within the run and that this explains
// what steps lost from then on: its cost is at most that loss.
std::vector<Verdict> network_verdicts(const Comparison& comparison);

}  // namespace dprof::analyzer
