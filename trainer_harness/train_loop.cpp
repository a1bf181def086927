// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/train_loop.h"

#include <algorithm>
#include <limits>

#include "trainer_harness/techniques/checkpoint.h"
#include "trainer_harness/techniques/markers.h"
#include "trainer_harness/techniques/optimizers.h"

namespace dprof::trainer_harness {
namespace {

constexpr double kSmall = 1e-6;  // keeps the clip factor finite, as in PyTorch

int64_t batch_per_rank(const Context& context, int ways) {
  const TrainingOptions& options = context.options.training;
  if (!options.global_batch) return options.batch.value_or(context.spec.batch);
  if (*options.global_batch % ways != 0) {
    throw UsageError("--global-batch " + std::to_string(*options.global_batch) +
                     " cannot be divided among " + std::to_string(ways) +
                     " ranks\nhint: take a multiple of " + std::to_string(ways));
  }
  return *options.global_batch / ways;
}

}  // namespace

TrainLoop::TrainLoop(Context& context, RankTruth& truth)
    : context_(context),
      options_(context.options),
      truth_(truth),
      epochs_(options_.training.epochs.value_or(
          options_.training.steps ? std::numeric_limits<int64_t>::max() : context.spec.epochs)),
      strategy_(make_strategy(context)),
      side_work_(context, truth) {
  const auto [ways, part] = strategy_->data_share();
  batch_size_ = batch_per_rank(context, ways);
  if (std::vector<torch::Tensor> parameters = strategy_->updated_parameters();
      !parameters.empty()) {
    optimizer_ = make_optimizer(options_.training, context.spec, std::move(parameters));
  }
  if (options_.output.resume) resume_checkpoint(context, *strategy_, optimizer_.get());
  if (options_.training.rank_seed) {  // and different samples
    torch::manual_seed(options_.training.seed + 1 + static_cast<uint64_t>(context.rank()));
  }
  if (part >= 0) {
    batches_ = std::make_unique<BatchStream>(
        context.spec.make_source({options_, context.device, context.job}), options_.data, ways,
        part, batch_size_, context.faults);
  }
}

bool TrainLoop::finished() const {
  return options_.training.steps && context_.progress.step >= *options_.training.steps;
}

void TrainLoop::run() {
  truth_.begin = now();
  if (strategy_->serves()) {
    strategy_->serve(*optimizer_);
  } else {
    for (; context_.progress.epoch < epochs_ && !finished(); ++context_.progress.epoch) run_epoch();
    strategy_->finish();
  }
  truth_.end = now();
  if (!options_.output.checkpoint.empty()) {
    save_checkpoint(context_, *strategy_, optimizer_.get());
  }
}

void TrainLoop::run_epoch() {
  side_work_.begin_epoch();
  if (batches_) {
    batches_->begin_epoch(context_.progress.epoch);
    batches_left_ = batches_->batches_per_epoch();
  }
  while (!finished() && batches_left_ > 0) {
    const int64_t micro_steps = std::min(options_.training.accumulate, batches_left_);
    if (!run_update(micro_steps)) break;
    batches_left_ -= micro_steps;
  }
}

std::optional<Batch> TrainLoop::next_batch() {
  if (!batches_) return Batch{};
  const Mark mark(options_.output.marks, kInputMark);
  std::optional<Batch> batch = batches_->next();
  if (batch) {
    batch->data = batch->data.to(context_.device);
    batch->target = batch->target.to(context_.device);
  }
  return batch;
}

bool TrainLoop::run_update(int64_t micro_steps) {
  const int64_t begin_ns = now().monotonic_raw_ns;
  {
    const Mark step(options_.output.marks, kStepMark);
    context_.faults.visit(Place::kStepBegin, context_.progress.step);
    strategy_->begin_update();
    std::optional<Batch> batch;
    torch::Tensor loss;
    for (int64_t i = 0; i < micro_steps; ++i) {
      std::optional<Mark> micro_step;
      if (options_.training.accumulate > 1) {
        micro_step.emplace(options_.output.marks, kMicroStepMark);
      }
      batch = next_batch();
      if (!batch) return false;
      loss = strategy_->micro_step(*batch, {i, micro_steps});
    }
    strategy_->finish_gradients();
    optimizer_step();
    side_work_.end_update(
        *strategy_, loss, *batch,
        options_.training.steps && context_.progress.step + 1 == *options_.training.steps);
    const int64_t every = options_.output.checkpoint_every;
    if (every > 0 && (context_.progress.step + 1) % every == 0) {
      const Mark mark(options_.output.marks, kCheckpointMark);
      context_.faults.visit(Place::kCheckpoint, context_.progress.step);
      save_checkpoint(context_, *strategy_, optimizer_.get());
    }
    context_.faults.visit(Place::kStepEnd, context_.progress.step);
  }
  truth_.steps.push_back({begin_ns, now().monotonic_raw_ns - begin_ns});
  ++context_.progress.step;
  return true;
}

void TrainLoop::optimizer_step() {
  const Mark mark(options_.output.marks, kOptimizerMark);
  context_.faults.visit(Place::kOptimizer, context_.progress.step);
  const std::vector<torch::Tensor> parameters = strategy_->updated_parameters();
  if (context_.precision.scales()) {
    torch::Tensor overflow = context_.precision.unscale(parameters);
    overflow = strategy_->over_all_parameters(overflow, /*largest=*/true);
    const bool skip = overflow.item<float>() > 0;
    if (!skip) clip_gradients(parameters);
    if (!skip && optimizer_) optimizer_->step();
    context_.precision.update(overflow);
  } else {
    clip_gradients(parameters);
    if (optimizer_) optimizer_->step();
  }
  strategy_->model().zero_grad();
  strategy_->finish_update();
}

// By the norm over all parameters, wherever they are.
void TrainLoop::clip_gradients(const std::vector<torch::Tensor>& parameters) {
  if (!options_.training.clip_norm) return;
  const torch::NoGradGuard no_grad;
  torch::Tensor squares = torch::zeros({1}, context_.device);
  for (const torch::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) squares += parameter.grad().square().sum();
  }
  const torch::Tensor norm = strategy_->over_all_parameters(squares, /*largest=*/false).sqrt();
  const torch::Tensor factor = (*options_.training.clip_norm / (norm + kSmall)).clamp_max(1.0);
  for (const torch::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) parameter.mutable_grad().mul_(factor);
  }
}

}  // namespace dprof::trainer_harness
