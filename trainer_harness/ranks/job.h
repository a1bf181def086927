// SPDX-License-Identifier: Apache-2.0
// The ranks of a job: how they join and leave.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "trainer_harness/ranks/rendezvous.h"

namespace dprof::trainer_harness {

// The process group and its store. Every rank makes one, and ends it with leave().
class Job {
 public:
  // Waits for all ranks, at most `timeout_s`. Throws.
  static Job join(const Rendezvous& rendezvous, Backend backend, int64_t timeout_s);

  [[nodiscard]] const c10::intrusive_ptr<c10d::ProcessGroup>& group() const { return group_; }
  [[nodiscard]] int rank() const { return rendezvous_.rank; }
  [[nodiscard]] int world_size() const { return rendezvous_.world_size; }

  // A further Gloo group of all ranks, for tensors in host memory. The same name gives the same
  // group. The first call for a name waits for the other ranks, which must make the call too.
  const c10::intrusive_ptr<c10d::ProcessGroup>& make_group(const std::string& name);

  // Exchange texts between ranks through the store, without a collective.
  void publish(const std::string& key, const std::string& text);
  [[nodiscard]] std::string read(const std::string& key, int rank);

  // Ends the process group. Rank 0 hosts the store's server, and waits until all ranks have left.
  void leave();

 private:
  Job(Rendezvous rendezvous, std::chrono::milliseconds timeout)
      : rendezvous_(std::move(rendezvous)), timeout_(timeout) {}

  Rendezvous rendezvous_;
  std::chrono::milliseconds timeout_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::map<std::string, c10::intrusive_ptr<c10d::ProcessGroup>> further_groups_;
};

}  // namespace dprof::trainer_harness
