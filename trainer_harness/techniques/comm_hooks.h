// SPDX-License-Identifier: Apache-2.0
// What DDP may do to a bucket of gradients instead of averaging it whole (communication hooks).
// fp16 is c10d's own (BuiltinCommHookType::FP16_COMPRESS); this is the other.
#pragma once

#include <cstdint>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <unordered_map>

namespace dprof::trainer_harness {

// Sends the largest share of a bucket's gradients, values and places, to all ranks (one all-gather
// of 8 bytes for each), and averages these. What was not sent is added to the next gradient, so
// that nothing is lost, only late (error feedback). All ranks get bit-equal results.
//
// Threading: called by the thread that runs backward; the average is made by whichever thread ends
// the all-gather.
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
  // By parameter: the Reducer builds its buckets anew after the first iteration.
  std::unordered_map<const c10::TensorImpl*, at::Tensor> unsent_;
};

}  // namespace dprof::trainer_harness
