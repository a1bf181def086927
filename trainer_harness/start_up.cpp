// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/start_up.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <stdexcept>
#include <string>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/launch/scheduling.h"
#include "trainer_harness/nccl/nccl_module.h"

namespace dprof::trainer_harness {
namespace {

using c10d::ProcessGroup;

constexpr const char* kDefaultGroup = "default_pg";

// Like init_process_group: a process has one default group.
Job initialise(const Options& options, const Rendezvous& rendezvous, Backend backend) {
  bool has_one = true;
  try {
    (void)c10d::resolve_process_group(kDefaultGroup);
  } catch (const c10::Error&) {
    has_one = false;
  }
  if (has_one) {
    throw std::runtime_error(
        "trying to initialize the default process group twice!\n"
        "hint: initialise it once, before the model is built (mistake M10)");
  }
  Job job = Job::join(rendezvous, backend, options.distribution.timeout_s);
  if (options.mistake == Mistake::kDoubleInit) {
    c10d::register_process_group(kDefaultGroup, job.group());
    job.group()->barrier()->wait();  // else a refused rank may exit while others connect to it
  }
  return job;
}

// Gloo can transfer GPU tensors through host memory (mistake M12); NCCL cannot transfer CPU tensors
// at all (mistake M13).
void route(Job& job, const Options& options, torch::Device device) {
  const c10::intrusive_ptr<ProcessGroup>& group = job.group();
  if (options.mistake == Mistake::kNcclCpu) {
    group->setBackend(at::kCPU, ProcessGroup::NCCL, group->getBackend(at::kCUDA));
  } else if (device.is_cuda() && options.distribution.backend == Backend::kGloo) {
    group->setBackend(at::kCUDA, ProcessGroup::GLOO, group->getBackend(at::kCPU));
  }
}

void set_threads(const Options& options, int rank) {
  const DistributionOptions& given = options.distribution;
  if (given.threads) at::set_num_threads(*given.threads);
  if (!given.threads_of_rank.empty()) {
    at::set_num_threads(given.threads_of_rank.at(static_cast<size_t>(rank)));
  }
}

}  // namespace

void take_place(const Options& options, const std::optional<Rendezvous>& rendezvous) {
  if (options.launch.nice) set_niceness(*options.launch.nice);
  if (!options.launch.affinity.empty()) {
    set_affinity(options.launch.affinity, rendezvous ? rendezvous->local_rank : 0);
  }
  set_threads(options, rendezvous ? rendezvous->rank : 0);
}

torch::Device find_device(const Options& options, const std::optional<Rendezvous>& rendezvous) {
  const DistributionOptions& given = options.distribution;
  const bool nccl = given.backend == Backend::kNccl;
  const auto rank = static_cast<size_t>(rendezvous ? rendezvous->rank : 0);
  std::string name = nccl ? "cuda" : "cpu";
  if (!given.device_of_rank.empty()) name = given.device_of_rank.at(rank);
  if (nccl && name == "cpu") {
    throw UsageError(
        "--backend nccl has no ranks on the CPU\n"
        "hint: a mixed job takes --backend gloo");
  }
  if (name == "cpu") return torch::kCPU;
  (void)load_nccl();  // loads CUDA too
  const int seen = static_cast<int>(
      at::globalContext().hasCUDA() ? at::detail::getCUDAHooks().deviceCount() : 0);
  const bool shared = options.mistake == Mistake::kOneDevice;
  const int local_rank = rendezvous && !shared ? rendezvous->local_rank : 0;
  const int index = name == "cuda" ? local_rank : torch::Device(name).index();
  if (index >= seen) {
    throw std::runtime_error("a GPU is needed for each rank (NCCL, CUDA): this is cuda:" +
                             std::to_string(index) + ", but " + std::to_string(seen) +
                             " are seen\nhint: use --backend gloo to train on the CPU");
  }
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

Job meet_others(const Options& options, Rendezvous rendezvous, torch::Device device) {
  if (options.mistake == Mistake::kRendezvous) rendezvous.rank = 0;
  if (device.is_cuda()) rendezvous.local_rank = device.index();
  const Backend backend =
      options.mistake == Mistake::kNcclCpu ? Backend::kNccl : options.distribution.backend;
  Job job = initialise(options, rendezvous, backend);
  route(job, options, device);
  if (options.mistake == Mistake::kDoubleInit) (void)initialise(options, rendezvous, backend);
  return job;
}

}  // namespace dprof::trainer_harness
