// SPDX-License-Identifier: Apache-2.0
// A pipeline with each stage on one rank or on several replicas, alternating one forward and one
// backward (1F1B). Activations go to the next stage, gradients to the previous one; sends do not
// wait.
#include <algorithm>

#include "synth/model/model.h"

namespace dprof::synth {
namespace {

using schema::Function;

constexpr int kMicroBatches = 4;                             // unless specified
constexpr int64_t kStageActivationBytes = int64_t{4} << 20;  // of all micro-batches
constexpr int kForwardQueue = 1;                             // of sends to the next stage
constexpr int kBackwardQueue = 2;                            // and to the previous one

class PipelineStep {
 public:
  PipelineStep(StepBuilder& b, const Model& model, int rank, int64_t step)
      : b_(b),
        model_(model),
        sizes_(model.sizes()),
        rank_(rank),
        stage_(model.stage(rank)),
        step_(step),
        stages_(model.stages()) {
    batches_ = model.spec().micro_steps > 1 ? model.spec().micro_steps : kMicroBatches;
  }

  void run() {
    const int ahead = std::min(stages_ - stage_ - 1, batches_);
    for (int i = 0; i < ahead; ++i) forward();
    for (int i = 0; i < batches_ - ahead; ++i) {
      forward();
      backward();
    }
    for (int i = 0; i < ahead; ++i) backward();
    for (const int64_t call : sends_) b_.wait(call);
  }

 private:
  void forward() {
    const bool first = forwards_++ == 0;
    if (stage_ > 0) receive(stage_ - 1, 3);
    if (first) {
      b_.forward(share(sizes_.forward_ns), count(sizes_.forward_ops));
    } else {
      b_.begin(name("stage_forward"));
      b_.ops(Busy::kForward, share(sizes_.forward_ns), count(sizes_.forward_ops));
      b_.end(name("stage_forward"));
    }
    if (stage_ + 1 < stages_) send(stage_ + 1, kForwardQueue);
  }

  void backward() {
    const int nth = backwards_++;
    if (stage_ + 1 < stages_) receive(stage_ + 1, 3);
    b_.begin(name("stage_backward"));
    if (b_.gpu()) b_.thread(kAutogradThread);
    if (nth == 0) b_.before_backward();
    b_.backward_ops(share(sizes_.backward_ns), count(sizes_.backward_ops), nth, batches_);
    if (b_.gpu()) b_.thread(kMainThread);
    b_.end(name("stage_backward"));
    if (stage_ > 0) send(stage_ - 1, kBackwardQueue);
  }

  [[nodiscard]] double share(double ns) const { return ns / batches_; }
  [[nodiscard]] int64_t count(int64_t ops) const { return std::max<int64_t>(1, ops / batches_); }

  void send(int to, int queue) {
    sends_.push_back(b_.collective({.group = model_.pipe_group(rank_),
                                    .function = Function::kSend,
                                    .bytes = kStageActivationBytes / batches_,
                                    .peer = to,
                                    .queue = queue,
                                    .slow = slow(to)}));
  }

  // On a device the compute stream waits, on a CPU the thread.
  void receive(int from, int queue) {
    const CollectiveCall call{.group = model_.pipe_group(rank_),
                              .function = Function::kRecv,
                              .bytes = kStageActivationBytes / batches_,
                              .peer = from,
                              .queue = b_.gpu() ? queue : kInline,
                              .slow = slow(from)};
    const int64_t number = b_.collective(call);
    if (b_.gpu()) b_.wait(number);
  }

  // Messages to and from that stage of the same replica.
  [[nodiscard]] double slow(int stage) const {
    return model_.slow_message(rank_, rank_ + (stage - stage_) * model_.spec().replicas, step_);
  }

  StepBuilder& b_;
  const Model& model_;
  const Sizes& sizes_;
  int rank_;
  int stage_;
  int64_t step_;
  int stages_;
  int batches_ = 0;
  int forwards_ = 0;
  int backwards_ = 0;
  std::vector<int64_t> sends_;
};

// Across the replicas of a stage, which holds its share of the parameters.
void reduce_gradients(StepBuilder& b, const Model& model, int rank, int64_t step) {
  const int group = model.stage_group(rank);
  std::vector<int64_t> calls;
  for (const int64_t bytes : model.sizes().bucket_bytes) {
    calls.push_back(b.collective(
        {.group = group, .bytes = bytes / model.stages(), .slow = model.slow(group, step)}));
  }
  for (const int64_t call : calls) b.wait(call);
}

}  // namespace

void pipeline_step(StepBuilder& b, const Model& model, int rank, int64_t step) {
  const Spec& spec = model.spec();
  b.begin_step();
  if (model.stage(rank) == 0) b.input();
  PipelineStep(b, model, rank, step).run();
  if (spec.replicas > 1) reduce_gradients(b, model, rank, step);
  b.gap();
  // The norm of all gradients: here the stages meet.
  b.begin(name("metrics"));
  b.wait(b.collective({.group = kWorldGroup, .bytes = 8, .slow = model.slow(kWorldGroup, step)}));
  b.end(name("metrics"));
  b.optimizer(model.sizes().optimizer_ns, model.sizes().optimizer_ops);
  side_collectives(b, model, rank, step);
  b.after_step();
  if (b.gpu() && spec.sync_every > 0 && step % spec.sync_every == spec.sync_every - 1) b.item();
  b.end_step();
}

}  // namespace dprof::synth
