// SPDX-License-Identifier: Apache-2.0
// Predicates of the communication rules; comm.cpp has their table. Pure functions.
#pragma once

#include <vector>

#include "analyzer/rules/rule.h"
#include "schema/function.h"

namespace dprof::analyzer::comm {

inline constexpr double kMostSteps = 0.8;  // of the steady steps, to say "each step"

[[nodiscard]] inline bool reduces(schema::Function function) {
  return function == schema::Function::kAllReduce || function == schema::Function::kReduceScatter;
}

// Gradient buckets (comm_buckets.cpp).
std::vector<Finding> exposed_tail(const RuleInput& input);
std::vector<Finding> small_messages(const RuleInput& input);
std::vector<Finding> link_saturated(const RuleInput& input);
std::vector<Finding> no_overlap(const RuleInput& input);
std::vector<Finding> order_blocked(const RuleInput& input);
std::vector<Finding> find_unused(const RuleInput& input);
std::vector<Finding> contention(const RuleInput& input);
std::vector<Finding> exposed_transfer(const RuleInput& input);

// What DDP's backward does beside computing (comm_backward.cpp).
std::vector<Finding> bucket_copies(const RuleInput& input);
std::vector<Finding> blocking_wait(const RuleInput& input);

// Which collectives a step has (comm_patterns.cpp).
std::vector<Finding> sync_each_microbatch(const RuleInput& input);
std::vector<Finding> no_gradient_sync(const RuleInput& input);
std::vector<Finding> needless_barrier(const RuleInput& input);
std::vector<Finding> buffer_broadcast(const RuleInput& input);
std::vector<Finding> small_collectives(const RuleInput& input);
std::vector<Finding> gather_exposed(const RuleInput& input);
std::vector<Finding> all_to_all_imbalance(const RuleInput& input);

// Links, routes, servers (comm_links.cpp).
std::vector<Finding> hang(const RuleInput& input);
std::vector<Finding> low_bandwidth(const RuleInput& input);
std::vector<Finding> slow_group(const RuleInput& input);
std::vector<Finding> gloo_on_gpu(const RuleInput& input);
std::vector<Finding> server_bottleneck(const RuleInput& input);
std::vector<Finding> unfinished_reduction(const RuleInput& input);

}  // namespace dprof::analyzer::comm
