// SPDX-License-Identifier: Apache-2.0
// Verdicts on hosts whose link is slow: nobody's own work is longer, and all the same they hold the
// others up.
#pragma once

#include <vector>

#include "analyzer/stragglers/result.h"
#include "analyzer/stragglers/stragglers.h"

namespace dprof::analyzer {

// One for each host that explains slow groups; its cost is the transfer beyond the usual, an upper
// bound where computation hides a part of it. Where no group can be compared with another, one of
// no rank in particular, if all transfers became slower within the run and that explains what steps
// lost by then: its cost is no more than they lost.
std::vector<Verdict> network_verdicts(const Comparison& comparison);

}  // namespace dprof::analyzer
