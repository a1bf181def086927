// SPDX-License-Identifier: Apache-2.0
// `--spawn N`: this program starts its ranks itself, as mp.spawn and Process per rank do in Python,
// by starting itself anew: a fork of a process that has used CUDA could not use it (mistake M23).
#pragma once

#include <string>
#include <vector>

#include "trainer_harness/launch/process.h"
#include "trainer_harness/ranks/rendezvous.h"
#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// Whether this process is a rank that --spawn has started: its --spawn is done.
[[nodiscard]] bool is_spawned(const Environment& environment);

// What a launcher sets for rank `local` of `local_world` on host `node` of `nodes`. `attempt` is
// the number of restarts, for --elastic.
struct RankPlace {
  int local = 0;
  int local_world = 1;
  int node = 0;
  int nodes = 1;
  int attempt = 0;
};
[[nodiscard]] Variables rank_variables(const RankPlace& place, bool elastic,
                                       const std::string& address, const std::string& port,
                                       const Environment& environment);

// Starts the ranks with `arguments` (without the program), waits for them, and gives the exit code:
// of the first that failed, which ends the others; 0 where none did. With --elastic, a lost rank
// makes it start again with one fewer. Throws UsageError and std::runtime_error.
[[nodiscard]] int spawn_ranks(const Options& options, const std::vector<std::string>& arguments);

}  // namespace dprof::trainer_harness
