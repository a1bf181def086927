// SPDX-License-Identifier: Apache-2.0
// What the trainer says of its data and memory by NVTX payloads (docs/payloads.md). Nothing
// happens where nobody listens, and where it was built without the NVTX headers.
//
// Threading  any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer_harness/data/source.h"

namespace dprof::trainer_harness {

struct AnnouncedBatch {
  int64_t epoch = 0;
  int64_t queue_depth = 0;  // batches that were ready before this one was taken
};

// A mark "batch": call it within, or right after, the range in which the batch was waited for.
void announce_batch(const Batch& batch, const AnnouncedBatch& about);

// What a block of memory holds; the numbers of dprof's enumeration MemoryCategory.
enum class MemoryUse : int32_t { kParameter = 1, kGradient = 2, kOptimizerState = 3 };

// A mark "memory" per tensor; undefined tensors are left out.
void announce_memory(const std::vector<torch::Tensor>& tensors, MemoryUse use);

}  // namespace dprof::trainer_harness
