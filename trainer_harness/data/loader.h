// SPDX-License-Identifier: Apache-2.0
// Where batches come from: samples of a source, shared out among the ranks by torch's distributed
// samplers and made by torch's own DataLoader, ahead of need where it has workers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "trainer_harness/data/source.h"
#include "trainer_harness/faults/injector.h"
#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// One rank's batches. Used by the training thread.
class BatchStream {
 public:
  // `shares` ranks divide the data, of which this is number `share`. `faults` may act while a batch
  // is made.
  BatchStream(std::shared_ptr<const SampleSource> source, const DataOptions& options, int shares,
              int share, int64_t batch_size, FaultInjector& faults);
  ~BatchStream();

  // Draws the order of the epoch's samples. Nothing is made yet.
  void begin_epoch(int64_t epoch);

  // The next batch, or nothing at the end of the epoch. Waits until it is made.
  [[nodiscard]] std::optional<Batch> next();

  // Batches from the next one on (later, as far as workers have made some ahead) have so many
  // samples.
  void set_batch_size(int64_t samples);

  // Of an epoch, at the present batch size.
  [[nodiscard]] int64_t batches_per_epoch() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dprof::trainer_harness
