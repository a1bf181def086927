// SPDX-License-Identifier: Apache-2.0
// Activation checkpointing: only a block's input is kept for backward, which runs the block again
// to recompute its activations. It saves memory at the cost of a second forward pass.
#pragma once

#include "trainer_harness/models/model.h"
#include "trainer_harness/techniques/context.h"

namespace dprof::trainer_harness {

// From now on, backward recomputes all blocks of `model` but the first and the last, in forward's
// precision and without a second update of the running statistics. The models draw no random
// numbers in a block, so none must be repeated. Throws UsageError if this cannot work.
void apply_recompute(Model& model, Context& context);

}  // namespace dprof::trainer_harness
