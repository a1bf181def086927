// SPDX-License-Identifier: Apache-2.0
// The vocabulary in which the tables of a trace are declared: a table is data, from which DDL, C++
// row types, views and the reference page are generated.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dprof::schema {

enum class Type : uint8_t { kInteger, kText, kBlob, kEnum };

enum class Unit : uint8_t {
  kNone,
  kTraceNs,     // ns since the run's origin, on the recording host's clock
  kDurationNs,  // ns
  kRealtimeNs,  // ns since 1970, CLOCK_REALTIME
  kBytes,
  kCount,
  kTicks,  // of the clock that meta names
};

enum class Null : uint8_t { kNever, kAllowed };

struct Column {
  std::string_view name;
  Type type;
  Unit unit;
  int since;             // schema version that added it
  std::string_view doc;  // one sentence
  Null null = Null::kNever;
  std::string_view refers =
      {};  // kEnum: the enumeration's name; `_id` columns: the table that the id belongs to
};

struct Table {
  std::string_view name;
  std::string_view row_type;  // C++ name of the row struct
  std::string_view key;       // column that is the INTEGER PRIMARY KEY, empty for none
  std::string_view order;     // order of the rows
  std::span<const Column> columns;
  std::string_view doc;
  int since = 1;  // schema version that added it
  std::string_view rows_in =
      {};  // table behind it, where it is a public view (schema/packed_collective.h)
};

struct EnumValue {
  int64_t value;
  std::string_view word;  // as in text views and in JSON
  std::string_view doc;
};

struct Enumeration {
  std::string_view name;  // C++ type
  std::span<const EnumValue> values;
  std::string_view doc;
};

// A key of the `meta` table.
struct MetaKey {
  std::string_view key;
  std::string_view doc;
};

}  // namespace dprof::schema
