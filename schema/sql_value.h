// SPDX-License-Identifier: Apache-2.0
// A value as SQLite has them, when the type is not known before.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace dprof::schema {

// Bytes that nobody could read anyway: only how many.
struct SqlBlob {
  int64_t bytes = 0;
  friend bool operator==(const SqlBlob&, const SqlBlob&) = default;
};

// Null, integer, real, text, blob.
using SqlValue = std::variant<std::monostate, int64_t, double, std::string, SqlBlob>;

}  // namespace dprof::schema
