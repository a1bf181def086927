// SPDX-License-Identifier: Apache-2.0
// Announces the trainer's data and memory in NVTX payloads (docs/payloads.md). Without an attached
// tool, or in a build without the NVTX headers, this has no effect.
//
// Threading  any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer_harness/data/source.h"

namespace dprof::trainer_harness {

struct AnnouncedBatch {
  int64_t epoch = 0;
  int64_t queue_depth = 0;  // batches ready before this one was taken
};

// Marks "batch". Call it within, or right after, the range of the wait for the batch.
void announce_batch(const Batch& batch, const AnnouncedBatch& about);

// The purpose of a block of memory. The values are those of dprof's enumeration MemoryCategory.
enum class MemoryUse : int32_t { kParameter = 1, kGradient = 2, kOptimizerState = 3 };

// Marks "memory" once per tensor; undefined tensors are skipped.
void announce_memory(const std::vector<torch::Tensor>& tensors, MemoryUse use);

}  // namespace dprof::trainer_harness
