// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/data_parallel.h"

#include <ATen/ThreadLocalState.h>
#include <torch/cuda.h>

#include <exception>

#include "trainer_harness/techniques/markers.h"

namespace dprof::trainer_harness {
namespace {

std::vector<torch::Device> devices_of(const Context& context) {
  if (!context.device.is_cuda()) {
    return std::vector<torch::Device>(static_cast<size_t>(context.options.distribution.dp_replicas),
                                      context.device);
  }
  std::vector<torch::Device> devices = {context.device};
  for (c10::DeviceIndex i = 0; i < torch::cuda::device_count(); ++i) {
    const torch::Device device(torch::kCUDA, i);
    if (device != context.device) devices.push_back(device);
  }
  return devices;
}

void copy_all(const std::vector<torch::Tensor>& from, const std::vector<torch::Tensor>& to) {
  for (size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
}

}  // namespace

DataParallel::DataParallel(Context& context) : Replica(context), devices_(devices_of(context)) {
  for (size_t i = 1; i < devices_.size(); ++i) {
    copies_.push_back(std::dynamic_pointer_cast<Model>(model().clone(devices_[i])));
  }
  threads_ = std::make_unique<c10::ThreadPool>(static_cast<int>(devices_.size()));
}

Model& DataParallel::replica(size_t index) { return index == 0 ? model() : *copies_[index - 1]; }

void DataParallel::replicate() {
  const Mark mark(context().options.output.marks, kReplicateMark);
  const torch::NoGradGuard no_grad;
  for (const std::shared_ptr<Model>& copy : copies_) {
    copy_all(model().parameters(), copy->parameters());
    copy_all(model().buffers(), copy->buffers());
    copy->zero_grad();
  }
}

torch::Tensor DataParallel::run_model(const torch::Tensor& input) {
  replicate();
  const std::vector<torch::Tensor> parts =  // a small batch gives fewer parts than devices
      input.chunk(static_cast<int64_t>(devices_.size()));
  std::vector<torch::Tensor> outputs(parts.size());
  std::vector<std::exception_ptr> errors(parts.size());
  const at::ThreadLocalState state;  // grad mode and autocast, which are thread-local
  for (size_t i = 0; i < parts.size(); ++i) {
    threads_->run([&, i] {
      try {
        const at::ThreadLocalStateGuard as_in_the_training_thread(state);
        const Precision::Autocast autocast = context().precision.autocast(devices_[i]);
        outputs[i] = replica(i).forward(parts[i].to(devices_[i]));
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  threads_->waitWorkComplete();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  const Mark mark(context().options.output.marks, kGatherMark);
  for (torch::Tensor& output : outputs) output = output.to(devices_.front());
  return torch::cat(outputs);
}

void DataParallel::after_backward(const MicroStep&) {
  const Mark mark(context().options.output.marks, kReduceMark);
  const torch::NoGradGuard no_grad;
  const std::vector<torch::Tensor> sums = model().parameters();
  for (const std::shared_ptr<Model>& copy : copies_) {
    const std::vector<torch::Tensor> parameters = copy->parameters();
    for (size_t i = 0; i < sums.size(); ++i) {
      const torch::Tensor& part = parameters[i].grad();
      if (!part.defined()) continue;
      torch::Tensor& sum = sums[i].mutable_grad();
      sum = sum.defined() ? sum.add_(part.to(devices_.front())) : part.to(devices_.front()).clone();
    }
  }
}

}  // namespace dprof::trainer_harness
