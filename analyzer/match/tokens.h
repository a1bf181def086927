// SPDX-License-Identifier: Apache-2.0
// A call without its times: the properties that must agree between the members of one collective.
#pragma once

#include <string>

#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

[[nodiscard]] bool is_point_to_point(schema::Function function);

// It ended here, or its record says so without times.
[[nodiscard]] bool is_finished(const CollectiveRecord& record);

// The two cannot belong to one collective: function, element type, root, reduction or (where all
// must give the same) bytes differ. An unknown value never differs.
[[nodiscard]] bool in_conflict(const CollectiveRecord& a, const CollectiveRecord& b);

// Equal for calls of one kind: function, bytes (where all give the same), root.
[[nodiscard]] uint64_t token_of(const CollectiveRecord& record);

// "all_reduce 1048576 B float32", "broadcast 8 B root 0".
[[nodiscard]] std::string words_of(const CollectiveRecord& record);

}  // namespace dprof::analyzer
