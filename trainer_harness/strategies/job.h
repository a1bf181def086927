// SPDX-License-Identifier: Apache-2.0
// The ranks that train together: how they meet and part.
#pragma once

#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "trainer_harness/settings/options.h"
#include "trainer_harness/settings/rendezvous.h"

namespace dprof::trainer_harness {

// The process group and its store. Every rank makes one, and ends it by leave().
class Job {
 public:
  // Waits for all ranks, at most `timeout_s`. Throws.
  static Job join(const Rendezvous& rendezvous, Backend backend, int64_t timeout_s);

  [[nodiscard]] const c10::intrusive_ptr<c10d::ProcessGroup>& group() const { return group_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int world_size() const { return world_size_; }

  // Texts from rank to rank through the store, without a collective.
  void publish(const std::string& key, const std::string& text);
  [[nodiscard]] std::string read(const std::string& key, int rank);

  // Ends the process group. The store's server is in rank 0, which waits until the others need it
  // no more.
  void leave();

 private:
  Job(int rank, int world_size) : rank_(rank), world_size_(world_size) {}

  int rank_;
  int world_size_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
};

}  // namespace dprof::trainer_harness
