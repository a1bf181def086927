// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/techniques/sync_batch_norm.h"

#include <torch/csrc/autograd/function.h>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/models/batch_norm.h"

namespace dprof::trainer_harness {
namespace {

using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

// All dimensions but the channels'.
std::vector<int64_t> reduced_dimensions(const torch::Tensor& input) {
  std::vector<int64_t> dimensions = {0};
  for (int64_t i = 2; i < input.dim(); ++i) dimensions.push_back(i);
  return dimensions;
}

// Reshapes one value per channel to broadcast over `input`.
torch::Tensor spread(const torch::Tensor& per_channel, const torch::Tensor& input) {
  std::vector<int64_t> shape(static_cast<size_t>(input.dim()), 1);
  shape[1] = -1;
  return per_channel.reshape(shape);
}

// Statistics of all ranks' samples, per channel.
struct Statistics {
  torch::Tensor mean;
  torch::Tensor inverse_deviation;
  torch::Tensor count;  // of values per channel
};

// A rank's loss depends on all ranks' samples through the statistics, so the two sums in the
// input's gradient are over all ranks.
class SyncNormBackward final : public torch::autograd::Node {
 public:
  SyncNormBackward(torch::autograd::edge_list edges, Group group, torch::Tensor input,
                   torch::Tensor weight, Statistics statistics)
      : Node(std::move(edges)),
        group_(std::move(group)),
        input_(std::move(input)),
        weight_(std::move(weight)),
        statistics_(std::move(statistics)) {}

  [[nodiscard]] std::string name() const override { return "SyncNormBackward"; }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    const torch::NoGradGuard no_grad;
    const std::vector<int64_t> dimensions = reduced_dimensions(input_);
    const torch::Tensor gradient = gradients.at(0).to(torch::kFloat32);
    const torch::Tensor normal = (input_.to(torch::kFloat32) - spread(statistics_.mean, input_)) *
                                 spread(statistics_.inverse_deviation, input_);
    const torch::Tensor bias_gradient = gradient.sum(dimensions);
    const torch::Tensor weight_gradient = (gradient * normal).sum(dimensions);

    std::vector<torch::Tensor> sums = {torch::cat({bias_gradient, weight_gradient})};
    group_->allreduce(sums)->wait();
    const std::vector<torch::Tensor> means = (sums[0] / statistics_.count).chunk(2);
    const torch::Tensor input_gradient =
        (gradient - spread(means[0], input_) - normal * spread(means[1], input_)) *
        spread(statistics_.inverse_deviation * weight_, input_);
    return {input_gradient.to(input_.scalar_type()), weight_gradient, bias_gradient};
  }

  void release_variables() override {
    input_.reset();
    weight_.reset();
    statistics_ = {};
  }

 private:
  Group group_;
  torch::Tensor input_;
  torch::Tensor weight_;
  Statistics statistics_;
};

// All-gathers each rank's mean, variance and count. The ranks' sample counts can differ.
Statistics gather_statistics(const Group& group, const torch::Tensor& input, BatchNorm& layer) {
  const int64_t channels = input.size(1);
  const auto own_count = static_cast<double>(input.numel() / channels);
  const auto [own_var, own_mean] =
      torch::var_mean(input, reduced_dimensions(input), /*unbiased=*/false);
  std::vector<torch::Tensor> own = {
      torch::cat({own_mean, own_var, torch::full({1}, own_count, own_mean.options())})};
  std::vector<std::vector<torch::Tensor>> all(1);
  for (int rank = 0; rank < group->getSize(); ++rank) {
    all[0].push_back(torch::empty_like(own[0]));
  }
  group->allgather(all, own)->wait();

  const torch::Tensor rows = torch::stack(all[0]);
  const torch::Tensor means = rows.narrow(1, 0, channels);
  const torch::Tensor counts = rows.narrow(1, 2 * channels, 1);
  const torch::Tensor count = counts.sum();
  const torch::Tensor mean = (means * counts).sum(0) / count;
  const torch::Tensor variance =
      ((rows.narrow(1, channels, channels) + (means - mean).square()) * counts).sum(0) / count;
  layer.running_mean.lerp_(mean, BatchNorm::kMomentum);
  layer.running_var.lerp_(variance * (count / (count - 1)), BatchNorm::kMomentum);
  return {mean, (variance + BatchNorm::kEpsilon).rsqrt(), count};
}

torch::Tensor sync_norm(const Group& group, const torch::Tensor& input, BatchNorm& layer) {
  torch::Tensor output;
  Statistics statistics;
  {
    const torch::NoGradGuard no_grad;
    const torch::Tensor values = input.to(torch::kFloat32);
    statistics = gather_statistics(group, values, layer);
    const torch::Tensor factor = statistics.inverse_deviation * layer.weight;
    output = ((values - spread(statistics.mean, input)) * spread(factor, input) +
              spread(layer.bias, input))
                 .to(input.scalar_type());
  }
  if (!torch::GradMode::is_enabled()) return output;
  const std::shared_ptr<SyncNormBackward> node(
      new SyncNormBackward(torch::autograd::collect_next_edges(input, layer.weight, layer.bias),
                           group, input.detach(), layer.weight.detach(), std::move(statistics)),
      torch::autograd::deleteNode);
  torch::autograd::create_gradient_edge(output, node);
  return output;
}

}  // namespace

void apply_sync_batch_norm(Model& model, Context& context) {
  if (!context.options.training.sync_bn) return;
  switch (chosen_strategy(context.options, context.job != nullptr)) {
    case StrategyKind::kDdp:
    case StrategyKind::kZero1:
    case StrategyKind::kZero2:
    case StrategyKind::kZero3:
      break;
    default:
      throw UsageError(
          "--sync-bn needs ranks that run the same layers together\n"
          "hint: take --strategy ddp or zero1, with several ranks");
  }
  bool found = false;
  for (const std::shared_ptr<torch::nn::Module>& module : model.modules()) {
    auto* const layer = module->as<BatchNorm>();
    if (layer == nullptr) continue;
    found = true;
    layer->set_sync([group = context.job->group()](const torch::Tensor& input, BatchNorm& self) {
      return sync_norm(group, input, self);
    });
  }
  if (!found) {
    throw UsageError("--sync-bn: " + context.spec.name +
                     " has no batch normalisation\nhint: resnet18 and resnet50 have");
  }
}

}  // namespace dprof::trainer_harness
