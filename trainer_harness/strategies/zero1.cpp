// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/zero1.h"

#include <algorithm>
#include <numeric>

#include "trainer_harness/strategies/sharded_parameters.h"

namespace dprof::trainer_harness {
namespace {

// Largest tensor first, each to the least loaded rank so far.
std::vector<int> share_by_size(const std::vector<torch::Tensor>& parameters, int ranks) {
  std::vector<size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](size_t index) { return parameters[index].numel(); });
  std::vector<int64_t> loads(static_cast<size_t>(ranks));
  std::vector<int> owners(parameters.size());
  for (const size_t index : order) {
    const auto least = std::ranges::min_element(loads);
    *least += parameters[index].numel();
    owners[index] = static_cast<int>(least - loads.begin());
  }
  return owners;
}

}  // namespace

Zero1::Zero1(Context& context)
    : Ddp(context), owners_(share_by_size(parameters(), job().world_size())) {}

std::vector<torch::Tensor> Zero1::updated_parameters() {
  std::vector<torch::Tensor> own;
  for (size_t i = 0; i < owners_.size(); ++i) {
    if (owners_[i] == job().rank()) own.push_back(parameters()[i]);
  }
  return own;
}

torch::Tensor Zero1::over_all_parameters(torch::Tensor value, bool largest) {
  return over_ranks(job(), std::move(value), largest);
}

void Zero1::finish_update() {
  const torch::NoGradGuard no_grad;
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
  for (size_t i = 0; i < owners_.size(); ++i) {
    std::vector<torch::Tensor> parameter = {parameters()[i]};
    c10d::BroadcastOptions options;
    options.rootRank = owners_[i];
    works.push_back(job().group()->broadcast(parameter, options));
  }
  for (const auto& work : works) work->wait();
}

}  // namespace dprof::trainer_harness
