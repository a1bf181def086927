// SPDX-License-Identifier: Apache-2.0
// One case of the plan: generated, analysed, and written as a line of JSON. score.py
// judges it, by the same rules for generated and for real runs.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "tests/diagnosis/plan.h"

namespace dprof::diagnosis {

// Turns the knob until the faults together cost what the case asks for, or nearly: within a tenth.
// O(executions of the model); nothing is written.
Status settle(Case& one);

// The truth of the run, what the report says, and how long both took. `scratch` must not
// exist; it is removed again. `vary`: also what it would say with other thresholds (sensitivity.h).
Result<nlohmann::ordered_json> run_case(const Case& one, const std::filesystem::path& scratch,
                                        bool vary);

}  // namespace dprof::diagnosis
