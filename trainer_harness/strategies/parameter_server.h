// SPDX-License-Identifier: Apache-2.0
// A parameter server: the last rank holds the parameters, the others pull them, compute, and push
// gradients. The server's link carries the messages of all ranks.
#pragma once

#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>
#include <vector>

#include "trainer_harness/strategies/replica.h"

namespace dprof::trainer_harness {

// The server sends its parameters to every worker at the start and after each update; a push and
// the pull after it are one flat tensor each.
//
// Sync: one update with the mean of all workers' gradients, after which all continue. Async: one
// update per push, so that a gradient may have been computed with older parameters; its staleness
// is the number of updates between its worker's pull and its push.
class ParameterServer final : public Replica {
 public:
  explicit ParameterServer(Context& context);

  [[nodiscard]] std::vector<torch::Tensor> updated_parameters() override;
  [[nodiscard]] std::pair<int, int> data_share() const override;
  void begin_update() override;
  void finish_gradients() override;
  void finish() override;
  [[nodiscard]] bool serves() const override { return is_server_; }
  void serve(torch::optim::Optimizer& optimizer) override;
  // Buffers are not sent: each worker has its own.
  [[nodiscard]] bool keeps_replicas_equal() const override { return !has_buffers_; }

 private:
  class Round;

  void pull();
  // Receives a message and returns its worker.
  [[nodiscard]] int receive();
  void update(torch::optim::Optimizer& optimizer, const torch::Tensor& gradient);
  [[nodiscard]] torch::Tensor flattened() const;
  // Does not wait for the worker's pull.
  void answer(int worker, const torch::Tensor& flat);

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  int server_;
  bool is_server_;
  std::vector<torch::Tensor> parameters_;
  bool has_buffers_ = false;
  torch::Tensor flat_;     // all parameters, concatenated
  torch::Tensor message_;  // all gradients, and whether the worker has finished
  // The server's latest answer to each worker, kept until it is sent.
  std::vector<std::pair<c10::intrusive_ptr<c10d::Work>, torch::Tensor>> answers_;
};

}  // namespace dprof::trainer_harness
