// SPDX-License-Identifier: Apache-2.0
// Saves what training needs to go on, and goes on from it: parameters, optimizer, epoch and step.
//
// A folder holds model.pt (parameters and buffers by name, and how far the training is) and
// optimizer.pt (its state, by the parameter's name). Where ranks hold different parts of either,
// each writes its own: optimizer.rank-R.pt and model.rank-R.pt. Files are dictionaries that
// Python's torch.load(file, weights_only=False) reads. A reader sees an old file or a new one,
// never a part.
//
// Not kept: random numbers (dropout) and the scale of the gradients under --amp fp16 start anew.
#pragma once

#include <torch/optim/optimizer.h>

#include "trainer_harness/strategies/strategy.h"

namespace dprof::trainer_harness {

// Called on all ranks; the ones that --save-by names, write. `optimizer` may be null. Throws.
void save_checkpoint(Context& context, Strategy& strategy,
                     const torch::optim::Optimizer* optimizer);

// Sets parameters, optimizer and context.progress from --checkpoint's folder; an empty or absent
// one is a fresh start. Called on all ranks, which must find the same. Names with and without
// "module." are understood. With another number of ranks, parts of a part (ZeRO-2 and 3) cannot be
// found; all else can. Throws.
void resume_checkpoint(Context& context, Strategy& strategy, torch::optim::Optimizer* optimizer);

}  // namespace dprof::trainer_harness
