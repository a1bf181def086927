// SPDX-License-Identifier: Apache-2.0
// Model parallelism: rank i holds stage i, a few successive blocks of the model. Micro-batches pass
// through the stages one after the other: activations from rank to rank, gradients back.
#pragma once

#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>
#include <vector>

#include "trainer_harness/strategies/pipeline_plan.h"
#include "trainer_harness/strategies/strategy.h"

namespace dprof::trainer_harness {

// The first stage reads the data, the last one the targets of the same batches. In each micro-step,
// a link carries one small message with shapes, then one message per micro-batch and direction.
// Every rank builds the whole model from the same seed and keeps only its own blocks' parameters.
class Pipeline final : public Strategy {
 public:
  explicit Pipeline(Context& context);

  [[nodiscard]] Model& model() override { return *model_; }
  [[nodiscard]] std::vector<torch::Tensor> updated_parameters() override;
  [[nodiscard]] std::pair<int, int> data_share() const override;
  void begin_update() override;
  torch::Tensor micro_step(const Batch& batch, const MicroStep& which) override;
  void finish_gradients() override;
  [[nodiscard]] torch::Tensor share_loss(torch::Tensor loss) override;
  [[nodiscard]] torch::Tensor over_all_parameters(torch::Tensor value, bool largest) override;
  void gather_parameters() override;

 private:
  struct Flow;  // of one micro-step

  [[nodiscard]] bool is_first() const { return rank_ == 0; }
  [[nodiscard]] bool is_last() const { return rank_ == stages_ - 1; }
  void release_others();
  void forward(Flow& flow, int64_t micro_batch);
  void backward(Flow& flow, int64_t micro_batch);
  void receive_shapes(Flow& flow);
  void send_shapes(Flow& flow, const torch::Tensor& activation);

  void send(Flow& flow, torch::Tensor tensor, int to, int tag);
  void receive(torch::Tensor tensor, int from, int tag);

  Context& context_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  int rank_;
  int stages_;
  std::shared_ptr<Model> model_;
  std::vector<StageBlocks> parts_;
  // The model's parameters and buffers with their shapes and owning stages.
  struct Piece {
    torch::Tensor tensor;
    std::vector<int64_t> sizes;
    int stage = 0;
  };
  std::vector<Piece> pieces_;
  bool whole_ = true;  // all pieces have storage
};

}  // namespace dprof::trainer_harness
