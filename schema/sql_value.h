// SPDX-License-Identifier: Apache-2.0
// A value of SQLite whose type is not known in advance.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace dprof::schema {

// Bytes that are not readable as text: only their number.
struct SqlBlob {
  int64_t bytes = 0;
  friend bool operator==(const SqlBlob&, const SqlBlob&) = default;
};

// Null, integer, real, text, blob.
using SqlValue = std::variant<std::monostate, int64_t, double, std::string, SqlBlob>;

}  // namespace dprof::schema
