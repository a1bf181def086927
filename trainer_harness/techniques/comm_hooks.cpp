// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/techniques/comm_hooks.h"

#include <torch/types.h>

#include <algorithm>

namespace dprof::trainer_harness {

// A copy of the bucket's gradients, plus what was not sent before.
at::Tensor TopKHook::add_unsent(c10d::GradBucket& bucket) {
  at::Tensor sum = bucket.getBuffer().clone();
  int64_t offset = 0;
  for (const at::Tensor& parameter : bucket.getParameters()) {
    const auto before = unsent_.find(parameter.unsafeGetTensorImpl());
    if (before != unsent_.end()) sum.narrow(0, offset, parameter.numel()).add_(before->second);
    offset += parameter.numel();
  }
  return sum;
}

void TopKHook::keep_unsent(const c10d::GradBucket& bucket, const at::Tensor& rest) {
  int64_t offset = 0;
  for (const at::Tensor& parameter : bucket.getParameters()) {
    unsent_[parameter.unsafeGetTensorImpl()] = rest.narrow(0, offset, parameter.numel());
    offset += parameter.numel();
  }
}

c10::intrusive_ptr<c10::ivalue::Future> TopKHook::runHook(c10d::GradBucket& bucket) {
  const torch::NoGradGuard no_grad;
  at::Tensor rest = add_unsent(bucket);
  const int64_t size = rest.numel();
  const int64_t count =
      std::clamp(static_cast<int64_t>(share_ * static_cast<double>(size)), int64_t{1}, size);
  const at::Tensor places = std::get<1>(rest.abs().topk(count, 0, true, /*sorted=*/false));
  // Values and places are sent in one message, with the values' bits as integers.
  std::vector<at::Tensor> own = {
      torch::cat({rest.index_select(0, places).view(torch::kInt32), places.to(torch::kInt32)})};
  rest.index_fill_(0, places, 0);
  keep_unsent(bucket, rest);

  std::vector<std::vector<at::Tensor>> all(1);
  for (int rank = 0; rank < world_size_; ++rank) all[0].push_back(torch::empty_like(own[0]));
  const auto average = [all, size, count, ranks = world_size_](c10::ivalue::Future& done) {
    if (done.hasError()) std::rethrow_exception(done.exception_ptr());
    const torch::NoGradGuard in_this_thread;
    at::Tensor mean = torch::zeros({size}, all[0][0].options().dtype(torch::kFloat32));
    for (const at::Tensor& sent : all[0]) {  // in rank order, so that all ranks get the same sum
      mean.index_add_(0, sent.narrow(0, count, count),
                      sent.narrow(0, 0, count).view(torch::kFloat32));
    }
    return c10::IValue(mean.div_(ranks));
  };
  return group_->allgather(all, own)->getFuture()->then(average, c10::TensorType::get());
}

}  // namespace dprof::trainer_harness
