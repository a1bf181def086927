// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/torch/collective_ops.h"

#include "collector/wire/enum_values.h"

namespace dprof::inject::torch_source {
namespace {

constexpr CollectiveOp kOps[] = {
    {"allreduce_", wire::function::kAllReduce, 0, -1, -1, -1},
    {"allreduce_coalesced_", wire::function::kAllReduce, 0, -1, -1, -1},
    {"broadcast_", wire::function::kBroadcast, 0, -1, 2, -1},
    {"allgather_", wire::function::kAllGather, 1, -1, -1, -1},
    {"_allgather_base_", wire::function::kAllGather, 1, -1, -1, -1},
    {"allgather_coalesced_", wire::function::kAllGather, 1, -1, -1, -1},
    {"allgather_into_tensor_coalesced_", wire::function::kAllGather, 1, -1, -1, -1},
    {"reduce_scatter_", wire::function::kReduceScatter, 1, -1, -1, -1},
    {"_reduce_scatter_base_", wire::function::kReduceScatter, 1, -1, -1, -1},
    {"reduce_scatter_tensor_coalesced_", wire::function::kReduceScatter, 1, -1, -1, -1},
    {"reduce_", wire::function::kReduce, 0, -1, 3, -1},
    {"gather_", wire::function::kGather, 1, -1, 3, -1},
    {"scatter_", wire::function::kScatter, 1, 0, 3, -1},
    {"alltoall_", wire::function::kAllToAll, 1, -1, -1, -1},
    {"alltoall_base_", wire::function::kAllToAll, 1, -1, -1, -1},
    {"barrier", wire::function::kBarrier, -1, -1, -1, -1},
    {"monitored_barrier_", wire::function::kBarrier, -1, -1, -1, -1},
    {"send", wire::function::kSend, 0, -1, -1, 2},
    {"recv_", wire::function::kRecv, 0, -1, -1, 2},
    {"recv_any_source_", wire::function::kRecv, 0, -1, -1, -1},
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
