// SPDX-License-Identifier: Apache-2.0
// Saves what training needs to go on, and goes on from it: parameters, optimizer, epoch and step.
//
// A folder holds model.pt (parameters and buffers by name, epoch, step) and optimizer.pt. A reader
// sees an old file or a new one, never a part.
#pragma once

#include <torch/optim/optimizer.h>

#include "trainer_harness/strategies/strategy.h"

namespace dprof::trainer_harness {

// Called on all ranks; the ones that --save-by names, write. `optimizer` may be null. Throws.
void save_checkpoint(Context& context, Strategy& strategy,
                     const torch::optim::Optimizer* optimizer);

// Sets parameters, optimizer and context.progress from --checkpoint's folder. Names with and
// without "module." are understood. Throws.
void resume_checkpoint(Context& context, Strategy& strategy, torch::optim::Optimizer* optimizer);

}  // namespace dprof::trainer_harness
