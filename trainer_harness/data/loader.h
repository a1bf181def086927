// SPDX-License-Identifier: Apache-2.0
// Where batches come from: samples of a source, shared out among the ranks by torch's distributed
// samplers and made by torch's own DataLoader, ahead of need where it has workers.
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
  // `shares` ranks divide the data, of which this is number `share`. `faults` may act while a batch
  // is made.
  BatchStream(std::shared_ptr<const SampleSource> source, const DataOptions& options, int shares,
              int share, int64_t batch_size, FaultPlayer& faults);
  ~BatchStream();

  // Draws the order of the epoch's samples and leaves out the first `skip` batches. Workers begin;
  // without them, nothing is made yet. What is left of the epoch before is given up.
  void begin_epoch(int64_t epoch, int64_t skip = 0);

  // The next batch, or nothing at the end of the epoch. Waits until it is made.
  [[nodiscard]] std::optional<Batch> next();

  // Batches from the next one on (later, as far as workers have made some ahead) have so many
  // samples.
  void set_batch_size(int64_t samples);

  // The same for batches of `slice.total` samples, of which only the slice is made.
  void set_slice(const BatchSlice& slice);

  // Of an epoch, at the present batch size: of this rank, since shares may be of unequal length.
  [[nodiscard]] int64_t batches_per_epoch() const;

  // Batches that workers have made and next() has not taken; 0 without workers.
  [[nodiscard]] int64_t ready() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dprof::trainer_harness
