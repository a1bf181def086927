// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/train_loop.h"

#include <limits>
#include <sstream>

#include "trainer_harness/checkpoint.h"
#include "trainer_harness/markers.h"

namespace dprof::trainer_harness {
namespace {

int64_t divide_up(int64_t amount, int64_t by) { return (amount + by - 1) / by; }

}  // namespace

TrainLoop::TrainLoop(const Options& options, const ModelSpec& spec, torch::Device device, Job* job,
                     const Log& log, RankTruth& truth)
    : options_(options),
      log_(log),
      truth_(truth),
      faults_(options.faults, truth),
      device_(device),
      batch_size_(options.batch.value_or(spec.batch)),
      epochs_(options.epochs.value_or(options.steps ? std::numeric_limits<int64_t>::max()
                                                    : spec.epochs)) {
  const int rank = job == nullptr ? 0 : job->rank();
  const int world_size = job == nullptr ? 1 : job->world_size();
  torch::manual_seed(options.seed);  // equal parameters on all ranks
  model_ = spec.make();
  model_->to(device_);
  if (job != nullptr) replicas_.emplace(*job, *model_, options.bucket_mb);
  torch::manual_seed(options.seed + 1 + static_cast<uint64_t>(rank));  // and different samples

  const double learning_rate = options.learning_rate.value_or(spec.learning_rate);
  optimizer_ = std::make_unique<torch::optim::SGD>(
      model_->parameters(),
      torch::optim::SGDOptions(learning_rate).momentum(options.momentum.value_or(spec.momentum)));

  const std::shared_ptr<const SampleSource> source = spec.make_source(options.seed);
  sampler_ = make_sampler(options.sampler, source->size(), world_size, rank);
  const int64_t shares = options.sampler == SamplerKind::kNone ? 1 : world_size;
  batches_per_epoch_ = divide_up(divide_up(source->size(), shares), batch_size_);
  loader_ = torch::data::make_data_loader(
      SourceDataset(source), ForwardingSampler(sampler_),
      torch::data::DataLoaderOptions().batch_size(static_cast<size_t>(batch_size_)));

  if (faults_.expects(FaultKind::kBackward)) {
    // The first parameter's gradient is the last to come: what waits for it is the last bucket.
    model_->parameters().front().register_hook([this](const torch::Tensor& gradient) {
      faults_.visit(FaultKind::kBackward, step_);
      return gradient;
    });
  }
}

void TrainLoop::run() {
  model_->train();
  truth_.begin = now();
  for (int64_t epoch = 0; epoch < epochs_ && !finished(); ++epoch) run_epoch(epoch);
  truth_.end = now();
}

void TrainLoop::run_epoch(int64_t epoch) {
  if (options_.set_epoch) sampler_->set_epoch(static_cast<size_t>(epoch));
  torch::data::Iterator<Batch> batches = loader_->begin();  // draws the order; fetches nothing yet
  for (int64_t i = 0; i < batches_per_epoch_ && !finished(); ++i) run_step(epoch, batches, i == 0);
}

void TrainLoop::run_step(int64_t epoch, torch::data::Iterator<Batch>& batches,
                         bool first_of_epoch) {
  const int64_t begin_ns = now().monotonic_raw_ns;
  {
    const Mark step(options_.marks, kStepMark);
    Batch batch;
    {
      const Mark mark(options_.marks, kInputMark);
      faults_.visit(FaultKind::kLoader, step_);
      if (!first_of_epoch) ++batches;  // this fetches; at the start of an epoch, reading does
      batch = *batches;
      batch = {batch.data.to(device_), batch.target.to(device_)};
    }
    torch::Tensor loss = forward(batch);
    backward(loss);
    {
      const Mark mark(options_.marks, kOptimizerMark);
      optimizer_->step();
      optimizer_->zero_grad();
    }
    note_loss(loss);
    if (!options_.checkpoint.empty() && (step_ + 1) % options_.checkpoint_every == 0) save(epoch);
  }
  truth_.steps.push_back({begin_ns, now().monotonic_raw_ns - begin_ns});
  ++step_;
}

torch::Tensor TrainLoop::forward(const Batch& batch) {
  const Mark mark(options_.marks, kForwardMark);
  if (replicas_) replicas_->before_forward();
  faults_.visit(FaultKind::kCompute, step_);
  return model_->loss(model_->forward(batch.data), batch.target);
}

void TrainLoop::backward(torch::Tensor& loss) {
  const Mark mark(options_.marks, kBackwardMark);
  if (replicas_) replicas_->before_backward();
  loss.backward();
}

void TrainLoop::note_loss(const torch::Tensor& loss) {
  const bool last = options_.steps && step_ + 1 == *options_.steps;
  if (step_ != 0 && !last && step_ % options_.log_every != 0) return;
  const double value = loss.item<double>();  // waits for the device, so not in every step
  if (step_ == 0) truth_.first_loss = value;
  truth_.last_loss = value;
  std::ostringstream line;
  line << "step " << step_ << " loss " << value;
  log_.info(line.str());
}

void TrainLoop::save(int64_t epoch) {
  if (truth_.rank != 0) return;
  const Mark mark(options_.marks, kCheckpointMark);
  save_checkpoint(options_.checkpoint, *model_, *optimizer_, epoch, step_ + 1);
  log_.info("saved " + (options_.checkpoint / "checkpoint.pt").string());
}

}  // namespace dprof::trainer_harness
