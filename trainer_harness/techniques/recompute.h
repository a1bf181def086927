// SPDX-License-Identifier: Apache-2.0
// Activation checkpointing: of a block, only the input is kept for backward, which runs the block
// again to have its activations. Memory for a second forward pass.
#pragma once

#include "trainer_harness/models/model.h"
#include "trainer_harness/techniques/context.h"

namespace dprof::trainer_harness {

// From now on, all blocks of `model` but the first and the last are computed again in backward, in
// the precision that forward had, and with the running statistics left alone the second time. The
// models draw no random numbers in a block, so none have to be repeated. Throws UsageError where
// this cannot work.
void apply_recompute(Model& model, Context& context);

}  // namespace dprof::trainer_harness
