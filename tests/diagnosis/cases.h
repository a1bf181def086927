// SPDX-License-Identifier: Apache-2.0
// What the parts of the plan share.
#pragma once

#include "tests/diagnosis/plan.h"

namespace dprof::diagnosis {

// Steps, noise and marks, in turns.
void set_usual(size_t number, Case& one);
// With several hosts, in turns: clocks that are seconds apart and drift.
void set_clocks(size_t number, synth::Spec& spec);
void name_case(size_t variant, Case& one);

// `number`: of the first one; it decides everything about a case but its kind and size.
void add_fault_cases(size_t number, std::vector<Case>& cases);
void add_healthy_cases(size_t number, std::vector<Case>& cases);
void add_harder_cases(size_t number, std::vector<Case>& cases);

}  // namespace dprof::diagnosis
