// SPDX-License-Identifier: Apache-2.0
// Findings: what was computed, as sentences with cost, evidence and advice, ranked by cost. One
// function per rule in rules.cpp; names are dotted words (`balance.straggler`).
#pragma once

#include <vector>

#include "analyzer/report/report.h"
#include "analyzer/stragglers/stragglers.h"

namespace dprof::analyzer {

// `report`: everything but findings. Critical from 10 % of the median step on, warn from 3 %.
std::vector<Finding> find_all(const Report& report, const std::vector<Verdict>& verdicts);

}  // namespace dprof::analyzer
