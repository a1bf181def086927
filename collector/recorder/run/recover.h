// SPDX-License-Identifier: Apache-2.0
// `dprof recover`: finishes the traces of a killed recorder.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"

namespace dprof::recorder {

struct Recovered {
  int finished = 0;              // traces that were unfinished
  int whole = 0;                 // traces that were finished already
  int moved = 0;                 // of these two, moved from the node's own disk (--local)
  std::vector<Error> damaged;    // traces that cannot be finished; their files are left alone
  std::vector<Error> elsewhere;  // disks of other nodes with traces of the run
};

// Restores committed rows, records in the trace how it ended, gives it its final name, and rewrites
// run.json. Does not change a complete run, so it can be repeated. kNotFound for a folder that does
// not exist or has no trace; kUsage while a recorder works in it.
Result<Recovered> recover_run(const std::filesystem::path& folder);

}  // namespace dprof::recorder
