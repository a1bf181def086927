// SPDX-License-Identifier: Apache-2.0
// What makes no sense together, or for this job. Pure.
#pragma once

#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// The job that the options are for.
struct JobShape {
  bool has_ranks = false;  // a launcher started them, be it only one
  int world_size = 1;
  bool restarted = false;  // perhaps with fewer ranks than the faults were meant for
};

// Before any rank is started. Throws UsageError, with a hint.
void check_launch(const Options& options);

// In a rank, or a single process, before it meets the others. A strategy may refuse more, which
// only it can know. Throws UsageError, with a hint.
void check_options(const Options& options, const JobShape& job);

}  // namespace dprof::trainer_harness
