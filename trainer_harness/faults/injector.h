// SPDX-License-Identifier: Apache-2.0
// Applies the faults of one rank at their places in a step, and keeps account of them.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "trainer_harness/faults/fault.h"
#include "trainer_harness/faults/truth.h"

namespace dprof::trainer_harness {

// Places of a step where a fault can act.
enum class Place : uint8_t {
  kStepBegin,
  kInput,     // while a batch is made, on the thread that makes it
  kForward,   // at its start
  kBackward,  // in a gradient hook: the other ranks wait within *their* backward, so that phase
              // times do not show it
  kOptimizer,
  kCheckpoint,
  kLog,
  kStepEnd,
};

// Threading: visit() may be called from the training thread, autograd's and loader threads.
class FaultInjector {
 public:
  FaultInjector(std::vector<Fault> faults, int world_size, RankTruth& truth)
      : faults_(std::move(faults)), world_size_(world_size), truth_(truth) {}

  // Does what the faults of this rank and place do in `step`, on the calling thread.
  void visit(Place place, int64_t step);

  // Whether any fault of this rank acts at `place`.
  [[nodiscard]] bool acts_at(Place place) const;

  // By how much a batch, or a sequence, of this step is longer than it should be; 1 = not.
  [[nodiscard]] double batch_factor(int64_t step);
  [[nodiscard]] double length_factor(int64_t step);

 private:
  std::vector<Fault> faults_;
  int world_size_;
  RankTruth& truth_;
  std::mutex mutex_;  // guards truth_.strikes
};

}  // namespace dprof::trainer_harness
