// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/sharded_parameters.h"

#include <stdexcept>

namespace dprof::trainer_harness {
namespace {

// Affects all tensors that share the storage, including views saved by autograd.
void resize_storage(const torch::Tensor& tensor, size_t bytes) {
  c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(storage->allocator()->allocate(bytes));
  storage->set_nbytes(bytes);
}

}  // namespace

ShardedParameters::ShardedParameters(std::vector<torch::Tensor> parameters, Job& job,
                                     bool whole_stays)
    : job_(job), parameters_(std::move(parameters)), whole_stays_(whole_stays) {
  const torch::NoGradGuard no_grad;
  int64_t elements = 0;
  for (const torch::Tensor& parameter : parameters_) {
    if (parameter.dtype() != parameters_.front().dtype()) {
      throw std::runtime_error(
          "parameters of several dtypes cannot lie in one tensor\n"
          "hint: train this model with --strategy ddp or zero1");
    }
    elements += parameter.numel();
  }
  const int64_t ranks = job_.world_size();
  piece_ = (elements + ranks - 1) / ranks;
  whole_ = torch::zeros({piece_ * ranks}, parameters_.front().options().requires_grad(false));
  lay_out();
  shard_ = whole_.narrow(0, job_.rank() * piece_, piece_);
  shard_ = whole_stays_ ? shard_.detach() : shard_.clone();
  shard_.set_requires_grad(true);
}

void ShardedParameters::lay_out() {
  int64_t offset = 0;
  for (torch::Tensor& parameter : parameters_) {
    const torch::Tensor place = whole_.narrow(0, offset, parameter.numel()).view(parameter.sizes());
    place.copy_(parameter);
    parameter.set_data(place);
    offset += parameter.numel();
  }
}

void ShardedParameters::gather() {
  const torch::NoGradGuard no_grad;
  if (!is_whole()) {
    resize_storage(whole_, static_cast<size_t>(whole_.numel()) * whole_.element_size());
  }
  torch::Tensor own = shard_.detach();
  job_.group()->_allgather_base(whole_, own)->wait();
}

void ShardedParameters::release() { resize_storage(whole_, 0); }

void ShardedParameters::start_reduction() {
  const torch::NoGradGuard no_grad;
  sums_ = torch::zeros({piece_ * job_.world_size()}, shard_.options().requires_grad(false));
  int64_t offset = 0;
  for (torch::Tensor& parameter : parameters_) {
    torch::Tensor& gradient = parameter.mutable_grad();
    if (gradient.defined()) {
      sums_.narrow(0, offset, parameter.numel()).view(parameter.sizes()).copy_(gradient);
    }
    gradient.reset();
    offset += parameter.numel();
  }
  sums_.div_(job_.world_size());
  mean_ = torch::empty({piece_}, sums_.options());
  reduction_ = job_.group()->_reduce_scatter_base(mean_, sums_);
}

void ShardedParameters::finish_reduction() {
  const torch::NoGradGuard no_grad;
  reduction_->wait();
  reduction_.reset();
  sums_.reset();
  torch::Tensor& gradient = shard_.mutable_grad();
  if (gradient.defined()) {
    gradient.add_(mean_);
  } else {
    gradient = mean_;
  }
  mean_.reset();
}

void ShardedParameters::take_over() {
  const torch::NoGradGuard no_grad;
  lay_out();
  if (!whole_stays_) shard_.copy_(whole_.narrow(0, job_.rank() * piece_, piece_));
}

torch::Tensor over_ranks(Job& job, torch::Tensor value, bool largest) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> values = {std::move(value)};
  c10d::AllreduceOptions options;
  options.reduceOp = largest ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
  job.group()->allreduce(values, options)->wait();
  return values.front();
}

}  // namespace dprof::trainer_harness
