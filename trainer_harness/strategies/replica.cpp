// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/replica.h"

#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "trainer_harness/techniques/markers.h"
#include "trainer_harness/techniques/recompute.h"
#include "trainer_harness/techniques/sync_batch_norm.h"

namespace dprof::trainer_harness {
namespace {

constexpr size_t kBroadcastBytes = size_t{250} << 20;  // bucket size of broadcasts, as in Python

void log_size(const Context& context, const Model& model) {
  const auto count = [](const std::vector<torch::Tensor>& tensors) {
    int64_t numbers = 0;
    for (const torch::Tensor& tensor : tensors) numbers += tensor.numel();
    return std::to_string(numbers);
  };
  const std::vector<torch::Tensor> all = model.parameters();
  const std::vector<torch::Tensor> local = model.local_parameters();
  context.log.info("model " + context.spec.name + ": " + count(all) + " parameters in " +
                   std::to_string(all.size()) + " tensors" +
                   (local.empty() ? "" : ", of which " + count(local) + " are this rank's alone"));
}

}  // namespace

std::shared_ptr<Model> build_model(Context& context) {
  torch::manual_seed(context.options.training.seed);  // equal parameters on all ranks
  std::shared_ptr<Model> model = context.spec.make({context.options, context.device, context.job});
  if (context.options.mistake == Mistake::kUnused) {
    model->register_parameter("unused", torch::zeros({16}));  // no forward touches it
  }
  log_size(context, *model);
  model->to(context.device);
  model->train();
  apply_sync_batch_norm(*model, context);
  apply_recompute(*model, context);
  return model;
}

Replica::Replica(Context& context) : context_(context), model_(build_model(context)) {
  if (context.faults.acts_at(Place::kBackward)) {
    // The first parameter's gradient arrives last: only the last bucket waits for it.
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
    output = run_model(batch.data);
    loss = model_->loss(output, batch.target);
  }
  predictions_ = output.detach();
  {
    const Mark mark(marks, kBackwardMark);
    before_backward(output, which);
    const double weight = loss_weight() * which.loss_factor();
    context_.precision.scale(weight == 1 ? loss : loss * weight).backward();
  }
  after_backward(which);
  return loss.detach();
}

torch::Tensor Replica::run_model(const torch::Tensor& input) { return model_->forward(input); }

void equalize_replicas(Job& job, const std::vector<torch::Tensor>& parameters,
                       const std::vector<torch::Tensor>& buffers) {
  c10d::verify_params_across_processes(job.group(), parameters, std::nullopt);
  std::vector<torch::Tensor> state = parameters;
  state.insert(state.end(), buffers.begin(), buffers.end());
  const torch::NoGradGuard no_grad;
  c10d::broadcast_coalesced(job.group(), state, kBroadcastBytes, 0);
}

void broadcast_buffers(Job& job, const std::vector<torch::Tensor>& buffers) {
  if (buffers.empty()) return;
  const torch::NoGradGuard no_grad;
  c10d::broadcast_coalesced(job.group(), buffers, kBroadcastBytes, 0);
}

std::vector<torch::Tensor> replicated_parameters(const Model& model) {
  std::vector<torch::Tensor> parameters;
  for (const auto& [name, parameter] : model.replicated_parameters()) {
    parameters.push_back(parameter);
  }
  return parameters;
}

}  // namespace dprof::trainer_harness
