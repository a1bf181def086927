// SPDX-License-Identifier: Apache-2.0
// DistributedDataParallel: buckets are reduced in order while backward continues.
#include <algorithm>

#include "synth/model/model.h"

namespace dprof::synth {
namespace {

constexpr double kMiB = 1 << 20;
constexpr int64_t kBucketActivationBytes = 8'388'608;  // kept for backward by a bucket's layers

// What forward keeps for backward, by the buckets whose layers need it.
void keep_activations(StepBuilder& b, const Model& model, int64_t micro_step) {
  const auto buckets = static_cast<int64_t>(model.sizes().bucket_bytes.size());
  const auto bytes = static_cast<int64_t>(kBucketActivationBytes * b.effects().batch_factor);
  for (int64_t i = 0; i < buckets; ++i) {
    b.memory(true, activation_block(micro_step, i), bytes + 1000 * i,
             schema::MemoryCategory::kActivation);
  }
}

// The buckets of one backward, built from layers in order: a bucket is closed as soon as it has
// reached its limit, which for the first is at most 1 MiB.
class Reducer {
 public:
  Reducer(StepBuilder& b, const Model& model, int64_t step) : b_(b), model_(model), step_(step) {}

  void add(size_t layer) {
    bytes_ += model_.sizes().bucket_bytes[layer];
    const double cap = model_.spec().bucket_cap_mb;
    const double limit = (next_ == 0 ? std::min(1.0, cap) : cap) * kMiB;
    if (static_cast<double>(bytes_) < limit && layer + 1 < model_.sizes().bucket_bytes.size())
      return;
    const CollectiveCall call{.group = kWorldGroup,
                              .bytes = bytes_,
                              .bucket = next_,
                              .note = model_.spec().overlap ? -1 : next_,
                              .slow = model_.slow(kWorldGroup, step_)};
    if (model_.spec().overlap) {
      calls_.push_back(b_.collective(call));
    } else {
      b_.ready(next_);
      later_.push_back(call);
    }
    ++next_;
    bytes_ = 0;
  }

  void finish() {
    for (const CollectiveCall& call : later_) calls_.push_back(b_.collective(call));
    for (const int64_t call : calls_) b_.wait(call);
  }

 private:
  StepBuilder& b_;
  const Model& model_;
  int64_t step_;
  int next_ = 0;
  int64_t bytes_ = 0;
  std::vector<CollectiveCall> later_;
  std::vector<int64_t> calls_;
};

void backward(StepBuilder& b, const Model& model, int64_t step, int64_t micro_step, bool reduces) {
  const Sizes& sizes = model.sizes();
  const auto buckets = static_cast<int64_t>(sizes.bucket_bytes.size());
  const auto parts = static_cast<double>(buckets * model.spec().micro_steps);
  Reducer reducer(b, model, step);
  b.begin(kBackwardPhase);
  if (b.gpu()) b.thread(kAutogradThread);
  if (reduces) b.before_backward();
  int64_t done = 0;
  for (int64_t i = 0; i < buckets; ++i) {
    const int64_t upto = sizes.backward_ops * (i + 1) / buckets;
    const int64_t count = std::max<int64_t>(1, upto - done);
    if (reduces) {
      b.backward_ops(sizes.backward_ns / parts, count, i, buckets);
    } else {
      b.ops(Busy::kBackward, sizes.backward_ns / parts, count);
    }
    done = upto;
    b.memory(false, activation_block(micro_step, buckets - 1 - i), 0,
             schema::MemoryCategory::kActivation);
    if (reduces) reducer.add(static_cast<size_t>(i));
  }
  reducer.finish();
  if (b.gpu()) {
    b.thread(kMainThread);
  } else if (reduces) {
    b.range(name("torch.distributed.ddp.reducer::copy_bucket_to_grad"), schema::RangeCategory::kOp,
            Busy::kBackward, 30'000);
  }
  b.end(kBackwardPhase);
}

}  // namespace

void ddp_step(StepBuilder& b, const Model& model, int rank, int64_t step) {
  const Spec& spec = model.spec();
  const Sizes& sizes = model.sizes();
  const int micro_steps = spec.micro_steps * spec.accumulate;
  b.begin_step();
  for (int micro = 0; micro < micro_steps; ++micro) {
    if (micro % spec.micro_steps == 0) b.input();
    if (micro_steps > 1) b.begin(name("micro_step"));
    b.forward(sizes.forward_ns / spec.micro_steps, sizes.forward_ops);
    const int64_t number = step * micro_steps + micro;
    keep_activations(b, model, number);
    backward(b, model, step, number, micro + 1 == micro_steps);
    if (micro_steps > 1) b.end(name("micro_step"));
    b.gap();
  }
  b.optimizer(sizes.optimizer_ns, sizes.optimizer_ops);
  side_collectives(b, model, rank, step);
  b.after_step();
  if (b.gpu() && spec.sync_every > 0 && step % spec.sync_every == spec.sync_every - 1) b.item();
  b.end_step();
}

void side_collectives(StepBuilder& b, const Model& model, int rank, int64_t step) {
  const Fault* hang = model.plan().hang();
  if (hang == nullptr) return;
  const auto small = [&](int group, int queue) {
    return CollectiveCall{
        .group = group, .bytes = 1024, .queue = queue, .slow = model.slow(group, step)};
  };
  const bool in_pair = rank == hang->rank || rank == hang->other;
  const HangAct act = b.effects().hang;
  if (hang->kind->name == "hang-swapped") {
    if (in_pair && act == HangAct::kSwapped) b.blocking(small(model.pair_group(), 2));
    b.blocking(small(kWorldGroup, 1));
    if (in_pair && act != HangAct::kSwapped) b.blocking(small(model.pair_group(), 2));
  } else if (hang->kind->name == "hang-queued") {
    if (act == HangAct::kQueued) b.host(Busy::kHost, kNever);
    std::vector<int64_t> calls;
    if (in_pair) calls.push_back(b.collective(small(model.pair_group(), 1)));
    if (rank != hang->rank) calls.push_back(b.collective(small(model.rest_group(), 1)));
    for (const int64_t call : calls) b.wait(call);
  } else if (hang->kind->name == "hang-two-culprits") {
    if (act == HangAct::kHalf) b.host(Busy::kHost, kNever);
    b.blocking(small(model.half_group(rank), 1));
  }
}

}  // namespace dprof::synth
