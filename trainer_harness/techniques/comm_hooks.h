// SPDX-License-Identifier: Apache-2.0
// Communication hooks: they replace DDP's averaging of a whole bucket. The fp16 hook is c10d's own
// (BuiltinCommHookType::FP16_COMPRESS); top-k is here.
#pragma once

#include <cstdint>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <unordered_map>

namespace dprof::trainer_harness {

// Sends a bucket's largest gradients, values and places, to all ranks (one all-gather of 8 bytes
// per gradient), and averages these. Gradients that were not sent are added to the next step's:
// delayed, not lost (error feedback). All ranks get bit-equal results.
//
// Threading: called by the thread that runs backward; the thread that completes the all-gather
// computes the average.
class TopKHook final : public c10d::CommHookInterface {
 public:
  TopKHook(c10::intrusive_ptr<c10d::ProcessGroup> group, int world_size, double share)
      : group_(std::move(group)), world_size_(world_size), share_(share) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override;
  at::Tensor parseHookResult(const c10::IValue& result) override { return result.toTensor(); }

 private:
  [[nodiscard]] at::Tensor add_unsent(c10d::GradBucket& bucket);
  void keep_unsent(const c10d::GradBucket& bucket, const at::Tensor& rest);

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  int world_size_;
  double share_;
  // By parameter, since the Reducer rebuilds its buckets after the first iteration.
  std::unordered_map<const c10::TensorImpl*, at::Tensor> unsent_;
};

}  // namespace dprof::trainer_harness
