// SPDX-License-Identifier: Apache-2.0
// Checks that options make sense together and for this job. Pure.
#pragma once

#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// The job that the options are for.
struct JobShape {
  bool has_ranks = false;  // a launcher started them, even if only one
  int world_size = 1;
  bool restarted = false;  // perhaps with fewer ranks than the faults name
};

// Called before any rank is started. Throws UsageError, with a hint.
void check_launch(const Options& options);

// Called in a rank before it joins the others, or in a single process. A strategy can refuse more,
// by its own checks. Throws UsageError, with a hint.
void check_options(const Options& options, const JobShape& job);

}  // namespace dprof::trainer_harness
