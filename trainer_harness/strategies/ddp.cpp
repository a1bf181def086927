// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/ddp.h"

#include <algorithm>
#include <torch/csrc/distributed/c10d/comm.hpp>

namespace dprof::trainer_harness {
namespace {

constexpr size_t kBroadcastBytes = size_t{250} << 20;
constexpr double kBytesPerMiB = 1 << 20;
constexpr int64_t kFirstBucketBytes = 1 << 20;  // small, so that communication starts early

}  // namespace

Ddp::Ddp(Context& context)
    : Replica(context), job_(*context.job), options_(context.options), buffers_(model().buffers()) {
  std::vector<torch::Tensor> parameters = model().parameters();
  std::unordered_map<size_t, std::string> names;
  for (const auto& item : model().named_parameters()) names.emplace(names.size(), item.key());

  c10d::verify_params_across_processes(job_.group(), parameters, std::nullopt);
  std::vector<torch::Tensor> state = parameters;
  state.insert(state.end(), buffers_.begin(), buffers_.end());
  {
    const torch::NoGradGuard no_grad;
    c10d::broadcast_coalesced(job_.group(), state, kBroadcastBytes, 0);
  }

  const auto cap = static_cast<int64_t>(options_.distribution.bucket_mb * kBytesPerMiB);
  const int64_t first = std::min(cap, kFirstBucketBytes);
  const std::vector<bool> sparse(parameters.size(), false);
  auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
      parameters, {static_cast<size_t>(first), static_cast<size_t>(cap)}, sparse);
  std::ranges::reverse(buckets);  // gradients come in the reverse order of the parameters
  reducer_.emplace(std::move(parameters), std::move(buckets), job_.group(), sparse, cap,
                   options_.distribution.find_unused, options_.distribution.bucket_view,
                   std::move(names), first, /*skip_all_reduce_unused_params=*/false,
                   /*use_python_reducer=*/false, std::vector<int64_t>{});
}

std::pair<int, int> Ddp::data_share() const { return {job_.world_size(), job_.rank()}; }

bool Ddp::syncs(const MicroStep& which) const { return which.last() || !options_.training.no_sync; }

void Ddp::before_forward(const MicroStep& which) {
  // In every iteration: only this call notices a gradient that never came in the one before.
  reducer_->rebuild_buckets();
  if (!buffers_.empty() && which.index == 0) {
    const torch::NoGradGuard no_grad;
    c10d::broadcast_coalesced(job_.group(), buffers_, kBroadcastBytes, 0);
  }
  if (syncs(which)) reducer_->prepare_for_forward();
}

void Ddp::before_backward(const torch::Tensor& output, const MicroStep& which) {
  if (!syncs(which)) return;
  reducer_->prepare_for_backward(options_.distribution.find_unused
                                     ? std::vector<torch::Tensor>{output}
                                     : std::vector<torch::Tensor>{});
}

}  // namespace dprof::trainer_harness
