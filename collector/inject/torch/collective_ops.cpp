// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/torch/collective_ops.h"

#include "collector/wire/enum_values.h"

namespace dprof::inject::torch_source {
namespace {

using namespace wire::function;

constexpr CollectiveOp kOps[] = {
    {"allreduce_", kAllReduce, 0, -1, -1, -1},
    {"allreduce_coalesced_", kAllReduce, 0, -1, -1, -1},
    {"broadcast_", kBroadcast, 0, -1, 2, -1},
    {"allgather_", kAllGather, 1, -1, -1, -1},
    {"_allgather_base_", kAllGather, 1, -1, -1, -1},
    {"allgather_coalesced_", kAllGather, 1, -1, -1, -1},
    {"allgather_into_tensor_coalesced_", kAllGather, 1, -1, -1, -1},
    {"reduce_scatter_", kReduceScatter, 1, -1, -1, -1},
    {"_reduce_scatter_base_", kReduceScatter, 1, -1, -1, -1},
    {"reduce_scatter_tensor_coalesced_", kReduceScatter, 1, -1, -1, -1},
    {"reduce_", kReduce, 0, -1, 3, -1},
    {"gather_", kGather, 1, -1, 3, -1},
    {"scatter_", kScatter, 1, 0, 3, -1},
    {"alltoall_", kAllToAll, 1, -1, -1, -1},
    {"alltoall_base_", kAllToAll, 1, -1, -1, -1},
    {"barrier", kBarrier, -1, -1, -1, -1},
    {"monitored_barrier_", kBarrier, -1, -1, -1, -1},
    {"send", kSend, 0, -1, -1, 2},
    {"recv_", kRecv, 0, -1, -1, 2},
    {"recv_any_source_", kRecv, 0, -1, -1, -1},
};

}  // namespace

const CollectiveOp* find_collective_op(std::string_view name) noexcept {
  if (!name.starts_with(kC10dPrefix)) return nullptr;
  name.remove_prefix(kC10dPrefix.size());
  for (const CollectiveOp& op : kOps) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

}  // namespace dprof::inject::torch_source
