// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/activities/metrics.h"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/settings/catalogue.h"
#include "trainer_harness/strategies/load_balance.h"

namespace dprof::trainer_harness {
namespace {

std::vector<torch::Tensor> all_gather(Context& context, const torch::Tensor& own) {
  std::vector<torch::Tensor> inputs = {own.contiguous()};
  std::vector<std::vector<torch::Tensor>> outputs(1);
  for (int rank = 0; rank < context.world_size(); ++rank) {
    outputs[0].push_back(torch::empty_like(inputs[0]));
  }
  context.job->group()->allgather(outputs, inputs)->wait();
  return outputs[0];
}

bool batches_differ(const Context& context) {
  return balances_load(context.options) || context.options.data.uneven != Uneven::kPad;
}

void gather_predictions(Context& context, torch::Tensor predictions) {
  std::vector<int64_t> rows(static_cast<size_t>(context.world_size()), predictions.size(0));
  if (batches_differ(context)) {
    const std::vector<torch::Tensor> sizes =
        all_gather(context, torch::tensor({predictions.size(0)}, torch::kLong).to(context.device));
    for (size_t rank = 0; rank < sizes.size(); ++rank) rows[rank] = sizes[rank].item<int64_t>();
    std::vector<int64_t> padded = predictions.sizes().vec();
    padded[0] = std::ranges::max(rows);
    torch::Tensor all_rows = torch::zeros(padded, predictions.options());
    all_rows.narrow(0, 0, predictions.size(0)).copy_(predictions);
    predictions = all_rows;
  }
  const std::vector<torch::Tensor> all = all_gather(context, predictions);
  if (!context.log.speaks()) return;
  std::ostringstream line;
  double sum = 0;
  int64_t numbers = 0;
  int64_t samples = 0;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const torch::Tensor real = all[rank].narrow(0, 0, rows[rank]);
    sum += real.sum().item<double>();
    numbers += real.numel();
    samples += rows[rank];
  }
  line << "step " << context.progress.step << " predictions of " << samples << " samples from "
       << all.size() << " ranks, mean " << sum / static_cast<double>(numbers);
  context.log.info(line.str());
}

// The numbers of right answers and of all answers; both are 0 if the target is not a class.
std::pair<torch::Tensor, torch::Tensor> right_answers(const torch::Tensor& predictions,
                                                      const torch::Tensor& target) {
  const auto none = torch::zeros({}, predictions.options().dtype(torch::kDouble));
  if (target.dim() + 1 == predictions.dim() && target.scalar_type() == torch::kLong) {
    const torch::Tensor counts = target >= 0;  // a negative target is left out
    const torch::Tensor right = (predictions.argmax(-1) == target).logical_and(counts);
    return {right.sum().to(torch::kDouble), counts.sum().to(torch::kDouble)};
  }
  if (target.sizes() == predictions.sizes()) {  // two classes
    const torch::Tensor right = (predictions > 0) == (target > 0.5);
    return {right.sum().to(torch::kDouble),
            torch::full_like(none, static_cast<double>(target.numel()))};
  }
  return {none, none};
}

void reduce_figures(Context& context, const torch::Tensor& predictions, const torch::Tensor& loss,
                    const Batch& batch) {
  const auto [right, answers] = right_answers(predictions, batch.target);
  const auto samples = torch::full_like(right, static_cast<double>(batch.samples()));
  std::vector<torch::Tensor> message = {
      torch::stack({loss.to(torch::kDouble) * samples, samples, right, answers})};
  c10d::ReduceOptions options;
  options.rootRank = 0;
  context.job->group()->reduce(message, options)->wait();
  if (context.rank() != 0) return;
  const torch::Tensor sums = message[0].cpu();
  const auto* values = sums.const_data_ptr<double>();
  std::ostringstream line;
  line << "step " << context.progress.step << " over " << values[1] << " samples: mean loss "
       << values[0] / values[1];
  if (values[3] > 0) line << ", accuracy " << values[2] / values[3];
  context.log.info(line.str());
}

}  // namespace

void check_metrics(const Context& context) {
  if (context.options.distribution.metrics == Metrics::kNone) return;
  const StrategyKind kind = chosen_strategy(context.options, true);
  if (kind == StrategyKind::kModelParallel || kind == StrategyKind::kParameterServer) {
    throw UsageError("--metrics does not go with --strategy " + std::string(strategy_word(kind)) +
                     ": some ranks have no predictions\nhint: take --strategy ddp");
  }
  const Uneven uneven = context.options.data.uneven;
  if (uneven == Uneven::kJoin || uneven == Uneven::kSkew) {
    throw UsageError(
        "--metrics does not go with ranks whose data ends early\nhint: take --uneven pad or drop");
  }
  if (context.options.distribution.metrics == Metrics::kAllGather && context.spec.sequences) {
    throw UsageError("--metrics all-gather: the predictions of --model " + context.spec.name +
                     " differ in length between the ranks\nhint: take --metrics reduce");
  }
}

void exchange_metrics(Context& context, Strategy& strategy, const torch::Tensor& loss,
                      const Batch& batch) {
  const torch::NoGradGuard no_grad;
  if (context.options.distribution.metrics == Metrics::kAllGather) {
    gather_predictions(context, strategy.predictions());
  } else {
    reduce_figures(context, strategy.predictions(), loss, batch);
  }
}

}  // namespace dprof::trainer_harness
