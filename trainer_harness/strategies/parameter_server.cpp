// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/parameter_server.h"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/techniques/markers.h"

namespace dprof::trainer_harness {
namespace {

constexpr int kGradientTag = 0;
constexpr int kParameterTag = 1;
constexpr const char* kServedKey = "served";  // in the store
constexpr const char* kWorkerStepsKey = "worker steps";

void check_server(const Context& context) {
  const Options& options = context.options;
  if (context.job == nullptr || context.world_size() < 2) {
    throw UsageError(
        "--strategy parameter-server needs at least 2 ranks: workers, and a server, the last one\n"
        "hint: start it with dprof record -n N, --spawn N or torchrun");
  }
  const auto refuse = [](const std::string& option, const std::string& why) {
    throw UsageError(option + " does not go with --strategy parameter-server: " + why +
                     "\nhint: take --strategy ddp");
  };
  if (options.distribution.barrier != BarrierKind::kNone ||
      options.mistake == Mistake::kRank0Barrier) {
    refuse("a barrier", "the server is in no collective");
  }
  if (options.output.checkpoint_every > 0) {
    refuse("--checkpoint-every", "workers do not hold the optimizer");
  }
  if (options.data.uneven == Uneven::kJoin) refuse("--uneven join", "workers end by themselves");
}

}  // namespace

ParameterServer::ParameterServer(Context& context)
    : Replica(context),
      server_(context.world_size() - 1),
      is_server_(context.rank() == context.world_size() - 1) {
  check_server(context);
  group_ = context.job->group();
  parameters_ = model().parameters();
  has_buffers_ = !model().buffers().empty();
  int64_t numbers = 0;
  for (const torch::Tensor& parameter : parameters_) numbers += parameter.numel();
  const auto kind = torch::device(context.device);
  flat_ = torch::zeros({numbers}, kind);
  message_ = torch::zeros({numbers + 1}, kind);
}

std::vector<torch::Tensor> ParameterServer::updated_parameters() {
  return is_server_ ? parameters_ : std::vector<torch::Tensor>();
}

std::pair<int, int> ParameterServer::data_share() const {
  return {server_, is_server_ ? -1 : group_->getRank()};
}

// Workers

void ParameterServer::pull() {
  const Mark mark(context().options.output.marks, kPullMark);
  std::vector<torch::Tensor> message = {flat_};
  group_->recv(message, server_, kParameterTag)->wait();
  const torch::NoGradGuard no_grad;
  int64_t begin = 0;
  for (torch::Tensor& parameter : parameters_) {
    parameter.copy_(flat_.narrow(0, begin, parameter.numel()).view_as(parameter));
    begin += parameter.numel();
  }
}

void ParameterServer::begin_update() { pull(); }

void ParameterServer::finish_gradients() {
  Replica::finish_gradients();
  const Mark mark(context().options.output.marks, kPushMark);
  int64_t begin = 0;
  for (const torch::Tensor& parameter : parameters_) {
    torch::Tensor place = message_.narrow(0, begin, parameter.numel());
    if (parameter.grad().defined()) {
      place.copy_(parameter.grad().reshape({-1}));
    } else {
      place.zero_();
    }
    begin += parameter.numel();
  }
  std::vector<torch::Tensor> message = {message_};
  group_->send(message, server_, kGradientTag)->wait();
}

void ParameterServer::finish() {
  pull();  // the answer to the last push
  context().job->publish(kWorkerStepsKey, std::to_string(context().progress.step));
  message_.zero_();
  message_[-1] = 1;
  std::vector<torch::Tensor> message = {message_};
  group_->send(message, server_, kGradientTag)->wait();
  pull();  // the final parameters, the same on all workers
  if (context().rank() == 0) context().log.info(context().job->read(kServedKey, server_));
}

// The server

// Returns the result of `exchange` with a worker; any failure is reported as a lost worker.
template <typename Exchange>
auto with_worker(Exchange exchange) {
  const auto lost = [](const std::string& why) {
    return std::runtime_error(
        "the server could not exchange gradients and parameters with a worker: " + why +
        "\nhint: a worker was lost, or needs longer than --timeout; its own message says more");
  };
  try {
    return exchange();
  } catch (const c10::Error& error) {
    throw lost(error.what_without_backtrace());
  } catch (const std::exception& error) {  // Gloo's own errors
    throw lost(error.what());
  }
}

// The active workers and their pushes.
class ParameterServer::Round {
 public:
  explicit Round(int workers) : pulled_(static_cast<size_t>(workers), 0), active_(workers) {}

  [[nodiscard]] bool ended() const { return active_ == 0; }
  [[nodiscard]] int64_t updates() const { return updates_; }
  // Sync: every active worker has pushed.
  [[nodiscard]] bool complete() const { return !pushed_.empty() && ssize(pushed_) == active_; }

  void leave() { --active_; }
  void add(int worker) {
    pushed_.push_back(worker);
    const int64_t staleness = updates_ - pulled_[static_cast<size_t>(worker)];
    staleness_sum_ += staleness;
    staleness_max_ = std::max(staleness_max_, staleness);
    ++pushes_;
  }
  // After the update: returns the workers to answer.
  [[nodiscard]] std::vector<int> update() {
    ++updates_;
    for (const int worker : pushed_) pulled_[static_cast<size_t>(worker)] = updates_;
    return std::exchange(pushed_, {});
  }
  [[nodiscard]] int64_t pushed() const { return ssize(pushed_); }

  [[nodiscard]] std::string text() const {
    std::ostringstream line;
    line << "served " << updates_ << " updates of " << pushes_ << " gradients, staleness mean "
         << std::fixed << std::setprecision(2)
         << (pushes_ == 0 ? 0 : static_cast<double>(staleness_sum_) / static_cast<double>(pushes_))
         << ", max " << staleness_max_;
    return line.str();
  }

 private:
  std::vector<int64_t> pulled_;  // the update after which each worker got its parameters
  int64_t active_;
  std::vector<int> pushed_;
  int64_t updates_ = 0;
  int64_t pushes_ = 0;
  int64_t staleness_sum_ = 0;
  int64_t staleness_max_ = 0;
};

void ParameterServer::answer(int worker, const torch::Tensor& flat) {
  auto& [work, sent] = answers_[static_cast<size_t>(worker)];
  with_worker([&, &last = work, &kept = sent] {
    if (last) last->wait();  // the worker has pulled since
    kept = flat;
    std::vector<torch::Tensor> message = {kept};
    last = group_->send(message, worker, kParameterTag);
  });
}

torch::Tensor ParameterServer::flattened() const {
  std::vector<torch::Tensor> pieces;
  for (const torch::Tensor& parameter : parameters_) {
    pieces.push_back(parameter.detach().reshape({-1}));
  }
  return torch::cat(pieces);
}

int ParameterServer::receive() {
  std::vector<torch::Tensor> message = {message_};
  return with_worker([&] {
    const auto work = group_->recvAnysource(message, kGradientTag);
    work->wait();
    return work->sourceRank();
  });
}

void ParameterServer::update(torch::optim::Optimizer& optimizer, const torch::Tensor& gradient) {
  const Mark mark(context().options.output.marks, kOptimizerMark);
  context().faults.visit(Place::kOptimizer, context().progress.step);
  int64_t begin = 0;
  for (torch::Tensor& parameter : parameters_) {
    parameter.mutable_grad() = gradient.narrow(0, begin, parameter.numel()).view_as(parameter);
    begin += parameter.numel();
  }
  note_gradients();
  optimizer.step();
}

void ParameterServer::serve(torch::optim::Optimizer& optimizer) {
  const MarkKind marks = context().options.output.marks;
  const Mark mark(marks, kServeMark);
  const bool sync = context().options.distribution.server_mode == ServerMode::kSync;
  answers_.resize(static_cast<size_t>(server_));
  torch::Tensor flat = flattened();
  for (int worker = 0; worker < server_; ++worker) answer(worker, flat);
  Round round(server_);
  while (!round.ended()) {
    std::optional<Mark> step;
    torch::Tensor sum;
    while (!round.ended() && !(sync ? round.complete() : round.pushed() > 0)) {
      const int worker = receive();
      if (message_[-1].item<float>() != 0) {
        round.leave();
        continue;
      }
      if (!step) {
        step.emplace(marks, kStepMark);
        context().faults.visit(Place::kStepBegin, context().progress.step);
      }
      const torch::Tensor gradient = message_.narrow(0, 0, message_.numel() - 1);
      sum = sum.defined() ? sum + gradient : gradient.clone();
      round.add(worker);
    }
    if (round.pushed() == 0) continue;
    update(optimizer, sum / static_cast<double>(round.pushed()));
    flat = flattened();
    for (const int worker : round.update()) answer(worker, flat);
    context().faults.visit(Place::kStepEnd, context().progress.step++);
  }
  for (int worker = 0; worker < server_; ++worker) answer(worker, flat);
  for (auto& [work, sent] : answers_) with_worker([&last = work] { last->wait(); });
  context().job->publish(kServedKey, round.text());
  // A checkpoint counts the workers' steps; in async mode the server does several updates for each.
  context().progress.step = std::stoll(context().job->read(kWorkerStepsKey, 0));
}

}  // namespace dprof::trainer_harness
