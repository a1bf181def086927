// SPDX-License-Identifier: Apache-2.0
// Synthetic runs to check.
#pragma once

#include <cmath>
#include <random>

#include "analyzer/diff/run_facts.h"

namespace dprof::analyzer {

// 60 steps of 100 ms times `factor`; the excess is all in forward.
inline RunFacts made_run(uint64_t seed, double factor = 1, double noise = 0.005) {
  RunFacts run{.source = "run", .name = "run-" + std::to_string(seed), .ranks = 2, .hosts = 1};
  run.world_size = 2;
  run.environment = {{"cpu_model", "one"}};
  run.steady = 60;
  run.ended = "ok";
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 60; ++i)
    run.lengths_ns.push_back(std::llround(100e6 * factor * std::exp(noise * normal(random))));
  for (int rank = 0; rank < 2; ++rank) {
    const double forward = 100e6 * factor - 60e6;
    run.per_rank.push_back(
        {rank, 60e6 + forward, {{"forward", forward}, {"backward", 50e6}, {"exposed_wait", 10e6}}});
  }
  run.stragglers.emplace();
  return run;
}

}  // namespace dprof::analyzer
