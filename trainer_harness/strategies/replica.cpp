// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/replica.h"

#include "trainer_harness/techniques/markers.h"

namespace dprof::trainer_harness {

std::shared_ptr<Model> build_model(Context& context) {
  torch::manual_seed(context.options.training.seed);  // equal parameters on all ranks
  std::shared_ptr<Model> model = context.spec.make({context.options, context.device, context.job});
  model->to(context.device);
  model->train();
  return model;
}

Replica::Replica(Context& context) : context_(context), model_(build_model(context)) {
  if (context.faults.acts_at(Place::kBackward)) {
    // The first parameter's gradient is the last to come: what waits for it is the last bucket.
    model_->parameters().front().register_hook([this](const torch::Tensor& gradient) {
      context_.faults.visit(Place::kBackward, context_.progress.step);
      return gradient;
    });
  }
}

torch::Tensor Replica::micro_step(const Batch& batch, const MicroStep& which) {
  const MarkKind marks = context_.options.output.marks;
  torch::Tensor output;
  torch::Tensor loss;
  {
    const Mark mark(marks, kForwardMark);
    before_forward(which);
    context_.faults.visit(Place::kForward, context_.progress.step);
    const Precision::Autocast autocast = context_.precision.autocast(context_.device);
    output = model_->forward(batch.data);
    loss = model_->loss(output, batch.target);
  }
  predictions_ = output.detach();
  {
    const Mark mark(marks, kBackwardMark);
    before_backward(output, which);
    const double weight = loss_weight(batch) / static_cast<double>(which.count);
    context_.precision.scale(weight == 1 ? loss : loss * weight).backward();
  }
  return loss.detach();
}

}  // namespace dprof::trainer_harness
