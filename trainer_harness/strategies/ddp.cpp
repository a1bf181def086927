// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/ddp.h"

#include <algorithm>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/techniques/checksum.h"
#include "trainer_harness/techniques/comm_hooks.h"
#include "trainer_harness/techniques/markers.h"

namespace dprof::trainer_harness {
namespace {

constexpr double kBytesPerMiB = 1 << 20;
constexpr double kFirstBucketMiB = 1;  // small, so that communication starts early

// Bytes of the first bucket, and of each other one.
std::vector<size_t> bucket_limits(const DistributionOptions& options) {
  const double first =
      std::min(options.first_bucket_mb.value_or(kFirstBucketMiB), options.bucket_mb);
  return {static_cast<size_t>(first * kBytesPerMiB),
          static_cast<size_t>(options.bucket_mb * kBytesPerMiB)};
}

}  // namespace

Ddp::Ddp(Context& context)
    : Replica(context),
      job_(*context.job),
      options_(context.options),
      parameters_(replicated_parameters(model())),
      buffers_(model().buffers()),
      ranks_with_data_(job_.world_size()) {
  equalize_replicas(job_, parameters_, buffers_);
  if (options_.distribution.overlap) {
    make_reducer();
  } else {
    make_late_buckets();
  }
}

void Ddp::make_reducer() {
  const DistributionOptions& options = options_.distribution;
  std::unordered_map<size_t, std::string> names;
  for (const auto& item : model().replicated_parameters()) names.emplace(names.size(), item.first);
  const std::vector<size_t> limits = bucket_limits(options);
  const std::vector<bool> sparse(parameters_.size(), false);
  auto [buckets, limit_of_each] =
      c10d::compute_bucket_assignment_by_size(parameters_, limits, sparse);
  std::ranges::reverse(buckets);  // gradients arrive in reverse parameter order
  reducer_.emplace(parameters_, std::move(buckets), job_.group(), sparse,
                   static_cast<int64_t>(limits[1]), options.find_unused, options.bucket_view,
                   std::move(names), static_cast<int64_t>(limits[0]),
                   /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
                   std::vector<int64_t>{});
  if (options.static_graph) {
    reducer_->set_static_graph();
    delays_reduction_ = true;
  }
  if (options.compression == Compression::kFp16) {
    reducer_->register_builtin_comm_hook(c10d::BuiltinCommHookType::FP16_COMPRESS);
  } else if (options.compression == Compression::kTopK) {
    reducer_->register_comm_hook(
        std::make_unique<TopKHook>(job_.group(), job_.world_size(), options.top_k));
  }
}

// The buckets that the Reducer uses after its first iteration: in the order of the gradients.
void Ddp::make_late_buckets() {
  const std::vector<torch::Tensor> late(parameters_.rbegin(), parameters_.rend());
  const std::vector<bool> sparse(late.size(), false);
  const auto [buckets, limit_of_each] =
      c10d::compute_bucket_assignment_by_size(late, bucket_limits(options_.distribution), sparse);
  for (const std::vector<size_t>& bucket : buckets) {
    std::vector<torch::Tensor>& members = late_buckets_.emplace_back();
    for (const size_t index : bucket) members.push_back(late[index]);
  }
}

std::pair<int, int> Ddp::data_share() const { return {job_.world_size(), job_.rank()}; }

bool Ddp::syncs(const MicroStep& which) const { return which.last() || !options_.training.no_sync; }

double Ddp::loss_weight() const {
  return weight_ * job_.world_size() / static_cast<double>(ranks_with_data_);
}

bool Ddp::goes_on(bool has_data) {
  if (options_.data.uneven != Uneven::kJoin) return has_data;
  std::vector<torch::Tensor> going = {
      torch::full({1}, has_data ? 1 : 0,
                  torch::TensorOptions(parameters_.front().device()).dtype(torch::kInt64))};
  job_.group()->allreduce(going)->wait();
  ranks_with_data_ = going.front().item<int64_t>();
  return ranks_with_data_ > 0;
}

// To the Reducer this backward pass looks normal: every parameter contributes to the loss, with
// zero elements.
void Ddp::join_update() {
  const MarkKind marks = options_.output.marks;
  torch::Tensor nothing = torch::zeros({}, parameters_.front().device());
  {
    const Mark mark(marks, kForwardMark);
    before_forward({});
    for (const torch::Tensor& parameter : parameters_) {
      nothing = nothing + parameter.reshape({-1}).slice(0, 0, 0).sum();
    }
  }
  {
    const Mark mark(marks, kBackwardMark);
    before_backward(nothing, {});
    nothing.backward();
  }
  after_backward({});
}

void Ddp::before_forward(const MicroStep& which) {
  if (reducer_) {
    try {
      // In every iteration: only this call detects a gradient missing in the previous one.
      reducer_->rebuild_buckets();
    } catch (const c10::Error& error) {
      refuse_unused(error.what_without_backtrace());
      throw;
    }
  }
  if (which.index == 0) broadcast_buffers(job_, buffers_);
  if (reducer_ && syncs(which)) reducer_->prepare_for_forward();
}

void Ddp::before_backward(const torch::Tensor& output, const MicroStep& which) {
  if (!reducer_ || !syncs(which)) return;
  reducer_->prepare_for_backward(options_.distribution.find_unused
                                     ? std::vector<torch::Tensor>{output}
                                     : std::vector<torch::Tensor>{});
}

void Ddp::after_backward(const MicroStep& which) {
  if (!syncs(which)) return;
  if (!reducer_) {
    average_late();
  } else if (delays_reduction_) {
    reducer_->delay_all_reduce();
    delays_reduction_ = false;
  }
}

void Ddp::average_late() {
  const Mark mark(options_.output.marks, kReduceMark);
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> sums;
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  for (const std::vector<torch::Tensor>& bucket : late_buckets_) {
    std::vector<torch::Tensor> gradients;
    for (const torch::Tensor& parameter : bucket) {
      const torch::Tensor& gradient = parameter.grad();
      gradients.push_back(
          (gradient.defined() ? gradient : torch::zeros_like(parameter)).reshape({-1}));
    }
    std::vector<torch::Tensor> sum = {torch::cat(gradients).div_(job_.world_size())};
    works.push_back(job_.group()->allreduce(sum));
    sums.push_back(sum.front());
  }
  for (size_t i = 0; i < late_buckets_.size(); ++i) {
    works[i]->wait();
    int64_t offset = 0;
    for (const torch::Tensor& parameter : late_buckets_[i]) {
      const torch::Tensor mean = sums[i].narrow(0, offset, parameter.numel());
      parameter.mutable_grad() = mean.view(parameter.sizes()).clone();
      offset += parameter.numel();
    }
  }
}

void Ddp::finish_gradients() {
  Replica::finish_gradients();
  unused_.clear();
  for (const auto& [name, parameter] : model().replicated_parameters()) {
    if (!parameter.grad().defined()) unused_ += (unused_.empty() ? "" : ", ") + name;
  }
}

// Replaces the Reducer's own long message about Python's DistributedDataParallel.
void Ddp::refuse_unused(const std::string& why) const {
  if (unused_.empty() || why.find("finished reduction") == std::string::npos) return;
  throw std::runtime_error(
      "the gradients of the step before were never averaged: no gradient came for " + unused_ +
      ", so that its bucket stayed incomplete\n"
      "hint: take parameters that no forward uses out of the model, or train with --find-unused");
}

std::pair<int, int> UnsyncedReplica::data_share() const {
  return {context().world_size(), context().rank()};
}

void UnsyncedReplica::finish() {
  Job& job = *context().job;
  const std::string own = checksum(model());
  job.publish("unsynced", own);
  for (int rank = 0; rank < job.world_size(); ++rank) {
    if (job.read("unsynced", rank) == own) continue;
    log_.info("the replicas differ: no gradient was averaged (mistake no-ddp)");
    return;
  }
}

}  // namespace dprof::trainer_harness
