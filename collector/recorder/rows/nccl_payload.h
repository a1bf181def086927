// SPDX-License-Identifier: Apache-2.0
// The payloads of NCCL's own NVTX ranges (domain "NCCL"; fields as NCCL names them since 2.22):
// calls at their push, communicators at the pop of their initialisation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "collector/recorder/rows/nvtx_payload.h"
#include "schema/generated/rows.h"

namespace dprof::recorder {

inline constexpr std::string_view kNcclDomain = "NCCL";

struct NvtxNcclCall {
  uint64_t hash = 0;
  int64_t message_bytes = -1;  // as NCCL counts, -1 = not known
  int32_t root = -1, peer = -1;
  schema::Function function{};
  schema::Reduction reduction{};
};
struct NvtxNcclCommunicator {
  uint64_t hash = 0;
  int32_t ranks = -1, rank = -1;
};
using NvtxNccl = std::variant<std::monostate, NvtxNcclCall, NvtxNcclCommunicator>;

// `range` is the range's name ("ncclAllReduce"). Empty if the payload has no communicator: then
// NCCL had none either, and refused the call.
[[nodiscard]] NvtxNccl read_nccl_payload(const PayloadSchemas::Schema& schema,
                                         std::string_view bytes, std::string_view range);

}  // namespace dprof::recorder
