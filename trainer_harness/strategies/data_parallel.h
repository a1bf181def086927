// SPDX-License-Identifier: Apache-2.0
// DataParallel: one process with a thread per device (mistake M5 if DDP fits).
#pragma once

#include <c10/core/thread_pool.h>

#include <memory>
#include <vector>

#include "trainer_harness/strategies/replica.h"

namespace dprof::trainer_harness {

// Each forward copies the model from the first device to the others, scatters the batch, and
// gathers the outputs on the first device, where the loss is computed; after backward the replicas'
// gradients are added up there. The optimizer steps that one model.
//
// On GPUs it uses all visible devices; on the CPU it uses --dp-replicas replicas in one process.
// Without OpenMP torch::nn::parallel::parallel_apply runs replicas one after the other: here each
// has its own thread.
class DataParallel final : public Replica {
 public:
  explicit DataParallel(Context& context);

 protected:
  [[nodiscard]] torch::Tensor run_model(const torch::Tensor& input) override;
  void after_backward(const MicroStep& which) override;

 private:
  void replicate();
  [[nodiscard]] Model& replica(size_t index);

  std::vector<torch::Device> devices_;
  std::vector<std::shared_ptr<Model>> copies_;  // on all devices except the first
  std::unique_ptr<c10::ThreadPool> threads_;
};

}  // namespace dprof::trainer_harness
