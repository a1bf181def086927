// SPDX-License-Identifier: Apache-2.0
// The ranks that train together: how they meet and part.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "trainer_harness/ranks/rendezvous.h"

namespace dprof::trainer_harness {

// The process group and its store. Every rank makes one, and ends it by leave().
class Job {
 public:
  // Waits for all ranks, at most `timeout_s`. Throws.
  static Job join(const Rendezvous& rendezvous, Backend backend, int64_t timeout_s);

  [[nodiscard]] const c10::intrusive_ptr<c10d::ProcessGroup>& group() const { return group_; }
  [[nodiscard]] int rank() const { return rendezvous_.rank; }
  [[nodiscard]] int world_size() const { return rendezvous_.world_size; }

  // A further group of all ranks over Gloo, for tensors in host memory; the same one for the same
  // name. The first call for a name meets the other ranks, which must make it too.
  const c10::intrusive_ptr<c10d::ProcessGroup>& make_group(const std::string& name);

  // Texts from rank to rank through the store, without a collective.
  void publish(const std::string& key, const std::string& text);
  [[nodiscard]] std::string read(const std::string& key, int rank);

  // Ends the process group. The store's server is in rank 0, which waits until the others need it
  // no more.
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
