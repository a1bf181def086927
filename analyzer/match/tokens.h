// SPDX-License-Identifier: Apache-2.0
// A call without its time: the properties that must agree between members of one collective.
#pragma once

#include <string>

#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

[[nodiscard]] bool is_point_to_point(schema::Function function);

// It ended here, or what is recorded says so without its times.
[[nodiscard]] bool is_finished(const CollectiveRecord& record);

// Both cannot be parts of one collective: function, element type, bytes where all must give the
// same, root or reduction differ. What one of them does not know cannot differ.
[[nodiscard]] bool in_conflict(const CollectiveRecord& a, const CollectiveRecord& b);

// Equal for calls of one kind: function, bytes (where all give the same), root.
[[nodiscard]] uint64_t token_of(const CollectiveRecord& record);

// "all_reduce 1048576 B float32", "broadcast 8 B root 0".
[[nodiscard]] std::string words_of(const CollectiveRecord& record);

}  // namespace dprof::analyzer
