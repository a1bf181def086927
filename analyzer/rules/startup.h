// SPDX-License-Identifier: Apache-2.0
// Predicates of start-up, parallelism and steps; startup.cpp has their table. Pure functions.
#pragma once

#include <vector>

#include "analyzer/rules/rule.h"

namespace dprof::analyzer::startup {

// How the job began (job_start.cpp).
std::vector<Finding> no_ranks(const RuleInput& input);
std::vector<Finding> failed(const RuleInput& input);
std::vector<Finding> rendezvous(const RuleInput& input);

// How the work is divided (parallel.cpp).
std::vector<Finding> device_shared(const RuleInput& input);
std::vector<Finding> stages_share_device(const RuleInput& input);
std::vector<Finding> single_process(const RuleInput& input);
std::vector<Finding> bubble(const RuleInput& input);

// What a step does (updates.cpp).
std::vector<Finding> partial_accumulation(const RuleInput& input);
std::vector<Finding> skipped_steps(const RuleInput& input);
std::vector<Finding> many_writers(const RuleInput& input);

}  // namespace dprof::analyzer::startup
