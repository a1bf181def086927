// SPDX-License-Identifier: Apache-2.0
// How the ranks share the work of an update. The loop (train_loop.h) is the same for all of them:
//
//   begin_update(); micro_step() times --accumulate; finish_gradients();
//   the optimizer steps updated_parameters(); finish_update()
//
// A rank for which serves() is true, has no loop: it answers the others in serve().
#pragma once

#include <torch/optim/optimizer.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer_harness/data/source.h"
#include "trainer_harness/models/model.h"
#include "trainer_harness/techniques/context.h"

namespace dprof::trainer_harness {

// The place of a micro-step in its update.
struct MicroStep {
  int64_t index = 0;
  int64_t count = 1;  // of this update; smaller in an epoch's last one

  bool divides_loss = true;  // leaving it out is a mistake

  [[nodiscard]] bool last() const { return index + 1 == count; }
  // What the loss of one micro-step counts for in the update's.
  [[nodiscard]] double loss_factor() const {
    return divides_loss ? 1 / static_cast<double>(count) : 1;
  }
};

// What a rank keeps for its share of the model, in bytes.
struct StateBytes {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
};

class Strategy {
 public:
  Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;
  virtual ~Strategy() = default;

  // This rank's replica of the model, or its part.
  [[nodiscard]] virtual Model& model() = 0;

  // What this rank's optimizer steps; empty where another rank does it.
  [[nodiscard]] virtual std::vector<torch::Tensor> updated_parameters() {
    return model().parameters();
  }

  // How many ways the data is divided, and which part is this rank's. A rank that needs no data
  // gives part -1 and gets empty batches.
  [[nodiscard]] virtual std::pair<int, int> data_share() const { return {1, 0}; }

  // The part of each batch of that data which this rank takes, from the next one on, where it is
  // not the whole; `batch_per_rank` is what an equal part has.
  [[nodiscard]] virtual std::optional<BatchSlice> batch_slice(int64_t batch_per_rank) const {
    (void)batch_per_rank;
    return std::nullopt;
  }

  // Whether another update of this epoch comes: true on all ranks or on none. By default as long as
  // this rank has data. Called before each update.
  [[nodiscard]] virtual bool goes_on(bool has_data) { return has_data; }

  virtual void begin_update() {}

  // In place of the micro-steps, on a rank whose data has ended while others have more: takes part
  // in their update with gradients of zero.
  virtual void join_update() {}

  // Forward and backward of one micro-batch, marked as such; gradients are added up. Gives the
  // batch's mean loss, detached; undefined on a rank that does not know it.
  virtual torch::Tensor micro_step(const Batch& batch, const MicroStep& which) = 0;

  // What the model gave for the latest micro-batch, detached; undefined on a rank that does not
  // know.
  [[nodiscard]] virtual torch::Tensor predictions() const { return {}; }

  // Called on all ranks in the same steps, with what micro_step() gave. Gives a loss that is known
  // to rank 0.
  [[nodiscard]] virtual torch::Tensor share_loss(torch::Tensor loss) { return loss; }

  // Now every gradient that this rank's optimizer needs is there, the same on all ranks that hold
  // the same parameters.
  virtual void finish_gradients() {}

  // Sums a figure that each rank has of its own updated_parameters() over all parameters of the
  // model; MAX instead of a sum for `largest`. The identity where each rank has all of them.
  [[nodiscard]] virtual torch::Tensor over_all_parameters(torch::Tensor value, bool largest) {
    (void)largest;
    return value;
  }

  // After the optimizer's step: brings new parameters to the ranks that need them.
  virtual void finish_update() {}

  [[nodiscard]] virtual bool serves() const { return false; }
  // Answers the other ranks until all have ended. `optimizer` is over updated_parameters().
  virtual void serve(torch::optim::Optimizer& optimizer) { (void)optimizer; }
  // After the last update, on ranks with a loop.
  virtual void finish() {}

  // Makes model() whole, where a rank keeps only a part of each parameter; for saving and
  // comparing.
  virtual void gather_parameters() {}
  // The other way: model() was filled from a checkpoint, after gather_parameters().
  virtual void scatter_parameters() {}
  // Whether model() must be equal on all ranks in the end.
  [[nodiscard]] virtual bool keeps_replicas_equal() const { return true; }

  // What this rank's mean loss counts for from now on, in the mean over all ranks; 1 where batches
  // are equal. Throws UsageError where batches cannot differ.
  virtual void set_loss_weight(double weight);

  // What is allocated at the end of an update; gradients as they were when the optimizer stepped.
  // `optimizer` is null where this rank has none.
  [[nodiscard]] virtual StateBytes state_bytes(const torch::optim::Optimizer* optimizer);

  // Says by NVTX where parameters, gradients and the optimizer's state lie now.
  void announce_state(const torch::optim::Optimizer* optimizer);

 protected:
  // For finish_gradients(): remembers what gradients take, since they are gone after the step.
  void note_gradients();

 private:
  [[nodiscard]] std::vector<torch::Tensor> kept_parameters();

  int64_t gradient_bytes_ = 0;
};

// Builds the model too. Throws UsageError for a job that the strategy cannot use.
[[nodiscard]] std::unique_ptr<Strategy> make_strategy(Context& context);

}  // namespace dprof::trainer_harness
