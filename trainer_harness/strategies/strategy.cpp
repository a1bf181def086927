// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/strategy.h"

#include "trainer_harness/settings/usage_error.h"
#include "trainer_harness/strategies/ddp.h"
#include "trainer_harness/strategies/replica.h"

namespace dprof::trainer_harness {
namespace {

int64_t bytes_of(const torch::Tensor& tensor) {
  return tensor.defined() ? static_cast<int64_t>(tensor.nbytes()) : 0;
}

}  // namespace

StateBytes Strategy::state_bytes(const torch::optim::Optimizer* optimizer) {
  StateBytes bytes;
  for (const torch::Tensor& parameter : model().parameters()) {
    bytes.parameters += bytes_of(parameter);
    bytes.gradients += bytes_of(parameter.grad());
  }
  (void)optimizer;
  return bytes;
}

std::string strategy_name(StrategyKind kind) {
  switch (kind) {
    case StrategyKind::kSingle:
      return "single";
    case StrategyKind::kDdp:
      return "ddp";
    case StrategyKind::kDp:
      return "dp";
    case StrategyKind::kModelParallel:
      return "model-parallel";
    case StrategyKind::kParameterServer:
      return "parameter-server";
    case StrategyKind::kZero1:
      return "zero1";
    case StrategyKind::kZero2:
      return "zero2";
    case StrategyKind::kZero3:
      return "zero3";
  }
  return "unknown";
}

StrategyKind chosen_strategy(const Options& options, bool has_ranks) {
  return options.distribution.strategy.value_or(has_ranks ? StrategyKind::kDdp
                                                          : StrategyKind::kSingle);
}

std::unique_ptr<Strategy> make_strategy(Context& context) {
  const StrategyKind kind = chosen_strategy(context.options, context.job != nullptr);
  switch (kind) {
    case StrategyKind::kSingle:
      return std::make_unique<Replica>(context);
    case StrategyKind::kDdp:
      return std::make_unique<Ddp>(context);
    default:
      break;
  }
  throw UsageError("--strategy " + strategy_name(kind) + " is not part of this build");
}

}  // namespace dprof::trainer_harness
