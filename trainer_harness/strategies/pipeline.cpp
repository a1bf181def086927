// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/pipeline.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/strategies/replica.h"
#include "trainer_harness/techniques/markers.h"

namespace dprof::trainer_harness {
namespace {

// Tags distinguish the messages of one link.
constexpr int kShapesTag = 0;
constexpr int kLossTag = 1;
constexpr int kFirstActivationTag = 2;  // even: activations; odd: gradients

int activation_tag(int64_t micro_batch) {
  return kFirstActivationTag + static_cast<int>(2 * micro_batch);
}
int gradient_tag(int64_t micro_batch) { return activation_tag(micro_batch) + 1; }

// The message with shapes: samples of the whole batch, then type, dimensions and sizes of the
// activations.
constexpr size_t kMostDimensions = 6;
constexpr size_t kShapesLength = 3 + kMostDimensions;

// A block costs its number of parameters plus 1, so that blocks without parameters do not pile up
// in one stage.
std::vector<double> block_costs(const Model& model) {
  std::vector<double> costs;
  for (const Block& block : model.blocks()) {
    double cost = 1;
    if (block.module) {
      for (const torch::Tensor& parameter : block.module->parameters()) {
        cost += static_cast<double>(parameter.numel());
      }
    }
    costs.push_back(cost);
  }
  return costs;
}

void check_stages(const Context& context) {
  const Options& options = context.options;
  if (options.mistake == Mistake::kModelParallelOneDevice) {
    throw UsageError(
        "--mistake mp-one-device puts both parts of a model on one GPU (gpu): CPU ranks have a device each\n"
        "hint: --micro-batches 1 shows idle stages on the CPU");
  }
  if (context.job == nullptr || context.world_size() < 2) {
    throw UsageError(
        "--strategy model-parallel needs at least 2 ranks, one for each stage\n"
        "hint: start it with dprof record -n N, --spawn N or torchrun");
  }
  if (context.spec.tied) {
    throw UsageError("--strategy model-parallel cannot cut --model " + context.spec.name +
                     ": parameters of its first block are used in its last one as well\n"
                     "hint: convnet, mlp:WIDTHS and the resnets can be cut");
  }
  if (options.distribution.backend == Backend::kNccl &&
      options.distribution.schedule == Schedule::k1F1B) {
    throw UsageError(
        "--pipeline 1f1b needs --backend gloo: NCCL does a link's messages of both directions in one order\n"
        "hint: take --pipeline gpipe");
  }
}

}  // namespace

// The micro-batches of one micro-step.
struct Pipeline::Flow {
  const Batch& batch;
  double loss_scale;  // of the whole batch
  std::vector<int64_t> sizes = {};
  std::vector<int64_t> begins = {};
  std::vector<int64_t> shape = {};  // of the incoming activations, without the samples
  torch::ScalarType type = torch::kFloat;
  std::vector<torch::Tensor> inputs = {};
  std::vector<torch::Tensor> outputs = {};  // on the last stage: losses
  torch::Tensor loss = {};
  std::vector<std::pair<c10::intrusive_ptr<c10d::Work>, torch::Tensor>> sent = {};

  void divide(int64_t samples, int64_t wanted) {
    sizes = micro_batch_sizes(samples, wanted);
    int64_t begin = 0;
    for (const int64_t size : sizes) {
      begins.push_back(begin);
      begin += size;
    }
    inputs.resize(sizes.size());
    outputs.resize(sizes.size());
  }
  [[nodiscard]] int64_t samples() const { return begins.back() + sizes.back(); }
};

Pipeline::Pipeline(Context& context)
    : context_(context), rank_(context.rank()), stages_(context.world_size()) {
  check_stages(context);
  group_ = context.job->group();
  model_ = build_model(context);
  const size_t blocks = model_->blocks().size();
  if (blocks < static_cast<size_t>(stages_)) {
    throw UsageError("--model " + context.spec.name + " has " + std::to_string(blocks) +
                     (blocks == 1 ? " block" : " blocks") +
                     ": it cannot be cut into a stage for each of " + std::to_string(stages_) +
                     " ranks\nhint: take fewer ranks, or a deeper model");
  }
  parts_ = cut_into_stages(block_costs(*model_), static_cast<size_t>(stages_));
  for (size_t stage = 0; stage < parts_.size(); ++stage) {
    for (size_t b = parts_[stage].begin; b < parts_[stage].end; ++b) {
      const Block& block = model_->blocks()[b];
      if (!block.module) continue;
      std::vector<torch::Tensor> tensors = block.module->parameters();
      for (const torch::Tensor& buffer : block.module->buffers()) tensors.push_back(buffer);
      for (torch::Tensor& tensor : tensors) {
        pieces_.push_back({tensor, tensor.sizes().vec(), static_cast<int>(stage)});
      }
    }
  }
  const StageBlocks& own = parts_[static_cast<size_t>(rank_)];
  std::string names;
  for (size_t b = own.begin; b < own.end; ++b) names += " " + model_->blocks()[b].name;
  context.log.info("stage " + std::to_string(rank_) + " of " + std::to_string(stages_) + ":" +
                   names);
  release_others();
}

// The parameters of other stages stay in the model, without their storage.
void Pipeline::release_others() {
  for (Piece& piece : pieces_) {
    if (piece.stage == rank_) continue;
    piece.tensor.set_data(torch::empty({0}, piece.tensor.options().requires_grad(false)));
    piece.tensor.mutable_grad() = torch::Tensor();
  }
  whole_ = false;
}

void Pipeline::gather_parameters() {
  if (whole_) return;
  const torch::NoGradGuard no_grad;
  for (Piece& piece : pieces_) {
    if (piece.stage != rank_) {
      piece.tensor.set_data(torch::empty(piece.sizes, piece.tensor.options().requires_grad(false)));
    }
    std::vector<torch::Tensor> message = {piece.tensor.detach()};
    c10d::BroadcastOptions options;
    options.rootRank = piece.stage;
    group_->broadcast(message, options)->wait();
  }
  whole_ = true;
}

void Pipeline::finish_gradients() { note_gradients(); }

void Pipeline::begin_update() {
  if (whole_) release_others();
}

std::vector<torch::Tensor> Pipeline::updated_parameters() {
  std::vector<torch::Tensor> own;
  for (const Piece& piece : pieces_) {
    if (piece.stage == rank_ && piece.tensor.requires_grad()) own.push_back(piece.tensor);
  }
  return own;
}

std::pair<int, int> Pipeline::data_share() const { return {1, is_first() || is_last() ? 0 : -1}; }

torch::Tensor Pipeline::share_loss(torch::Tensor loss) {
  // Along the chain, so that only neighbouring ranks need a connection.
  torch::Tensor known = is_last() ? loss.to(torch::kFloat).reshape({1})
                                  : torch::zeros({1}, torch::device(context_.device));
  if (!is_last()) receive(known, rank_ + 1, kLossTag);
  if (!is_first()) {
    std::vector<torch::Tensor> message = {known};
    group_->send(message, rank_ - 1, kLossTag)->wait();
  }
  return known;
}

torch::Tensor Pipeline::over_all_parameters(torch::Tensor value, bool largest) {
  std::vector<torch::Tensor> message = {value};
  c10d::AllreduceOptions options;
  options.reduceOp = largest ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
  group_->allreduce(message, options)->wait();
  return value;
}

void Pipeline::send(Flow& flow, torch::Tensor tensor, int to, int tag) {
  std::vector<torch::Tensor> message = {tensor.contiguous()};
  // Waited for only at the end of the micro-step, because two neighbours may both send first.
  auto work = group_->send(message, to, tag);
  flow.sent.emplace_back(std::move(work), std::move(message.front()));
}

void Pipeline::receive(torch::Tensor tensor, int from, int tag) {
  std::vector<torch::Tensor> message = {std::move(tensor)};
  group_->recv(message, from, tag)->wait();
}

void Pipeline::send_shapes(Flow& flow, const torch::Tensor& activation) {
  if (activation.dim() < 1 || activation.dim() > static_cast<int64_t>(kMostDimensions)) {
    throw std::runtime_error("stage " + std::to_string(rank_) + " gives an activation of " +
                             std::to_string(activation.dim()) +
                             " dimensions\nhint: a pipeline sends tensors of 1 to 6");
  }
  torch::Tensor shapes = torch::zeros({kShapesLength}, torch::kLong);
  auto* values = shapes.mutable_data_ptr<int64_t>();
  values[0] = flow.samples();
  values[1] = static_cast<int64_t>(activation.scalar_type());
  values[2] = activation.dim();
  for (int64_t i = 0; i < activation.dim(); ++i) values[3 + i] = activation.size(i);
  send(flow, shapes.to(context_.device), rank_ + 1, kShapesTag);
}

void Pipeline::receive_shapes(Flow& flow) {
  const torch::Tensor message =
      torch::zeros({kShapesLength}, torch::device(context_.device).dtype(torch::kLong));
  receive(message, rank_ - 1, kShapesTag);
  const torch::Tensor shapes = message.cpu();
  const auto* values = shapes.const_data_ptr<int64_t>();
  const int64_t samples = values[0];
  if (is_last() && samples != flow.batch.samples()) {
    throw std::runtime_error("the first stage has a batch of " + std::to_string(samples) +
                             " samples, the last one has targets for " +
                             std::to_string(flow.batch.samples()) +
                             "\nhint: faults that change a batch must act on rank=all");
  }
  flow.divide(samples, context_.options.distribution.micro_batches);
  flow.type = static_cast<torch::ScalarType>(values[1]);
  flow.shape.assign(values + 4, values + 3 + values[2]);
}

void Pipeline::forward(Flow& flow, int64_t micro_batch) {
  const Mark mark(context_.options.output.marks, kStageForwardMark);
  const auto i = static_cast<size_t>(micro_batch);
  if (is_first()) {
    flow.inputs[i] = flow.batch.data.narrow(0, flow.begins[i], flow.sizes[i]);
  } else {
    std::vector<int64_t> shape = flow.shape;
    shape.insert(shape.begin(), flow.sizes[i]);
    flow.inputs[i] = torch::empty(shape, torch::device(context_.device).dtype(flow.type));
    receive(flow.inputs[i], rank_ - 1, activation_tag(micro_batch));
    flow.inputs[i].requires_grad_(true);
  }
  if (micro_batch == 0) context_.faults.visit(Place::kForward, context_.progress.step);
  torch::Tensor& output = flow.outputs[i];
  {
    const Precision::Autocast autocast = context_.precision.autocast(context_.device);
    output = flow.inputs[i];
    const StageBlocks& own = parts_[static_cast<size_t>(rank_)];
    for (size_t b = own.begin; b < own.end; ++b) {
      output = model_->run_block(model_->blocks()[b], output);
    }
    if (is_last()) {
      // Weighted by samples: the micro-batches add up to the mean over the batch.
      const double part = static_cast<double>(flow.sizes[i]) / static_cast<double>(flow.samples());
      output =
          part * model_->loss(output, flow.batch.target.narrow(0, flow.begins[i], flow.sizes[i]));
    }
  }
  if (is_last()) {
    flow.loss = flow.loss.defined() ? flow.loss + output.detach() : output.detach();
    return;
  }
  if (micro_batch == 0) send_shapes(flow, output);
  send(flow, output.detach(), rank_ + 1, activation_tag(micro_batch));
}

void Pipeline::backward(Flow& flow, int64_t micro_batch) {
  const Mark mark(context_.options.output.marks, kStageBackwardMark);
  const auto i = static_cast<size_t>(micro_batch);
  torch::Tensor gradient;
  if (!is_last()) {
    gradient = torch::empty(flow.outputs[i].sizes(), flow.outputs[i].options());
    receive(gradient, rank_ + 1, gradient_tag(micro_batch));
  }
  if (micro_batch == 0) context_.faults.visit(Place::kBackward, context_.progress.step);
  if (is_last()) {
    context_.precision.scale(flow.outputs[i] * flow.loss_scale).backward();
  } else {
    flow.outputs[i].backward(gradient);
  }
  if (!is_first()) send(flow, flow.inputs[i].grad(), rank_ - 1, gradient_tag(micro_batch));
  flow.outputs[i] = torch::Tensor();  // frees the graph
  flow.inputs[i] = torch::Tensor();
}

torch::Tensor Pipeline::micro_step(const Batch& batch, const MicroStep& which) {
  Flow flow{.batch = batch, .loss_scale = which.loss_factor()};
  const DistributionOptions& options = context_.options.distribution;
  const MarkKind marks = context_.options.output.marks;
  // 1F1B has no phases of the whole batch, only those of its micro-batches.
  std::optional<Mark> phase;
  const auto enter = [&](const char* name) {
    phase.reset();
    if (options.schedule == Schedule::kGpipe) phase.emplace(marks, name);
  };
  enter(kForwardMark);
  if (is_first()) {
    flow.divide(batch.samples(), options.micro_batches);
  } else {
    receive_shapes(flow);
  }
  bool forwards = true;
  for (const StageTask& task :
       stage_tasks(options.schedule, rank_, stages_, static_cast<int64_t>(flow.sizes.size()))) {
    if (forwards && !task.forward) enter(kBackwardMark);
    forwards = forwards && task.forward;
    if (task.forward) {
      forward(flow, task.micro_batch);
    } else {
      backward(flow, task.micro_batch);
    }
  }
  for (auto& [work, tensor] : flow.sent) work->wait();
  return flow.loss;
}

}  // namespace dprof::trainer_harness
