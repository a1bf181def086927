// SPDX-License-Identifier: Apache-2.0
// Payload schemas, copied to the recorder field by field as they are registered; the recorder
// stores them and the bytes, and readers of the trace decode them.
//
// Threading  any thread.
#pragma once

#include "collector/inject/nvtx/nvtx_abi.h"

namespace dprof::inject::nvtx {

// Returns the schema's id: the program's own, or the next free one. 0 while nothing is recorded.
uint64_t register_schema(DomainHandle domain, const SchemaAttributes* attributes) noexcept;

// Enumerations only get an id: their values stay numbers in the trace.
uint64_t register_enum(DomainHandle domain, const EnumAttributes* attributes) noexcept;

// Offsets of the fields of a schema, in order: the offset given by the program, else as a compiler
// would place them (nvToolsExtPayload.h: natural alignment, less if the struct is packed).
class SchemaLayout {
 public:
  // For a field whose offset depends on the data before it, or on a type of unknown size.
  static constexpr uint64_t kUnknown = ~uint64_t{0};

  // `pack_align` 0: not packed. All members of a union begin at its start.
  SchemaLayout(bool is_union, uint64_t pack_align) noexcept
      : is_union_(is_union), pack_align_(pack_align) {}

  // The offset of the next field.
  uint64_t place(const SchemaEntryAttributes& entry) noexcept;

 private:
  bool is_union_;
  uint64_t pack_align_;
  uint64_t end_ = 0;  // of the previous field, kUnknown if its size is unknown
};

// Bytes of a predefined scalar type, 0 = not known.
[[nodiscard]] uint64_t bytes_of_type(uint64_t type) noexcept;

}  // namespace dprof::inject::nvtx
