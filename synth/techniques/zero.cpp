// SPDX-License-Identifier: Apache-2.0
// ZeRO: stage 1 shards the optimizer's state, 2 the gradients as well, 3 (as FSDP) the parameters
// too.
#include <algorithm>

#include "synth/model/model.h"

namespace dprof::synth {
namespace {

using schema::Function;

class ZeroStep {
 public:
  ZeroStep(StepBuilder& b, const Model& model, int64_t step)
      : b_(b),
        sizes_(model.sizes()),
        stage_(static_cast<int>(model.spec().technique) - static_cast<int>(Technique::kZero1) + 1),
        ranks_(model.spec().ranks),
        slow_(model.slow(kWorldGroup, step)) {}

  void forward(double ns, int64_t count) {
    if (stage_ < 3) return b_.forward(ns, count);
    // Each layer's parameters are gathered before it runs; the next layer's while it computes.
    const auto layers = sizes_.bucket_bytes.size();
    int64_t gathered = gather(0);
    for (size_t i = 0; i < layers; ++i) {
      b_.wait(gathered);
      if (i + 1 < layers) gathered = gather(i + 1);
      if (i == 0) {
        b_.forward(ns / static_cast<double>(layers), part(count, i));
      } else {
        b_.begin(kForwardPhase);
        b_.ops(Busy::kForward, ns / static_cast<double>(layers), part(count, i));
        b_.end(kForwardPhase);
      }
    }
  }

  void backward(double ns, int64_t count) {
    const auto layers = sizes_.bucket_bytes.size();
    std::vector<int64_t> calls;
    b_.begin(kBackwardPhase);
    if (b_.gpu()) b_.thread(kAutogradThread);
    b_.before_backward();
    int64_t gathered = stage_ == 3 ? gather(layers - 1) : -1;
    for (size_t i = 0; i < layers; ++i) {
      const size_t layer = layers - 1 - i;
      if (stage_ == 3) {
        b_.wait(gathered);
        if (layer > 0) gathered = gather(layer - 1);
      }
      b_.backward_ops(ns / static_cast<double>(layers), part(count, i), static_cast<int64_t>(i),
                      static_cast<int64_t>(layers));
      calls.push_back(reduce(layer, static_cast<int>(i)));
    }
    for (const int64_t call : calls) b_.wait(call);
    if (b_.gpu()) b_.thread(kMainThread);
    b_.end(kBackwardPhase);
    b_.gap();
  }

  // Updates the rank's share; then all ranks get the new parameters.
  void optimizer(double ns, int64_t count) {
    b_.optimizer(ns / ranks_ * 2, count);
    if (stage_ == 3) return;
    std::vector<int64_t> calls;
    for (size_t i = 0; i < sizes_.bucket_bytes.size(); ++i) calls.push_back(gather(i));
    for (const int64_t call : calls) b_.wait(call);
  }

 private:
  [[nodiscard]] int64_t part(int64_t count, size_t i) const {
    const auto layers = static_cast<int64_t>(sizes_.bucket_bytes.size());
    const auto at = static_cast<int64_t>(i);
    return std::max<int64_t>(1, count * (at + 1) / layers - count * at / layers);
  }

  int64_t gather(size_t layer) {
    return b_.collective({.group = kWorldGroup,
                          .function = Function::kAllGather,
                          .reduction = schema::Reduction::kNone,
                          .bytes = std::max<int64_t>(64, sizes_.bucket_bytes[layer] / ranks_),
                          .slow = slow_});
  }

  int64_t reduce(size_t layer, int bucket) {
    const Function function = stage_ == 1 ? Function::kAllReduce : Function::kReduceScatter;
    return b_.collective({.group = kWorldGroup,
                          .function = function,
                          .bytes = sizes_.bucket_bytes[layer],
                          .bucket = stage_ == 1 ? bucket : -1,
                          .queue = stage_ == 3 ? kFirstCommQueue + 1 : kFirstCommQueue,
                          .slow = slow_});
  }

  StepBuilder& b_;
  const Sizes& sizes_;
  int stage_;
  int ranks_;
  double slow_;
};

}  // namespace

void zero_step(StepBuilder& b, const Model& model, int rank, int64_t step) {
  const Spec& spec = model.spec();
  const Sizes& sizes = model.sizes();
  ZeroStep zero(b, model, step);
  b.begin_step();
  b.input();
  zero.forward(sizes.forward_ns, sizes.forward_ops);
  zero.backward(sizes.backward_ns, sizes.backward_ops);
  zero.optimizer(sizes.optimizer_ns, sizes.optimizer_ops);
  side_collectives(b, model, rank, step);
  b.after_step();
  if (b.gpu() && spec.sync_every > 0 && step % spec.sync_every == spec.sync_every - 1) b.item();
  b.end_step();
}

}  // namespace dprof::synth
