// SPDX-License-Identifier: Apache-2.0
// Collectives beside those of the training: they combine the ranks' metrics of a batch.
#pragma once

#include <torch/types.h>

#include "trainer_harness/strategies/strategy.h"

namespace dprof::trainer_harness {

// Throws UsageError if some rank would have no predictions, or if their shapes could not match.
void check_metrics(const Context& context);

// Called on all ranks in the same steps, within the metrics mark; rank 0 logs the result.
//
// all-gather: every rank gets the predictions of all ranks. If batches can differ, the ranks first
// all-gather their sample counts, and those with fewer samples pad. reduce: rank 0 gets the sums of
// loss, right answers and samples.
void exchange_metrics(Context& context, Strategy& strategy, const torch::Tensor& loss,
                      const Batch& batch);

}  // namespace dprof::trainer_harness
