// SPDX-License-Identifier: Apache-2.0
// Reads the fields of NVTX payloads by the schemas that the program registered. Schema ids are
// unique only within a domain.
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

// All input is untrusted: offsets, types and sizes are checked at each read, and storage is
// bounded.
//
// Threading  one thread.
class PayloadSchemas {
 public:
  struct Field {
    std::string name;
    uint64_t type = 0;  // NVTX_PAYLOAD_ENTRY_TYPE_*, or the id of a schema or enumeration
    uint64_t offset = 0;
    uint64_t detail = 0;  // array length
    uint32_t flags = 0;   // NVTX_PAYLOAD_ENTRY_FLAG_*
  };
  struct Schema {
    std::string name;
    std::vector<Field> fields;  // a field not registered (yet) has no name
  };

  // One field of a schema; a repeated one replaces that of the same index. False: not kept, because
  // it is invalid or there are too many.
  bool add(const wire::SchemaEntry& entry, std::string_view schema_name,
           std::string_view field_name);
  // `domain` and `schema_id` as in the records; nullptr if it was not registered.
  [[nodiscard]] const Schema* find(uint32_t domain, uint64_t schema_id) const;

 private:
  static constexpr size_t kMostSchemas = 4096;
  static constexpr size_t kMostFields = 256;  // of one schema
  static constexpr size_t kMostFieldsInAll = 65536;
  static constexpr size_t kMostNameBytes = 256;  // longer ones are cut
  std::map<std::pair<uint32_t, uint64_t>, Schema> schemas_;
  size_t fields_ = 0;  // of all schemas
};

// The field of that name as a number; nullopt if there is none, it is no integer, or the payload is
// too short. An unsigned 64-bit value keeps its bits.
[[nodiscard]] std::optional<int64_t> integer_field(const PayloadSchemas::Schema& schema,
                                                   std::string_view bytes, std::string_view name);
// The same for a field with a registered enumeration type: 32 bits.
[[nodiscard]] std::optional<int64_t> enum_field(const PayloadSchemas::Schema& schema,
                                                std::string_view bytes, std::string_view name);
// The same as text, of a character array or string inside the payload itself (fixed size, up to its
// first 0; or zero-terminated). Never of a pointer.
[[nodiscard]] std::optional<std::string> text_field(const PayloadSchemas::Schema& schema,
                                                    std::string_view bytes, std::string_view name);

}  // namespace dprof::recorder
