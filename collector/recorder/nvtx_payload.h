// SPDX-License-Identifier: Apache-2.0
// Reads the fields of NVTX payloads by the schemas that the program registered. Schema ids are
// unique per domain only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/wire/record.h"

namespace dprof::recorder {

// Everything is untrusted: offsets, types and sizes are checked at each read.
//
// Threading  one thread.
class PayloadSchemas {
 public:
  struct Field {
    std::string name;
    uint64_t type = 0;  // NVTX_PAYLOAD_ENTRY_TYPE_*
    uint64_t offset = 0;
    uint64_t detail = 0;  // array length
  };
  struct Schema {
    std::string name;
    std::vector<Field> fields;
  };

  void add(const wire::SchemaEntry& entry, std::string_view schema_name,
           std::string_view field_name);
  [[nodiscard]] const Schema* find(uint32_t domain, uint64_t schema_id) const;

 private:
  static constexpr size_t kMostSchemas = 4096;
  static constexpr size_t kMostFields = 256;
  std::map<std::pair<uint32_t, uint64_t>, Schema> schemas_;
};

// The field of that name as a number; nullopt where there is none, it is no integer, or the payload
// is too short.
[[nodiscard]] std::optional<int64_t> integer_field(const PayloadSchemas::Schema& schema,
                                                   std::string_view bytes, std::string_view name);
// The same as text, of a fixed-size character array or a pointer-free string field.
[[nodiscard]] std::optional<std::string> text_field(const PayloadSchemas::Schema& schema,
                                                    std::string_view bytes, std::string_view name);

}  // namespace dprof::recorder
