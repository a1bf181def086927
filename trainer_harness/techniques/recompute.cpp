// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/techniques/recompute.h"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>

#include "trainer_harness/common/usage_error.h"

namespace dprof::trainer_harness {
namespace {

// Restores a module's buffers, such as running statistics, at the end of its lifetime.
class KeptBuffers {
 public:
  explicit KeptBuffers(const Block& block) {
    if (block.module == nullptr) return;
    for (const torch::Tensor& buffer : block.module->buffers()) {
      kept_.emplace_back(buffer, buffer.clone());
    }
  }
  // Hidden from autograd's version counter: backward in training does not use saved buffers.
  ~KeptBuffers() {
    for (const auto& [buffer, value] : kept_) buffer.variable_data().copy_(value);
  }
  KeptBuffers(const KeptBuffers&) = delete;
  KeptBuffers& operator=(const KeptBuffers&) = delete;

 private:
  std::vector<std::pair<torch::Tensor, torch::Tensor>> kept_;
};

// Runs the block again with its activations kept, and then the block's backward within this one. So
// its parameters' gradients are completed, and a reducer's hooks called, in order.
class RecomputeBackward final : public torch::autograd::Node {
 public:
  RecomputeBackward(torch::autograd::edge_list edges, const Block& block, torch::Tensor input,
                    const Precision& precision)
      : Node(std::move(edges)), block_(block), input_(std::move(input)), precision_(precision) {}

  [[nodiscard]] std::string name() const override { return "RecomputeBackward"; }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    const torch::Tensor input = input_.detach().set_requires_grad(true);
    torch::Tensor output;
    {
      const at::AutoGradMode with_gradients(true);
      const KeptBuffers buffers(block_);
      const Precision::Autocast autocast = precision_.autocast(input.device());
      output = block_.run(input);
    }
    torch::autograd::backward({output}, {gradients.at(0)});
    return {input.grad()};
  }

  void release_variables() override { input_.reset(); }

 private:
  const Block& block_;  // the model outlives its graphs
  torch::Tensor input_;
  const Precision& precision_;
};

torch::Tensor run_without_activations(const Block& block, const torch::Tensor& input,
                                      const Precision& precision) {
  torch::Tensor output;
  {
    const torch::NoGradGuard no_grad;
    // A cast of a parameter made here has no gradient, so it must not be cached.
    const bool caches = at::autocast::is_autocast_cache_enabled();
    at::autocast::set_autocast_cache_enabled(false);
    output = block.run(input);
    at::autocast::set_autocast_cache_enabled(caches);
  }
  if (output.is_same(input)) output = output.view_as(output);
  const std::shared_ptr<RecomputeBackward> node(
      new RecomputeBackward(torch::autograd::collect_next_edges(input), block, input.detach(),
                            precision),
      torch::autograd::deleteNode);
  torch::autograd::create_gradient_edge(output, node);
  return output;
}

}  // namespace

void apply_recompute(Model& model, Context& context) {
  if (!context.options.training.recompute) return;
  if (context.options.distribution.find_unused) {
    throw UsageError(
        "--recompute hides parameters from --find-unused\nhint: leave one of them out");
  }
  if (model.blocks().size() < 3) {
    throw UsageError("--recompute: " + context.spec.name +
                     " has no block between its first and its last\nhint: take a deeper model");
  }
  model.set_block_runner(
      [&precision = context.precision, first = model.blocks().front().name,
       last = model.blocks().back().name](const Block& block, const torch::Tensor& input) {
        if (block.name == first || block.name == last || !input.requires_grad() ||
            !torch::GradMode::is_enabled()) {
          return block.run(input);
        }
        return run_without_activations(block, input, precision);
      });
}

}  // namespace dprof::trainer_harness
