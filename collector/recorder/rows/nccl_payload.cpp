// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/nccl_payload.h"

#include <limits>
#include <utility>

namespace dprof::recorder {

using schema::Function;
using schema::Reduction;

namespace {

constexpr std::string_view kCommunicatorField = "NCCL communicator ID";
constexpr std::string_view kBytesField = "Message size [bytes]";
constexpr std::string_view kReductionField = "Reduction operation";
constexpr std::string_view kRootField = "Root";
constexpr std::string_view kPeerField = "Peer rank";
constexpr std::string_view kRanksField = "No. of ranks";
constexpr std::string_view kRankField = "Rank";

Function function_of(std::string_view range) {
  constexpr std::pair<std::string_view, Function> kFunctions[] = {
      {"ncclAllReduce", Function::kAllReduce}, {"ncclReduceScatter", Function::kReduceScatter},
      {"ncclAllGather", Function::kAllGather}, {"ncclBroadcast", Function::kBroadcast},
      {"ncclBcast", Function::kBroadcast},     {"ncclReduce", Function::kReduce},
      {"ncclGather", Function::kGather},       {"ncclScatter", Function::kScatter},
      {"ncclAlltoAll", Function::kAllToAll},   {"ncclAllToAll", Function::kAllToAll},
      {"ncclSend", Function::kSend},           {"ncclRecv", Function::kRecv},
  };
  for (const auto& [word, function] : kFunctions) {
    if (range == word) return function;
  }
  return Function::kUnknown;
}

// ncclRedOp_t; larger numbers are program-defined operations.
Reduction reduction_of(std::optional<int64_t> op) {
  if (!op) return Reduction::kNone;
  switch (*op) {
    case 0:
      return Reduction::kSum;
    case 1:
      return Reduction::kProduct;
    case 2:
      return Reduction::kMax;
    case 3:
      return Reduction::kMin;
    case 4:
      return Reduction::kAvg;
    default:
      return Reduction::kOther;
  }
}

// A rank, or a number of ranks; -1 for an impossible value.
int32_t small_number(std::optional<int64_t> value) {
  const bool fits = value && *value >= 0 && *value <= std::numeric_limits<int32_t>::max();
  return fits ? static_cast<int32_t>(*value) : -1;
}

}  // namespace

NvtxNccl read_nccl_payload(const PayloadSchemas::Schema& schema, std::string_view bytes,
                           std::string_view range) {
  const std::optional<int64_t> hash = integer_field(schema, bytes, kCommunicatorField);
  if (!hash || *hash == 0) return {};
  const std::optional<int64_t> ranks = integer_field(schema, bytes, kRanksField);
  if (ranks) {
    return NvtxNcclCommunicator{.hash = static_cast<uint64_t>(*hash),
                                .ranks = small_number(ranks),
                                .rank = small_number(integer_field(schema, bytes, kRankField))};
  }
  const Function function = function_of(range);
  if (function == Function::kUnknown) return {};
  const int64_t size = integer_field(schema, bytes, kBytesField).value_or(-1);
  return NvtxNcclCall{
      .hash = static_cast<uint64_t>(*hash),
      .message_bytes = size < 0 ? -1 : size,
      .root = small_number(integer_field(schema, bytes, kRootField)),
      .peer = small_number(integer_field(schema, bytes, kPeerField)),
      .function = function,
      .reduction = reduction_of(enum_field(schema, bytes, kReductionField)),
  };
}

}  // namespace dprof::recorder
