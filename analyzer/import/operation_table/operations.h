// SPDX-License-Identifier: Apache-2.0
// The meaning of the names in an operation table's rows.
#pragma once

#include <cstdint>
#include <string_view>

#include "analyzer/match/result.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer::operation_table {

// The partners of an operation.
enum class With : uint8_t {
  kNobody,     // computation
  kNext,       // the next stage of the pipeline
  kPrevious,   // the previous stage
  kReplicas,   // the same stage and tensor rank of all data-parallel ranks
  kTensor,     // the tensor-parallel ranks of a stage
  kEmbedding,  // the first and the last stage: they share the embedding
  kWorld,
};

struct Operation {
  std::string_view name;
  With with = With::kNobody;
  schema::Function function{};  // for communication
  std::string_view range;       // for computation: its name in a trace (schema/marker_names.h)
  std::string_view also = {};   // a second operation of the same row
};

// nullptr = unknown. O(number of operations).
[[nodiscard]] const Operation* operation_of(std::string_view name);

}  // namespace dprof::analyzer::operation_table
