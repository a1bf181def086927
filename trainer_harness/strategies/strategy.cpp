// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/strategy.h"

#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <set>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/strategies/data_parallel.h"
#include "trainer_harness/strategies/ddp.h"
#include "trainer_harness/strategies/load_balance.h"
#include "trainer_harness/strategies/parameter_server.h"
#include "trainer_harness/strategies/pipeline.h"
#include "trainer_harness/strategies/zero1.h"
#include "trainer_harness/strategies/zero2.h"
#include "trainer_harness/strategies/zero3.h"
#include "trainer_harness/techniques/announce.h"

namespace dprof::trainer_harness {
namespace {

// Counts each storage once, however many tensors share it.
int64_t storage_bytes(const std::vector<torch::Tensor>& tensors) {
  std::set<const c10::StorageImpl*> storages;
  for (const torch::Tensor& tensor : tensors) {
    if (tensor.defined()) storages.insert(tensor.storage().unsafeGetStorageImpl());
  }
  size_t bytes = 0;
  for (const c10::StorageImpl* storage : storages) bytes += storage->nbytes();
  return static_cast<int64_t>(bytes);
}

std::vector<torch::Tensor> gradients_of(const std::vector<torch::Tensor>& parameters) {
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& parameter : parameters) gradients.push_back(parameter.grad());
  return gradients;
}

std::vector<torch::Tensor> state_of(const torch::optim::Optimizer& optimizer) {
  std::vector<torch::Tensor> state;
  for (const auto& [parameter, kept] : optimizer.state()) {
    if (const auto* adam = dynamic_cast<const torch::optim::AdamParamState*>(kept.get())) {
      state.insert(state.end(), {adam->exp_avg(), adam->exp_avg_sq(), adam->max_exp_avg_sq()});
    } else if (const auto* sgd = dynamic_cast<const torch::optim::SGDParamState*>(kept.get())) {
      state.push_back(sgd->momentum_buffer());
    }
  }
  return state;
}

}  // namespace

void Strategy::set_loss_weight(double) {
  throw UsageError(
      "this strategy cannot give the ranks unequal batches\n"
      "hint: --shares and --rebalance go with --strategy ddp");
}

// The model's parameters, and the pieces that the optimizer steps instead of them.
std::vector<torch::Tensor> Strategy::kept_parameters() {
  std::vector<torch::Tensor> parameters = model().parameters();
  const std::vector<torch::Tensor> updated = updated_parameters();
  parameters.insert(parameters.end(), updated.begin(), updated.end());
  return parameters;
}

void Strategy::note_gradients() {
  gradient_bytes_ = storage_bytes(gradients_of(kept_parameters()));
}

StateBytes Strategy::state_bytes(const torch::optim::Optimizer* optimizer) {
  const std::vector<torch::Tensor> parameters = kept_parameters();
  StateBytes bytes;
  bytes.parameters = storage_bytes(parameters);
  bytes.gradients = std::max(gradient_bytes_, storage_bytes(gradients_of(parameters)));
  if (optimizer != nullptr) bytes.optimizer = storage_bytes(state_of(*optimizer));
  return bytes;
}

void Strategy::announce_state(const torch::optim::Optimizer* optimizer) {
  const std::vector<torch::Tensor> parameters = kept_parameters();
  announce_memory(parameters, MemoryUse::kParameter);
  announce_memory(gradients_of(parameters), MemoryUse::kGradient);
  if (optimizer != nullptr) announce_memory(state_of(*optimizer), MemoryUse::kOptimizerState);
}

std::unique_ptr<Strategy> make_strategy(Context& context) {
  const StrategyKind kind = chosen_strategy(context.options, context.job != nullptr);
  switch (kind) {
    case StrategyKind::kSingle:
      return std::make_unique<Replica>(context);
    case StrategyKind::kDdp:
      if (context.options.mistake == Mistake::kNoDdp) {
        return std::make_unique<UnsyncedReplica>(context);
      }
      if (balances_load(context.options)) return std::make_unique<LoadBalancedDdp>(context);
      return std::make_unique<Ddp>(context);
    case StrategyKind::kModelParallel:
      return std::make_unique<Pipeline>(context);
    case StrategyKind::kParameterServer:
      return std::make_unique<ParameterServer>(context);
    case StrategyKind::kDp:
      return std::make_unique<DataParallel>(context);
    case StrategyKind::kZero1:
      return std::make_unique<Zero1>(context);
    case StrategyKind::kZero2:
      return std::make_unique<Zero2>(context);
    case StrategyKind::kZero3:
      return std::make_unique<Zero3>(context);
  }
  throw UsageError("--strategy is none that there is");
}

}  // namespace dprof::trainer_harness
