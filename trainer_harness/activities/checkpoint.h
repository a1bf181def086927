// SPDX-License-Identifier: Apache-2.0
// Saves and resumes training: parameters, optimizer, epoch and step.
//
// A folder has model.pt (parameters and buffers by name, and the training's progress) and
// optimizer.pt (its state, by the parameter's name). If ranks hold different parts of either, each
// writes its own: optimizer.rank-R.pt and model.rank-R.pt. Files are dictionaries that Python's
// torch.load(file, weights_only=False) reads. Each file is replaced atomically.
//
// Not saved: the random generator's state (dropout) and the gradient scale under --amp fp16. Both
// start from scratch.
#pragma once

#include <torch/optim/optimizer.h>

#include "trainer_harness/strategies/strategy.h"

namespace dprof::trainer_harness {

// Called on all ranks; those that --save-by selects write. `optimizer` can be null. Throws.
void save_checkpoint(Context& context, Strategy& strategy,
                     const torch::optim::Optimizer* optimizer);

// Sets parameters, optimizer and context.progress from --checkpoint's folder; an empty or absent
// folder is a fresh start. Called on all ranks, which must find the same checkpoint. Accepts names
// with and without "module.". With another number of ranks, pieces of parameters (ZeRO-2 and 3)
// cannot be found; everything else can. Throws.
void resume_checkpoint(Context& context, Strategy& strategy, torch::optim::Optimizer* optimizer);

}  // namespace dprof::trainer_harness
