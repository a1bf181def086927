// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/zero3.h"

#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "trainer_harness/common/usage_error.h"

namespace dprof::trainer_harness {

Zero3::Zero3(Context& context) : Replica(context), job_(*context.job), buffers_(model().buffers()) {
  if (context.spec.tied && context.options.training.recompute) {
    throw UsageError(
        "--recompute with --strategy zero3: the gradients of the model's tied weights come in two parts\n"
        "hint: leave --recompute out, or take --strategy zero2");
  }
  equalize_replicas(job_, replicated_parameters(model()), buffers_);
  make_units();
  release_all();
  model().set_block_runner(
      [this, inner = model().block_runner()](const Block& block, const torch::Tensor& input) {
        return run_block(inner, block, input);
      });
}

void Zero3::make_units() {
  size_t parameters = 0;
  for (const Block& block : model().blocks()) {
    if (block.module == nullptr || block.module->parameters().empty()) continue;
    const std::vector<torch::Tensor> own = block.module->parameters();
    Unit& unit = units_.emplace_back(own, job_);
    units_of_[&block].push_back(&unit);
    watch_gradients(unit, own);
    parameters += own.size();
  }
  if (parameters != model().parameters().size()) {
    throw std::runtime_error(
        "the model has parameters outside its blocks, which zero3 cannot gather\n"
        "hint: train it with --strategy ddp, zero1 or zero2");
  }
  if (context().spec.tied) units_of_[&model().blocks().back()].push_back(&units_.front());
}

// A parameter's gradient is complete when every operation that read the parameter has run backward.
// After the block's last gradient its parameters are no longer needed.
void Zero3::watch_gradients(Unit& unit, const std::vector<torch::Tensor>& parameters) {
  for (const torch::Tensor& parameter : parameters) {
    auto accumulator = torch::autograd::impl::grad_accumulator(parameter);
    accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [this, &unit](const torch::autograd::variable_list& outputs,
                      const torch::autograd::variable_list&) {
          if (++unit.arrived == unit.gradients) reduce(unit);
          return outputs;
        }));
    accumulators_.push_back(std::move(accumulator));
  }
}

void Zero3::reduce(Unit& unit) {
  unit.sharded.start_reduction();
  unit.sharded.release();
  unit.reduces = true;
}

torch::Tensor Zero3::run_block(const Model::BlockRunner& inner, const Block& block,
                               const torch::Tensor& input) {
  const auto found = units_of_.find(&block);
  if (found == units_of_.end()) return inner ? inner(block, input) : block.run(input);
  const std::vector<Unit*>& units = found->second;
  for (Unit* unit : units) unit->sharded.gather();
  torch::Tensor output = inner ? inner(block, input) : block.run(input);
  for (Unit* unit : units) unit->sharded.release();
  if (output.requires_grad()) {
    output.register_hook([&units](const torch::Tensor& gradient) {
      for (Unit* unit : units) {
        if (!unit->sharded.is_whole()) unit->sharded.gather();
      }
      return gradient;
    });
  }
  return output;
}

std::pair<int, int> Zero3::data_share() const { return {job_.world_size(), job_.rank()}; }

std::vector<torch::Tensor> Zero3::updated_parameters() {
  std::vector<torch::Tensor> shards;
  for (const Unit& unit : units_) shards.push_back(unit.sharded.shard());
  return shards;
}

torch::Tensor Zero3::over_all_parameters(torch::Tensor value, bool largest) {
  return over_ranks(job_, std::move(value), largest);
}

void Zero3::before_forward(const MicroStep& which) {
  if (which.index == 0) broadcast_buffers(job_, buffers_);
}

void Zero3::after_backward(const MicroStep&) {
  for (Unit& unit : units_) {
    if (!unit.reduces) reduce(unit);  // some parameter got no gradient
    unit.sharded.finish_reduction();
    unit.reduces = false;
    unit.arrived = 0;
  }
}

// Releases the parameters that a checkpoint has gathered.
void Zero3::begin_update() { release_all(); }

void Zero3::finish_update() {
  for (torch::Tensor& shard : updated_parameters()) shard.mutable_grad().reset();
}

void Zero3::gather_parameters() {
  for (Unit& unit : units_) unit.sharded.gather();
}

void Zero3::scatter_parameters() {
  for (Unit& unit : units_) unit.sharded.take_over();
  release_all();
}

void Zero3::release_all() {
  for (Unit& unit : units_) unit.sharded.release();
}

}  // namespace dprof::trainer_harness
