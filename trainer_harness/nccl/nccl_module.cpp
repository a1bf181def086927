// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/nccl/nccl_module.h"

#include <c10/cuda/CUDAFunctions.h>

#include <stdexcept>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace dprof::trainer_harness {
namespace {

c10::intrusive_ptr<c10d::Backend> make_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                               int rank, int world_size, int local_rank,
                                               std::chrono::milliseconds timeout) {
  const int devices = c10::cuda::device_count();
  if (local_rank >= devices) {
    throw std::runtime_error("NCCL needs a GPU for each rank: local rank " +
                             std::to_string(local_rank) + ", but " + std::to_string(devices) +
                             " GPUs are seen\nhint: use --backend gloo to train on the CPU");
  }
  const auto device = static_cast<c10::DeviceIndex>(local_rank);
  c10::cuda::set_device(device);
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, world_size, options);
  group->setBoundDeviceId(at::Device(at::kCUDA, device));
  return group;
}

}  // namespace
}  // namespace dprof::trainer_harness

extern "C" __attribute__((visibility("default")))
const dprof::trainer_harness::NcclModule dprof_trainer_nccl_module = {
    &dprof::trainer_harness::make_backend};
