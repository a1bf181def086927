// SPDX-License-Identifier: Apache-2.0
// Collectives of one's own beside those of the training: what ranks know of their batches, brought
// together.
#pragma once

#include <torch/types.h>

#include "trainer_harness/strategies/strategy.h"

namespace dprof::trainer_harness {

// Throws UsageError where a rank has no predictions to give.
void check_metrics(const Context& context);

// Called on all ranks in the same steps, within the metrics mark; rank 0 logs the outcome.
//
// all-gather: every rank gets the predictions of all; ranks with fewer samples than others fill up,
// and, where batches can differ, an all-gather of their numbers goes before. reduce: the sums of
// loss, right answers and samples arrive at rank 0.
void exchange_metrics(Context& context, Strategy& strategy, const torch::Tensor& loss,
                      const Batch& batch);

}  // namespace dprof::trainer_harness
