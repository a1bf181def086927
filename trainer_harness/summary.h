// SPDX-License-Identifier: Apache-2.0
// A rank's summary at the end of training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer_harness/faults/truth.h"

namespace dprof::trainer_harness {

// The number of samples that a rank took. Ranks that take the same samples have the same `part`.
struct SamplesTaken {
  int part = 0;  // -1: it needs no data
  int64_t samples = 0;

  [[nodiscard]] std::string text() const;  // to be sent to rank 0
  [[nodiscard]] static SamplesTaken read(const std::string& text);
};

[[nodiscard]] SamplesTaken samples_taken(const RankTruth& truth, int part);

// Samples of all ranks, where each part counts once: all stages of a pipeline take the same part.
[[nodiscard]] int64_t samples_of_job(const std::vector<SamplesTaken>& ranks);

// "done: 20 steps in 0.51 s, median 20.11 ms per step, 19.80 without input, 5020 samples/s,
// loss 2.3 -> 1.9".
[[nodiscard]] std::string throughput_text(const RankTruth& truth, int64_t samples);

// "state per rank: parameters 108400 B, gradients 108400 B, optimizer 0 B".
[[nodiscard]] std::string state_text(const RankTruth& truth);

}  // namespace dprof::trainer_harness
