// SPDX-License-Identifier: Apache-2.0
// A C++ LibTorch program to be recorded, for torch_source_test.cpp: marked ranges, a backward pass,
// and each collective of a Gloo group of two ranks, here two threads. It starts at an input line,
// so that the test knows what the collector had installed by then; `throw` ends it with an uncaught
// exception.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/generated/variable_factories.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace {

using Group = c10::intrusive_ptr<c10d::ProcessGroup>;
using Tensors = std::vector<at::Tensor>;

void meet_test() {
  printf("ready\n");
  fflush(stdout);
  char line[64];
  if (fgets(line, sizeof line, stdin) == nullptr) exit(9);
  if (strcmp(line, "throw\n") == 0) printf("%d", std::stoi("no number"));
}

void local_work() {
  const at::Tensor weight = torch::ones({4, 4}, at::TensorOptions().requires_grad(true));
  RECORD_USER_SCOPE("step");
  at::Tensor loss;
  {
    RECORD_USER_SCOPE("forward");
    loss = weight.mul(2).sum();
  }
  loss.backward();
}

Group make_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, const char* name) {
  auto prefixed = c10::make_intrusive<c10d::PrefixStore>(name, store);
  auto group = c10::make_intrusive<c10d::ProcessGroup>(prefixed, rank, 2);
  auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(30));
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  options->global_ranks_in_group = {3, 5};  // like new_group([3, 5])
  group->setDefaultBackend(c10d::ProcessGroup::GLOO);
  group->setBackend(at::kCPU, c10d::ProcessGroup::GLOO,
                    c10::make_intrusive<c10d::ProcessGroupGloo>(prefixed, rank, 2, options));
  group->setGroupName(name);
  return group;
}

void collectives(const Group& group, int rank) {
  Tensors one = {at::ones({8})};
  Tensors half = {at::ones({4})};
  std::vector<Tensors> pair = {{at::ones({8}), at::ones({8})}};
  c10d::AllreduceOptions maximum;
  maximum.reduceOp = c10d::ReduceOp::MAX;
  group->allreduce(one, maximum)->wait();
  Tensors halves = {at::ones({16}, at::kHalf)};
  group->allreduce(halves)->wait();
  c10d::BroadcastOptions from_one;
  from_one.rootRank = 1;
  group->broadcast(one, from_one)->wait();
  group->allgather(pair, one)->wait();
  c10d::ReduceOptions to_one;
  to_one.rootRank = 1;
  group->reduce(one, to_one)->wait();
  group->_reduce_scatter_base(half[0], one[0])->wait();
  std::vector<Tensors> parts;
  if (rank == 0) parts = {{at::ones({8}), at::ones({8})}};
  group->scatter(one, parts)->wait();
  std::vector<Tensors> gathered;
  if (rank == 0) gathered = {{at::ones({8}), at::ones({8})}};
  group->gather(gathered, one)->wait();
  std::vector<int64_t> even;
  at::Tensor exchanged = at::ones({8});
  group->alltoall_base(exchanged, one[0], even, even)->wait();
  if (rank == 0) {
    group->send(one, 1, 3)->wait();
  } else {
    group->recv(one, 0, 3)->wait();
  }
  group->barrier()->wait();
}

}  // namespace

int main() {
  meet_test();
  local_work();
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&store, rank] {
      const Group group = make_group(store, rank, "the group");
      collectives(group, rank);
    });
  }
  for (std::thread& one : ranks) one.join();
  meet_test();
  local_work();
  return 0;
}
