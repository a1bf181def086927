// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/ranks/job.h"

#include <cstdlib>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "trainer_harness/nccl/nccl_module.h"

namespace dprof::trainer_harness {
namespace {

using c10d::PrefixStore;
using c10d::ProcessGroup;
using c10d::ProcessGroupGloo;
using c10d::TCPStore;

c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                            const Rendezvous& rendezvous,
                                            std::chrono::milliseconds timeout) {
  auto options = ProcessGroupGloo::Options::create(timeout);
  // On one host, use the loopback interface, whatever the host name resolves to.
  const bool local =
      rendezvous.master_address == "127.0.0.1" || rendezvous.master_address == "localhost";
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr) {
    options->devices.push_back(ProcessGroupGloo::createDeviceForInterface(interface));
  } else if (local) {
    options->devices.push_back(ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  } else {
    options->devices.push_back(ProcessGroupGloo::createDefaultDevice());
  }
  // Set as by Python's new_group(); each group here has all ranks.
  for (int rank = 0; rank < rendezvous.world_size; ++rank) {
    options->global_ranks_in_group.push_back(static_cast<uint64_t>(rank));
  }
  return c10::make_intrusive<ProcessGroupGloo>(store, rendezvous.rank, rendezvous.world_size,
                                               options);
}

// Makes a group without backends.
c10::intrusive_ptr<ProcessGroup> make_group_of(const c10::intrusive_ptr<c10d::Store>& store,
                                               const Rendezvous& rendezvous, Backend backend) {
  auto group = c10::make_intrusive<ProcessGroup>(store, rendezvous.rank, rendezvous.world_size);
  group->setDefaultBackend(backend == Backend::kNccl ? ProcessGroup::NCCL : ProcessGroup::GLOO);
  return group;
}

// Precondition: the backends are set, since they store the name.
void name_group(ProcessGroup& group, const std::string& name) {
  group.setGroupName(name);
  group.setGroupDesc(name);
}

}  // namespace

Job Job::join(const Rendezvous& rendezvous, Backend backend, int64_t timeout_s) {
  const auto timeout = std::chrono::milliseconds(std::chrono::seconds(timeout_s));
  Job job(rendezvous, timeout);

  c10d::TCPStoreOptions options;
  options.port = rendezvous.master_port;
  options.numWorkers = static_cast<size_t>(rendezvous.world_size);
  options.isServer = rendezvous.rank == 0 && !rendezvous.agent_serves;
  options.timeout = timeout;
  // torchrun's agent is a worker of its store too, so only the ranks' own barrier is reliable.
  options.waitWorkers = !rendezvous.agent_serves;
  try {
    job.store_ = c10::make_intrusive<TCPStore>(rendezvous.master_address, options);
  } catch (const c10::Error& error) {
    throw std::runtime_error(
        "could not meet the others at " + rendezvous.master_address + ":" +
        std::to_string(rendezvous.master_port) + ": " + error.what_without_backtrace() +
        "\nhint: all " + std::to_string(job.world_size()) +
        " ranks must be started, with the same MASTER_ADDR and a free MASTER_PORT");
  }

  auto prefixed = c10::make_intrusive<PrefixStore>("default_pg", job.store_);
  job.group_ = make_group_of(prefixed, rendezvous, backend);
  job.group_->setBackend(at::kCPU, ProcessGroup::GLOO, make_gloo(prefixed, rendezvous, timeout));
  if (backend == Backend::kNccl) {
    job.group_->setBackend(at::kCUDA, ProcessGroup::NCCL,
                           load_nccl().make_backend(prefixed, job.rank(), job.world_size(),
                                                    rendezvous.local_rank, timeout));
  }
  name_group(*job.group_, "default_pg");
  return job;
}

const c10::intrusive_ptr<ProcessGroup>& Job::make_group(const std::string& name) {
  c10::intrusive_ptr<ProcessGroup>& group = further_groups_[name];
  if (!group) {
    auto prefixed = c10::make_intrusive<PrefixStore>(name, store_);
    group = make_group_of(prefixed, rendezvous_, Backend::kGloo);
    group->setBackend(at::kCPU, ProcessGroup::GLOO, make_gloo(prefixed, rendezvous_, timeout_));
    name_group(*group, name);
  }
  return group;
}

void Job::publish(const std::string& key, const std::string& text) {
  store_->set("dprof-trainer/" + key + "/" + std::to_string(rank()), text);
}

std::string Job::read(const std::string& key, int rank) {
  return store_->get_to_str("dprof-trainer/" + key + "/" + std::to_string(rank));
}

void Job::leave() {
  publish("left", "1");
  for (int other = 0; rank() == 0 && other < world_size(); ++other) (void)read("left", other);
  for (auto& [name, group] : further_groups_) group->shutdown();
  further_groups_.clear();
  group_->shutdown();
  group_.reset();
  store_.reset();
}

}  // namespace dprof::trainer_harness
