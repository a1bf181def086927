// SPDX-License-Identifier: Apache-2.0
// Payload schemas, copied to the recorder field by field as they are registered; the recorder keeps
// them and the bytes, and whoever reads the trace decodes.
//
// Threading  any thread.
#pragma once

#include "collector/inject/nvtx/nvtx_abi.h"

namespace dprof::inject::nvtx {

// Returns the schema's id: the program's own, or the next free one. 0 when nothing is recorded.
uint64_t register_schema(DomainHandle domain, const SchemaAttributes* attributes) noexcept;

// Enumerations only get their id: their values stay numbers in the trace.
uint64_t register_enum(DomainHandle domain, const EnumAttributes* attributes) noexcept;

// Where the fields of a schema lie, in their order: at the offset that the program gave, else as a
// compiler would put them (nvToolsExtPayload.h: natural alignment, less where the struct is
// packed).
class SchemaLayout {
 public:
  // Of a field whose place depends on the data before it, or on a type of unknown size.
  static constexpr uint64_t kUnknown = ~uint64_t{0};

  // `pack_align` 0: not packed. The members of a union all begin where it does.
  SchemaLayout(bool is_union, uint64_t pack_align) noexcept
      : is_union_(is_union), pack_align_(pack_align) {}

  // The offset of the next field.
  uint64_t place(const SchemaEntryAttributes& entry) noexcept;

 private:
  bool is_union_;
  uint64_t pack_align_;
  uint64_t end_ = 0;  // of the field before, kUnknown where its size is not known
};

// Bytes of a predefined scalar type, 0 = not known.
[[nodiscard]] uint64_t bytes_of_type(uint64_t type) noexcept;

}  // namespace dprof::inject::nvtx
