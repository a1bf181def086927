// SPDX-License-Identifier: Apache-2.0
// The ranks' shares of the work of an update. The loop (train_loop.h) is the same for all of them:
//
//   begin_update(); micro_step() times --accumulate; finish_gradients();
//   the optimizer steps updated_parameters(); finish_update()
//
// A rank whose serves() is true has no loop: it answers the others in serve().
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
  // The weight of one micro-step's loss in the update's loss.
  [[nodiscard]] double loss_factor() const {
    return divides_loss ? 1 / static_cast<double>(count) : 1;
  }
};

// A rank's memory for its share of the model, in bytes.
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

  // This rank's replica or part of the model.
  [[nodiscard]] virtual Model& model() = 0;

  // The parameters that this rank's optimizer steps; empty if another rank does it.
  [[nodiscard]] virtual std::vector<torch::Tensor> updated_parameters() {
    return model().parameters();
  }

  // The number of parts of the data, and this rank's part. A rank that needs no data returns part
  // -1 and gets empty batches.
  [[nodiscard]] virtual std::pair<int, int> data_share() const { return {1, 0}; }

  // The slice that this rank takes of each batch of that data, from the next batch on; none: the
  // whole batch. `batch_per_rank` is the size of an equal part.
  [[nodiscard]] virtual std::optional<BatchSlice> batch_slice(int64_t batch_per_rank) const {
    (void)batch_per_rank;
    return std::nullopt;
  }

  // True if this epoch has another update: the same on all ranks. The default: if this rank
  // has data. Called before each update.
  [[nodiscard]] virtual bool goes_on(bool has_data) { return has_data; }

  virtual void begin_update() {}

  // Called in place of the micro-steps on a rank whose data has ended while others have more: takes
  // part in their update with zero gradients.
  virtual void join_update() {}

  // Forward and backward of one micro-batch, marked as such; accumulates gradients. Returns the
  // batch's mean loss, detached; undefined on a rank that does not know it.
  virtual torch::Tensor micro_step(const Batch& batch, const MicroStep& which) = 0;

  // The model's output for the latest micro-batch, detached; undefined on a rank that does not know
  // it.
  [[nodiscard]] virtual torch::Tensor predictions() const { return {}; }

  // Called on all ranks in the same steps, with the result of micro_step(). Returns a loss that
  // rank 0 knows.
  [[nodiscard]] virtual torch::Tensor share_loss(torch::Tensor loss) { return loss; }

  // Afterwards this rank has every gradient that its optimizer needs, the same on all ranks that
  // hold the same parameters.
  virtual void finish_gradients() {}

  // Combines each rank's figure for its own updated_parameters() into one for all parameters of the
  // model: the maximum if `largest`, else the sum. Returns `value` if each rank has all parameters.
  [[nodiscard]] virtual torch::Tensor over_all_parameters(torch::Tensor value, bool largest) {
    (void)largest;
    return value;
  }

  // After the optimizer's step: sends new parameters to the ranks that need them.
  virtual void finish_update() {}

  [[nodiscard]] virtual bool serves() const { return false; }
  // Answers the other ranks until all have ended. `optimizer` steps updated_parameters().
  virtual void serve(torch::optim::Optimizer& optimizer) { (void)optimizer; }
  // After the last update, on ranks with a loop.
  virtual void finish() {}

  // Makes model() whole if a rank keeps only a part of it; for saving and comparing.
  virtual void gather_parameters() {}
  // The inverse, called after gather_parameters() and loading a checkpoint into model().
  virtual void scatter_parameters() {}
  // True if model() must be equal on all ranks at the end.
  [[nodiscard]] virtual bool keeps_replicas_equal() const { return true; }

  // Sets the weight of this rank's mean loss in the mean over all ranks from now on; 1 for equal
  // batches. Throws UsageError if the strategy does not allow unequal batches.
  virtual void set_loss_weight(double weight);

  // The memory allocated at the end of an update; gradients as of the optimizer's step. `optimizer`
  // is null if this rank has none.
  [[nodiscard]] virtual StateBytes state_bytes(const torch::optim::Optimizer* optimizer);

  // Reports the current addresses of parameters, gradients and optimizer state through NVTX.
  void announce_state(const torch::optim::Optimizer* optimizer);

 protected:
  // For finish_gradients(): records the gradients' size, since they are gone after the step.
  void note_gradients();

 private:
  [[nodiscard]] std::vector<torch::Tensor> kept_parameters();

  int64_t gradient_bytes_ = 0;
};

// Also builds the model. Throws UsageError for a job that the strategy cannot train.
[[nodiscard]] std::unique_ptr<Strategy> make_strategy(Context& context);

}  // namespace dprof::trainer_harness
