// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/zero2.h"

#include "trainer_harness/techniques/markers.h"

namespace dprof::trainer_harness {
namespace {

std::vector<torch::Tensor> equal_parameters(Job& job, const Model& model) {
  std::vector<torch::Tensor> parameters = replicated_parameters(model);
  equalize_replicas(job, parameters, model.buffers());
  return parameters;
}

}  // namespace

Zero2::Zero2(Context& context)
    : Replica(context),
      job_(*context.job),
      buffers_(model().buffers()),
      parameters_(equal_parameters(job_, model()), job_, /*whole_stays=*/true) {}

std::pair<int, int> Zero2::data_share() const { return {job_.world_size(), job_.rank()}; }

std::vector<torch::Tensor> Zero2::updated_parameters() { return {parameters_.shard()}; }

torch::Tensor Zero2::over_all_parameters(torch::Tensor value, bool largest) {
  return over_ranks(job_, std::move(value), largest);
}

void Zero2::before_forward(const MicroStep& which) {
  if (which.index == 0) broadcast_buffers(job_, buffers_);
}

void Zero2::after_backward(const MicroStep& which) {
  const Options& options = context().options;
  if (!which.last() && options.training.no_sync) return;
  const Mark mark(options.output.marks, kReduceMark);
  parameters_.start_reduction();
  parameters_.finish_reduction();
}

void Zero2::finish_update() {
  torch::Tensor shard = parameters_.shard();
  shard.mutable_grad().reset();
  parameters_.gather();
}

}  // namespace dprof::trainer_harness
