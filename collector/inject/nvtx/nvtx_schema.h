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

// Where a field of that type lies that has no offset of its own, behind one that ends at `end`.
[[nodiscard]] uint64_t naturally_aligned(uint64_t end, uint64_t type) noexcept;

// Bytes of a predefined scalar type, 0 = not known.
[[nodiscard]] uint64_t bytes_of_type(uint64_t type) noexcept;

}  // namespace dprof::inject::nvtx
