// SPDX-License-Identifier: Apache-2.0
// `dprof recover`: finishes what a killed recorder left.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"

namespace dprof::recorder {

struct Recovered {
  int finished = 0;              // traces that were unfinished
  int whole = 0;                 // traces that were finished already
  int moved = 0;                 // of these two, those that lay on the node's own disk (--local)
  std::vector<Error> damaged;    // traces that cannot be finished; their files are left alone
  std::vector<Error> elsewhere;  // disks of other nodes, on which traces of the run lie
};

// Brings back what was committed, says in the trace how it ended, gives it its final name, and
// writes run.json anew. Does nothing to a run that is whole, so it can be repeated. kNotFound for a
// folder that is not there or holds no trace; kUsage while a recorder works in it.
Result<Recovered> recover_run(const std::filesystem::path& folder);

}  // namespace dprof::recorder
