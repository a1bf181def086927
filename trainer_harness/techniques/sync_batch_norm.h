// SPDX-License-Identifier: Apache-2.0
// SyncBatchNorm: batch normalisation with the statistics of all ranks' samples, as if one process
// had them all.
//
// Each layer costs two small collectives per step: an all-gather of 2C + 1 floats (mean, variance,
// count) in forward, an all-reduce of 2C in backward.
#pragma once

#include "trainer_harness/models/model.h"
#include "trainer_harness/techniques/context.h"

namespace dprof::trainer_harness {

// Synchronises every BatchNorm layer of `model`. Throws UsageError if that has no meaning: no such
// layer, no other ranks, or ranks that do not run the same layers together.
void apply_sync_batch_norm(Model& model, Context& context);

}  // namespace dprof::trainer_harness
