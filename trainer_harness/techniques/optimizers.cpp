// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/techniques/optimizers.h"

#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include "trainer_harness/common/usage_error.h"

namespace dprof::trainer_harness {
namespace {

struct DescentOptions final : torch::optim::OptimizerCloneableOptions<DescentOptions> {
  explicit DescentOptions(double lr) : learning_rate(lr) {}
  [[nodiscard]] double get_lr() const override { return learning_rate; }
  void set_lr(double lr) override { learning_rate = lr; }

  double learning_rate;
};

// p -= lr * grad. It has no state to save.
class Descent final : public torch::optim::Optimizer {
 public:
  Descent(std::vector<torch::Tensor> parameters, double learning_rate)
      : Optimizer(std::move(parameters), std::make_unique<DescentOptions>(learning_rate)) {}

  torch::Tensor step(LossClosure closure = nullptr) override {
    torch::Tensor loss;
    if (closure) {
      const at::AutoGradMode with_gradients(true);
      loss = closure();
    }
    const torch::NoGradGuard no_grad;
    for (torch::optim::OptimizerParamGroup& group : param_groups()) {
      const double learning_rate = group.options().get_lr();  // a scheduler can change it
      for (torch::Tensor& parameter : group.params()) {
        if (parameter.grad().defined()) parameter.sub_(parameter.grad(), learning_rate);
      }
    }
    return loss;
  }
};

}  // namespace

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TrainingOptions& options,
                                                        const ModelSpec& spec,
                                                        std::vector<torch::Tensor> parameters) {
  const double learning_rate = options.learning_rate.value_or(spec.learning_rate);
  const OptimizerKind kind = options.optimizer.value_or(spec.optimizer);
  if (options.momentum && kind != OptimizerKind::kSgd) {
    throw UsageError("--momentum is for SGD\nhint: leave it out, or take --optimizer sgd");
  }
  switch (kind) {
    case OptimizerKind::kSgd:
      break;
    case OptimizerKind::kAdam:
      return std::make_unique<torch::optim::Adam>(std::move(parameters),
                                                  torch::optim::AdamOptions(learning_rate));
    case OptimizerKind::kCustom:
      return std::make_unique<Descent>(std::move(parameters), learning_rate);
  }
  return std::make_unique<torch::optim::SGD>(
      std::move(parameters),
      torch::optim::SGDOptions(learning_rate).momentum(options.momentum.value_or(spec.momentum)));
}

}  // namespace dprof::trainer_harness
