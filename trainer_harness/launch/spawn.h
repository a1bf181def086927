// SPDX-License-Identifier: Apache-2.0
// `--spawn N`: this program starts its ranks by executing itself, like Python's mp.spawn or a
// Process per rank. Children forked after CUDA initialisation could not use it (mistake M23).
// Without a GPU and without dprof, it forks them: LibTorch takes a third of a second to load.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer_harness/launch/process.h"
#include "trainer_harness/ranks/rendezvous.h"
#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// True if this process is a rank started by --spawn, so that it must not spawn again.
[[nodiscard]] bool is_spawned(const Environment& environment);

// Rank `local` of `local_world` on host `node` of `nodes`, and the variables that a launcher sets
// for it. `attempt` is the number of restarts, for --elastic.
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

// This program, as its main() runs it: arguments (without the program) to exit code.
using Program = std::function<int(const std::vector<std::string>&)>;

// Starts the ranks, each of them `program` with `arguments`, waits for them, and returns the exit
// code of the first that failed, which ends the others, or 0 if none failed. With --elastic, it
// restarts with one rank fewer after a lost rank. Throws UsageError and std::runtime_error.
[[nodiscard]] int spawn_ranks(const Options& options, const std::vector<std::string>& arguments,
                              const Program& program);

}  // namespace dprof::trainer_harness
