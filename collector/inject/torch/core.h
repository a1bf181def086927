// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of libdprof_torch.so: the table from libdprof.so, and the beginning of a
// record.
//
// Threading  `core` is set once, before a hook of ours is installed; the rest is for any thread.
#pragma once

#include <cstring>
#include <string_view>

#include "collector/inject/core_api.h"
#include "collector/inject/hot_bits.h"

namespace dprof::inject::torch_source {

extern constinit const CoreApi* core;

// All of `bits` are on in the mask that hooks test.
[[nodiscard]] inline bool recording(uint32_t bits) noexcept {
  return (core->mask->load(std::memory_order_relaxed) & bits) == bits;
}

[[nodiscard]] inline bool starts_with(const char* text, std::string_view prefix) noexcept {
  return strncmp(text, prefix.data(), prefix.size()) == 0;
}

[[nodiscard]] inline wire::Record record_of(wire::Kind kind) noexcept {
  wire::Record record{};
  record.kind = kind;
  record.slots = 1;
  return record;
}

// A record of a kind that has no member in the union.
template <typename Body>
[[nodiscard]] wire::Record record_of(wire::Kind kind, const Body& body) noexcept {
  wire::Record record = record_of(kind);
  wire::set_body(record, body);
  return record;
}

}  // namespace dprof::inject::torch_source
