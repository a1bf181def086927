// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/operation_table/operations.h"

#include <algorithm>

namespace dprof::analyzer::operation_table {
namespace {

using schema::Function;

constexpr std::string_view kForward = "stage_forward";
constexpr std::string_view kBackward = "stage_backward";

// Megatron's operations, named as by its timers.
constexpr Operation kOperations[] = {
    {"forward-compute", With::kNobody, Function::kUnknown, kForward},
    {"backward-compute", With::kNobody, Function::kUnknown, kBackward},
    {"backward-wgrad-compute", With::kNobody, Function::kUnknown, kBackward},
    {"optimizer", With::kNobody, Function::kUnknown, "optimizer"},
    {"optimizer-inner-step", With::kNobody, Function::kUnknown, "optimizer"},
    {"data-load", With::kNobody, Function::kUnknown, "input"},
    {"data-sync", With::kNobody, Function::kUnknown, "input"},
    {"gc", With::kNobody, Function::kUnknown, "gc"},
    {"forward-send", With::kNext, Function::kSend, {}},
    {"forward-recv", With::kPrevious, Function::kRecv, {}},
    {"backward-send", With::kPrevious, Function::kSend, {}},
    {"backward-recv", With::kNext, Function::kRecv, {}},
    {"forward-send-backward-recv", With::kNext, Function::kSend, {}, "backward-recv"},
    {"backward-send-forward-recv", With::kPrevious, Function::kSend, {}, "forward-recv"},
    {"params-all-gather", With::kReplicas, Function::kAllGather, {}},
    {"params-all-gather-nonoverlapping", With::kReplicas, Function::kAllGather, {}},
    {"grads-reduce-scatter", With::kReplicas, Function::kReduceScatter, {}},
    {"grads-reduce-scatter-nonoverlapping", With::kReplicas, Function::kReduceScatter, {}},
    {"separate-grads-all-reduce", With::kReplicas, Function::kAllReduce, {}},
    {"layernorm-grads-all-reduce", With::kTensor, Function::kAllReduce, {}},
    {"tp-allreduce", With::kTensor, Function::kAllReduce, {}},
    {"tp-allgather", With::kTensor, Function::kAllGather, {}},
    {"tp-reducescatter", With::kTensor, Function::kReduceScatter, {}},
    {"embedding-grads-all-reduce", With::kEmbedding, Function::kAllReduce, {}},
    // The norm of all gradients: every rank waits for all others.
    {"optimizer-clip-main-grad", With::kWorld, Function::kAllReduce, {}},
};

}  // namespace

const Operation* operation_of(std::string_view name) {
  const auto* const known = std::ranges::find(kOperations, name, &Operation::name);
  return known == std::end(kOperations) ? nullptr : known;
}

}  // namespace dprof::analyzer::operation_table
