// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/torch_actions.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <c10/core/GradMode.h>
#include <malloc.h>
#include <sys/mman.h>

#include <stdexcept>
#include <vector>

namespace dprof::trainer_harness {
namespace {

constexpr int64_t kHostMatrix = 64;     // about 20 us on one core
constexpr int64_t kDeviceMatrix = 256;  // and no longer on a device
constexpr int64_t kReducedElements = 1024;
constexpr int64_t kPage = 4096;

// Gives a block's pages back to the system, as an allocator does that keeps no free memory. (glibc
// keeps it, once it has seen blocks of that size.)
void return_pages(uint8_t* data, int64_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  const uintptr_t begin = (address + kPage - 1) / kPage * kPage;
  const uintptr_t end = (address + static_cast<uintptr_t>(bytes)) / kPage * kPage;
  if (begin < end) madvise(data + (begin - address), end - begin, MADV_DONTNEED);
}

class TorchActions : public FaultActions {
 public:
  TorchActions(torch::Device device, Job* job)
      : device_(device),
        job_(job),
        edge_(device.is_cpu() ? kHostMatrix : kDeviceMatrix),
        // Constant, not random: the training's sequence of random numbers stays unchanged.
        factor_(torch::full({edge_, edge_}, 0.5F, torch::device(device))) {}

  void spin(std::chrono::nanoseconds time) override {
    const auto end = std::chrono::steady_clock::now() + time;
    const torch::NoGradGuard no_grad;
    while (std::chrono::steady_clock::now() < end) {
      (void)torch::mm(factor_, factor_);
      if (has_device()) at::accelerator::synchronizeDevice(device_.index());
    }
  }

  [[nodiscard]] bool has_device() const override { return !device_.is_cpu(); }

  void leak(int64_t bytes) override {
    kept_.push_back(torch::full({bytes}, 1, torch::device(device_).dtype(torch::kUInt8)));
  }

  void churn(int64_t bytes) override {
    const torch::Tensor tensor = torch::empty({bytes}, torch::device(device_).dtype(torch::kUInt8));
    if (has_device()) return;
    auto* const data = tensor.mutable_data_ptr<uint8_t>();
    for (int64_t at = 0; at < bytes; at += kPage) data[at] = 1;  // touches each page
    return_pages(data, bytes);
  }

  void empty_cache() override {
    if (has_device()) {
      at::accelerator::emptyCache();
    } else {
      malloc_trim(0);
    }
  }

  void reduce_sizes(bool wrong) override {
    // Gloo ends a process that receives too much; rank 0 must survive because it writes the truth.
    const int64_t other = job_->rank() == 0 ? 2 * kReducedElements : kReducedElements / 2;
    const int64_t elements = wrong ? other : kReducedElements;
    all_reduce(job_->group(), elements);
    check_sizes(elements);
  }

  void reduce_groups(bool wrong) override {
    const auto& one = job_->make_group("order_one");
    const auto& two = job_->make_group("order_two");
    all_reduce(wrong ? two : one, kReducedElements);
    all_reduce(wrong ? one : two, kReducedElements);
  }

 private:
  static void all_reduce(const c10::intrusive_ptr<c10d::ProcessGroup>& group, int64_t elements) {
    std::vector<torch::Tensor> tensors = {torch::full({elements}, 1.0F)};
    group->allreduce(tensors)->wait();
  }

  // For ranks that have not received too much: Gloo silently accepts a smaller message.
  void check_sizes(int64_t own) {
    job_->publish("reduced", std::to_string(own));
    for (int rank = 0; rank < job_->world_size(); ++rank) {
      const std::string theirs = job_->read("reduced", rank);
      if (theirs == std::to_string(own)) continue;
      throw std::runtime_error(
          "all_reduce of " + std::to_string(own) + " elements on this rank, but of " + theirs +
          " on rank " + std::to_string(rank) +
          "\nhint: all ranks must call the same collective with the same size");
    }
  }

  torch::Device device_;
  Job* job_;
  int64_t edge_;
  torch::Tensor factor_;
  std::vector<torch::Tensor> kept_;
};

}  // namespace

std::unique_ptr<FaultActions> make_torch_actions(torch::Device device, Job* job) {
  return std::make_unique<TorchActions>(device, job);
}

}  // namespace dprof::trainer_harness
