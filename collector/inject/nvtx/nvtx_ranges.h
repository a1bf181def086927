// SPDX-License-Identifier: Apache-2.0
// NVTX events as records. Every function is a hook: it returns at once while NVTX is off.
//
// Threading  any thread of the program.
// Cost       off: one load and a return. On: budgets at the functions.
#pragma once

#include "collector/inject/nvtx/nvtx_abi.h"

namespace dprof::inject::nvtx {

// NVTX's "depths are not tracked", returned by push and pop.
inline constexpr int kNoPushPopTracking = -2;

// Text of an event: one of NVTX's three kinds.
struct Message {
  int32_t type;  // kMessage…
  union {
    const char* ascii;
    const wchar_t* unicode;
    StringHandle registered;
  };
};
[[nodiscard]] inline Message message_of(const char* text) noexcept {
  Message message{kMessageAscii, {}};
  message.ascii = text;
  return message;
}
[[nodiscard]] inline Message message_of(const wchar_t* text) noexcept {
  Message message{kMessageUnicode, {}};
  message.unicode = text;
  return message;
}

// A text's arena id; wide texts become UTF-8. 0 = none.
[[nodiscard]] uint32_t text_id(const Message& message) noexcept;

[[nodiscard]] inline uint32_t id_of_handle(const void* handle) noexcept {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle));
}

void push(DomainHandle domain, const Message& message) noexcept;
void push(DomainHandle domain, const EventAttributes* event) noexcept;
void push(DomainHandle domain, const PayloadData* payloads, size_t count) noexcept;
void pop(DomainHandle domain, const PayloadData* payloads, size_t count) noexcept;

[[nodiscard]] RangeId start(DomainHandle domain, const Message& message) noexcept;
[[nodiscard]] RangeId start(DomainHandle domain, const EventAttributes* event) noexcept;
[[nodiscard]] RangeId start(DomainHandle domain, const PayloadData* payloads,
                            size_t count) noexcept;
void end(DomainHandle domain, RangeId id, const PayloadData* payloads, size_t count) noexcept;

void mark(DomainHandle domain, const Message& message) noexcept;
void mark(DomainHandle domain, const EventAttributes* event) noexcept;
void mark(DomainHandle domain, const PayloadData* payloads, size_t count) noexcept;

void name_thread(uint32_t os_tid, const Message& message) noexcept;

}  // namespace dprof::inject::nvtx
