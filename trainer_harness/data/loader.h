// SPDX-License-Identifier: Apache-2.0
// The source of batches: torch's distributed samplers divide the samples among the ranks, and
// torch's DataLoader makes the batches, ahead of time if it has workers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "trainer_harness/data/source.h"
#include "trainer_harness/faults/player.h"
#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// One rank's batches. Used by the training thread.
class BatchStream {
 public:
  // The data is divided into `shares` shares, of which this rank has number `share`. `faults` can
  // act while a batch is made.
  BatchStream(std::shared_ptr<const SampleSource> source, const DataOptions& options, int shares,
              int share, int64_t batch_size, FaultPlayer& faults);
  ~BatchStream();

  // Draws the order of the epoch's samples and skips the first `skip` batches. Discards the rest of
  // the previous epoch. Workers start at once; without workers, next() makes the batches.
  void begin_epoch(int64_t epoch, int64_t skip = 0);

  // Waits for the next batch; nullopt at the end of the epoch.
  [[nodiscard]] std::optional<Batch> next();

  // Sets the size of the batches from the next one on, or, if workers have already made some ahead,
  // from the one after those.
  void set_batch_size(int64_t samples);

  // Likewise for batches of `slice.total` samples, of which this rank makes only the slice.
  void set_slice(const BatchSlice& slice);

  // This rank's batches in an epoch at the current batch size; shares can differ in length.
  [[nodiscard]] int64_t batches_per_epoch() const;

  // Batches that workers have made and next() has not returned yet; 0 without workers.
  [[nodiscard]] int64_t ready() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dprof::trainer_harness
