// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/train_loop.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "trainer_harness/activities/checkpoint.h"
#include "trainer_harness/techniques/announce.h"
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
  const bool slices = strategy_->batch_slice(1).has_value();  // divides each batch, not the data
  batch_size_ = batch_per_rank(context, slices ? context.world_size() : ways);
  if (std::vector<torch::Tensor> parameters = strategy_->updated_parameters();
      !parameters.empty()) {
    optimizer_ = make_optimizer(options_.training, context.spec, std::move(parameters));
  }
  check_remote_update();
  if (options_.output.resume) resume_checkpoint(context, *strategy_, optimizer_.get());
  give_rank_seed();
  takes_data_ = part >= 0;
  if (!strategy_->serves()) {
    batches_ = std::make_unique<BatchStream>(
        context.spec.make_source({options_, context.device, context.job}), options_.data, ways,
        std::max(part, 0), batch_size_, context.faults);
  }
}

// A rank that updates others' parameters receives the gradients, but not their scale or norm.
void TrainLoop::check_remote_update() const {
  if (optimizer_ && !strategy_->serves()) return;
  const auto refuse = [](const char* option) {
    throw UsageError(std::string(option) +
                     " does not go with a strategy in which another rank updates the parameters\n"
                     "hint: leave it out, or take --strategy ddp");
  };
  if (options_.training.clip_norm) refuse("--clip-norm");
  if (context_.precision.scales()) refuse("the gradient scaler");
}

void TrainLoop::give_rank_seed() {
  if (!options_.training.rank_seed) return;
  const uint64_t seed = options_.training.seed + 1 + static_cast<uint64_t>(context_.rank());
  const std::string name = kSeedMark + std::to_string(seed);
  const Mark mark(options_.output.marks, name.c_str());
  torch::manual_seed(seed);
}

bool TrainLoop::finished() const {
  return options_.training.steps && context_.progress.step >= *options_.training.steps;
}

int64_t TrainLoop::batches_left() const {
  return epoch_batches_ - context_.progress.batches_in_epoch;
}

void TrainLoop::run() {
  truth_.begin = now();
  if (strategy_->serves()) {
    strategy_->serve(*optimizer_);
  } else {
    while (context_.progress.epoch < epochs_ && !finished()) run_epoch();
    strategy_->finish();
  }
  truth_.end = now();
  const StateBytes state = strategy_->state_bytes(optimizer_.get());
  truth_.parameter_bytes = state.parameters;
  truth_.gradient_bytes = state.gradients;
  truth_.optimizer_bytes = state.optimizer;
  context_.precision.report(context_.log);
  if (!options_.output.checkpoint.empty()) {
    save_checkpoint(context_, *strategy_, optimizer_.get());
  }
}

void TrainLoop::run_epoch() {
  side_work_.begin_epoch();
  begin_data();
  while (!finished() && strategy_->goes_on(batches_left() > 0)) {
    run_update(std::min(options_.training.accumulate, batches_left()));
  }
  if (batches_left() > 0) return;  // --steps ended it; a resumed run continues here
  ++context_.progress.epoch;
  context_.progress.batches_in_epoch = 0;
}

void TrainLoop::begin_data() {
  if (const auto slice = strategy_->batch_slice(batch_size_)) batches_->set_slice(*slice);
  epoch_batches_ = batches_->batches_per_epoch();
  const bool drops_windows = options_.mistake == Mistake::kPartialWindow;
  if (epoch_batches_ < (drops_windows ? options_.training.accumulate : 1)) {
    throw UsageError("an epoch of " + std::to_string(epoch_batches_) +
                     " batches has not one update\n"
                     "hint: take more --samples, a smaller --batch or a smaller --accumulate");
  }
  if (!takes_data_) return;
  batches_->begin_epoch(context_.progress.epoch, context_.progress.batches_in_epoch);
}

Batch TrainLoop::next_batch() {
  if (!takes_data_) return {};
  const Mark mark(options_.output.marks, kInputMark);
  const AnnouncedBatch about{context_.progress.epoch, batches_->ready()};
  std::optional<Batch> batch = batches_->next();
  if (!batch) throw std::runtime_error("the data ended before its epoch");
  if (options_.output.marks != MarkKind::kNone) announce_batch(*batch, about);
  batch->data = batch->data.to(context_.device);
  batch->target = batch->target.to(context_.device);
  return std::move(*batch);
}

std::pair<torch::Tensor, Batch> TrainLoop::micro_steps(int64_t batches) {
  MicroStep which;
  which.count = batches;
  if (options_.mistake == Mistake::kPartialWindow) {
    which.count = options_.training.accumulate;
    which.divides_loss = false;
  }
  std::pair<torch::Tensor, Batch> last;
  if (batches == 0) strategy_->join_update();
  for (; which.index < batches; ++which.index) {
    std::optional<Mark> mark;
    if (options_.training.accumulate > 1) mark.emplace(options_.output.marks, kMicroStepMark);
    const int64_t begin_ns = now().monotonic_raw_ns;
    last.second = next_batch();
    truth_.input_ns.back() += now().monotonic_raw_ns - begin_ns;
    truth_.samples.back() += last.second.samples();
    truth_.index_hashes.back() += index_hash(last.second);
    last.first = strategy_->micro_step(last.second, which);
  }
  context_.progress.batches_in_epoch += batches;
  return last;
}

void TrainLoop::run_update(int64_t batches) {
  const int64_t step = context_.progress.step;
  const int64_t begin_ns = now().monotonic_raw_ns;
  {
    const Mark mark(options_.output.marks, kStepMark);
    context_.faults.visit(Place::kStepBegin, step);
    if (const auto slice = strategy_->batch_slice(batch_size_)) batches_->set_slice(*slice);
    strategy_->begin_update();
    truth_.samples.resize(truth_.steps.size());  // without those of a dropped window
    truth_.samples.push_back(0);
    truth_.index_hashes.resize(truth_.steps.size());
    truth_.index_hashes.push_back(0);
    truth_.input_ns.resize(truth_.steps.size());
    truth_.input_ns.push_back(0);
    const auto [loss, batch] = micro_steps(batches);
    if (options_.mistake == Mistake::kPartialWindow && batches < options_.training.accumulate) {
      return;  // no update: the gradients are lost, or enter the next epoch's first one
    }
    strategy_->finish_gradients();
    optimizer_step();
    side_work_.end_update(*strategy_, loss, batch,
                          options_.training.steps && step + 1 == *options_.training.steps);
    ++context_.progress.step;
    save_every();
    context_.faults.visit(Place::kStepEnd, step);
  }
  truth_.steps.push_back({begin_ns, now().monotonic_raw_ns - begin_ns});
}

void TrainLoop::save_every() {
  const int64_t every = options_.output.checkpoint_every;
  if (every <= 0 || context_.progress.step % every != 0) return;
  const Mark mark(options_.output.marks, kCheckpointMark);
  context_.faults.visit(Place::kCheckpoint, context_.progress.step - 1);
  save_checkpoint(context_, *strategy_, optimizer_.get());
}

void TrainLoop::optimizer_step() {
  const Mark mark(options_.output.marks, kOptimizerMark);
  context_.faults.visit(Place::kOptimizer, context_.progress.step);
  const std::vector<torch::Tensor> parameters = strategy_->updated_parameters();
  bool skips = false;
  if (context_.precision.scales()) {
    const torch::Tensor overflow = strategy_->over_all_parameters(
        context_.precision.unscale(parameters, context_.device), /*largest=*/true);
    skips = context_.precision.update(overflow);
  }
  if (!skips) {
    clip_gradients(parameters);
    if (optimizer_) optimizer_->step();
  }
  if (!state_announced_ && !skips && options_.output.marks != MarkKind::kNone) {
    state_announced_ = true;
    strategy_->announce_state(optimizer_.get());
  }
  if (options_.mistake != Mistake::kAmpNoZero) strategy_->model().zero_grad();
  strategy_->finish_update();
}

// Clips by the norm over the whole model, even if its parameters are divided over ranks.
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
