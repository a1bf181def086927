// SPDX-License-Identifier: Apache-2.0
// Tensor and data parallelism: within each small group the layers are split, which needs an
// all-reduce after each of them; gradients are reduced across the groups.
#include <algorithm>

#include "synth/model/model.h"

namespace dprof::synth {
namespace {

constexpr int kTensorQueue = 2;
constexpr int64_t kShardActivationBytes = 524'288;

}  // namespace

void tensor_data_step(StepBuilder& b, const Model& model, int rank, int64_t step) {
  const Spec& spec = model.spec();
  const Sizes& sizes = model.sizes();
  const auto layers = static_cast<int64_t>(sizes.bucket_bytes.size());
  const int tensor = model.tensor_group(rank);
  const int data = model.data_group(rank);
  const auto reduce_layer = [&] {
    b.wait(b.collective({.group = tensor,
                         .bytes = kShardActivationBytes,
                         .queue = kTensorQueue,
                         .slow = model.slow(tensor, step)}));
  };
  const auto part = [&](int64_t count) { return std::max<int64_t>(1, count / layers); };

  b.begin_step();
  b.input();
  for (int64_t i = 0; i < layers; ++i) {
    const double ns = sizes.forward_ns / static_cast<double>(layers);
    if (i == 0) {
      b.forward(ns, part(sizes.forward_ops));
    } else {
      b.begin(kForwardPhase);
      b.ops(Busy::kForward, ns, part(sizes.forward_ops));
      b.end(kForwardPhase);
    }
    reduce_layer();
  }
  b.begin(kBackwardPhase);
  if (b.gpu()) b.thread(kAutogradThread);
  b.before_backward();
  std::vector<int64_t> calls;
  for (int64_t i = 0; i < layers; ++i) {
    b.backward_ops(sizes.backward_ns / static_cast<double>(layers), part(sizes.backward_ops), i,
                   layers);
    reduce_layer();
    calls.push_back(
        b.collective({.group = data,
                      .bytes = sizes.bucket_bytes[static_cast<size_t>(i)] / spec.tensor_ranks,
                      .bucket = static_cast<int>(i),
                      .slow = model.slow(data, step)}));
  }
  for (const int64_t call : calls) b.wait(call);
  if (b.gpu()) b.thread(kMainThread);
  b.end(kBackwardPhase);
  b.gap();
  b.optimizer(sizes.optimizer_ns, sizes.optimizer_ops);
  side_collectives(b, model, rank, step);
  b.after_step();
  if (b.gpu() && spec.sync_every > 0 && step % spec.sync_every == spec.sync_every - 1) b.item();
  b.end_step();
}

}  // namespace dprof::synth
