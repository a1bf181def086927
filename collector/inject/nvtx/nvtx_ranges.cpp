// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nvtx/nvtx_ranges.h"

#include <cstring>

#include "collector/inject/threads.h"
#include "collector/wire/enum_values.h"

namespace dprof::inject::nvtx {
namespace {

constexpr uint32_t kMaxPayload = (wire::kMaxSlots - 1) * wire::kSlotBytes;
constexpr uint64_t kRingOfRange = 48;  // a range's id: ring in the upper bits, counter below

// The thread's state if NVTX is recorded now, else null.
ThreadState* recording() noexcept {
  const uint32_t mask = hot_mask();
  if ((mask & kMaskNvtx) == 0) [[likely]]
    return nullptr;
  ThreadState* thread = current_thread();
  if (thread != nullptr) thread->nvtx_open.follow(mask);
  return thread;
}

// UTF-8 of a wide text, cut to the buffer.
size_t utf8_of(const wchar_t* from, char* to, size_t capacity) noexcept {
  size_t used = 0;
  for (; *from != 0 && used + 4 <= capacity; ++from) {
    const auto code = static_cast<uint32_t>(*from);
    if (code < 0x80) {
      to[used++] = static_cast<char>(code);
    } else if (code < 0x800) {
      to[used++] = static_cast<char>(0xc0 | code >> 6);
      to[used++] = static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      to[used++] = static_cast<char>(0xe0 | code >> 12);
      to[used++] = static_cast<char>(0x80 | (code >> 6 & 0x3f));
      to[used++] = static_cast<char>(0x80 | (code & 0x3f));
    } else {
      to[used++] = static_cast<char>(0xf0 | (code >> 18 & 0x07));
      to[used++] = static_cast<char>(0x80 | (code >> 12 & 0x3f));
      to[used++] = static_cast<char>(0x80 | (code >> 6 & 0x3f));
      to[used++] = static_cast<char>(0x80 | (code & 0x3f));
    }
  }
  return used;
}

[[gnu::noinline]] uint32_t wide_id(const wchar_t* text) noexcept {
  char buffer[wire::kMaxTextBytes];
  return text != nullptr ? intern(runtime.mapping, buffer, utf8_of(text, buffer, sizeof buffer))
                         : 0;
}

uint32_t id_on(ThreadState& thread, const Message& message) noexcept {
  if (message.type == kMessageRegistered) return id_of_handle(message.registered);
  if (message.type == kMessageAscii) return thread.texts.id_of(runtime.mapping, message.ascii);
  return message.type == kMessageUnicode ? wide_id(message.unicode) : 0;
}

// Contents of the continuation slots.
struct Blob {
  const void* data = nullptr;
  uint32_t bytes = 0;
};

// A payload with a schema. One fits in a record: a longer one, or more than one, is cut and
// flagged.
template <typename Fields>
Blob take_payload(const PayloadData* payloads, size_t count, Fields& fields) noexcept {
  if (payloads == nullptr || count == 0 || payloads->payload == nullptr) return {};
  const bool unknown_size = payloads->size == SIZE_MAX;
  const bool cut = count > 1 || unknown_size || payloads->size > kMaxPayload;
  const uint32_t bytes = unknown_size                   ? 0
                         : payloads->size > kMaxPayload ? kMaxPayload
                                                        : static_cast<uint32_t>(payloads->size);
  fields.payload_kind = wire::payload_kind::kSchema;
  fields.schema_id = payloads->schema_id;
  fields.payload = bytes;
  if (cut) {
    fields.has = static_cast<uint8_t>(fields.has | wire::kPayloadCut);
    wire::count_loss(
        runtime.mapping.header()->losses[static_cast<uint32_t>(wire::SharedLoss::kTextCut)],
        ticks());
  }
  return {payloads->payload, bytes};
}

wire::Record begin_record(uint8_t category, DomainHandle domain) noexcept {
  wire::Record record{};
  record.kind = wire::Kind::kRangeBegin;
  record.slots = 1;
  record.range_begin = {};
  record.range_begin.sequence = -1;
  record.range_begin.domain = id_of_handle(domain);
  record.range_begin.category = category;
  record.range_begin.source = wire::source::kNvtx;
  return record;
}

// Name, colour, category and payload of an event. The struct comes from the program: only the part
// covered by its size is read.
Blob describe(ThreadState& thread, const EventAttributes* event, wire::Record& record) noexcept {
  if (event == nullptr || event->size < sizeof(EventAttributes)) return {};
  wire::RangeBegin& fields = record.range_begin;
  Message message{event->message_type, {}};
  message.ascii = event->message.ascii;
  record.string = id_on(thread, message);
  if (event->color_type == kColorArgb) {
    fields.color = event->color;
    fields.has |= wire::kHasColor;
  }
  if (event->category != 0) {
    fields.nvtx_category = event->category;
    fields.has |= wire::kHasNvtxCategory;
  }
  if (event->payload_type >= 1 && event->payload_type <= kPayloadLast) {
    fields.payload_kind = static_cast<uint8_t>(event->payload_type);
    fields.payload = event->payload;
  } else if (event->payload_type == kPayloadExtended) {
    return take_payload(reinterpret_cast<const PayloadData*>(event->payload),
                        event->reserved > 0 ? static_cast<size_t>(event->reserved) : 0, fields);
  }
  return {};
}

bool write_begin(ThreadState& thread, wire::Record& record, Blob blob) noexcept {
  record.ticks = ticks();
  return blob.bytes == 0 ? thread.writer.push(record)
                         : thread.writer.push(record, blob.data, blob.bytes);
}

void forget_payload(wire::RangeEnd& end) noexcept {
  end.payload_kind = 0;
  end.payload = 0;
  end.schema_id = 0;
  end.has = static_cast<uint8_t>(end.has & ~wire::kPayloadCut);
}

void write_end(ThreadState& thread, uint64_t at, uint8_t category, DomainHandle domain,
               uint64_t key, const PayloadData* payloads, size_t count) noexcept {
  wire::Record record{};
  record.kind = wire::Kind::kRangeEnd;
  record.slots = 1;
  record.ticks = at;
  record.range_end = {};
  record.range_end.key = key;
  record.range_end.domain = id_of_handle(domain);
  record.range_end.category = category;
  const Blob blob = take_payload(payloads, count, record.range_end);
  const bool whole =
      blob.bytes != 0 && thread.writer.push(record, blob.data, blob.bytes, wire::Room::kNamedEnd);
  if (whole) return;
  // Without its payload, which is counted as lost, rather than not at all.
  if (blob.bytes != 0) forget_payload(record.range_end);
  thread.writer.push(record, key == 0 ? wire::Room::kNestedEnd : wire::Room::kNamedEnd);
}

// The three ways to describe an event.
struct FromMessage {
  const Message& message;
  Blob operator()(ThreadState& thread, wire::Record& record) const noexcept {
    record.string = id_on(thread, message);
    return {};
  }
};
struct FromAttributes {
  const EventAttributes* event;
  Blob operator()(ThreadState& thread, wire::Record& record) const noexcept {
    return describe(thread, event, record);
  }
};
struct FromPayload {
  const PayloadData* payloads;
  size_t count;
  Blob operator()(ThreadState&, wire::Record& record) const noexcept {
    return take_payload(payloads, count, record.range_begin);
  }
};

// HOT PATH, on training threads. Budget: p50 <= 60 ns (bench/ring_write.cpp).
template <typename Describe>
void push_range(DomainHandle domain, const Describe& describe_into) noexcept {
  ThreadState* thread = recording();
  if (thread == nullptr) return;
  const HookTimer timer(*thread);
  wire::Record record = begin_record(wire::range_category::kNvtx, domain);
  const Blob blob = describe_into(*thread, record);
  thread->nvtx_open.push(id_of_handle(domain), write_begin(*thread, record, blob));
}

template <typename Describe>
RangeId start_range(DomainHandle domain, const Describe& describe_into) noexcept {
  ThreadState* thread = recording();
  if (thread == nullptr) return 0;
  const HookTimer timer(*thread);
  const RangeId id = (uint64_t{thread->ring} + 1) << kRingOfRange | ++thread->ranges;
  wire::Record record = begin_record(wire::range_category::kNvtxProcess, domain);
  record.range_begin.key = id;
  const Blob blob = describe_into(*thread, record);
  return write_begin(*thread, record, blob) ? id : 0;
}

template <typename Describe>
void write_mark(DomainHandle domain, const Describe& describe_into) noexcept {
  ThreadState* thread = recording();
  if (thread == nullptr) return;
  const HookTimer timer(*thread);
  wire::Record record = begin_record(wire::range_category::kNvtxMark, domain);
  const Blob blob = describe_into(*thread, record);
  write_begin(*thread, record, blob);
}

}  // namespace

uint32_t text_id(const Message& message) noexcept {
  if (!session_alive()) return 0;
  if (message.type == kMessageUnicode) return wide_id(message.unicode);
  return message.type == kMessageAscii && message.ascii != nullptr
             ? intern(runtime.mapping, message.ascii, strlen(message.ascii))
             : 0;
}

void push(DomainHandle domain, const Message& message) noexcept {
  push_range(domain, FromMessage{message});
}
void push(DomainHandle domain, const EventAttributes* event) noexcept {
  push_range(domain, FromAttributes{event});
}
void push(DomainHandle domain, const PayloadData* payloads, size_t count) noexcept {
  push_range(domain, FromPayload{payloads, count});
}

// HOT PATH, on training threads. Budget: p50 <= 40 ns.
void pop(DomainHandle domain, const PayloadData* payloads, size_t count) noexcept {
  const uint32_t mask = hot_mask();
  if ((mask & kMaskNvtx) == 0) [[likely]]
    return;
  ThreadState* thread = thread_state;
  if (thread == nullptr) return;
  const HookTimer timer(*thread);
  const uint64_t at = ticks();
  thread->nvtx_open.follow(mask);
  if (!thread->nvtx_open.pop(id_of_handle(domain))) return;
  write_end(*thread, at, wire::range_category::kNvtx, domain, 0, payloads, count);
}

RangeId start(DomainHandle domain, const Message& message) noexcept {
  return start_range(domain, FromMessage{message});
}
RangeId start(DomainHandle domain, const EventAttributes* event) noexcept {
  return start_range(domain, FromAttributes{event});
}
RangeId start(DomainHandle domain, const PayloadData* payloads, size_t count) noexcept {
  return start_range(domain, FromPayload{payloads, count});
}

void end(DomainHandle domain, RangeId id, const PayloadData* payloads, size_t count) noexcept {
  if (id == 0) return;  // its start was not recorded
  ThreadState* thread = recording();
  if (thread == nullptr) return;
  const HookTimer timer(*thread);
  write_end(*thread, ticks(), wire::range_category::kNvtxProcess, domain, id, payloads, count);
}

void mark(DomainHandle domain, const Message& message) noexcept {
  write_mark(domain, FromMessage{message});
}
void mark(DomainHandle domain, const EventAttributes* event) noexcept {
  write_mark(domain, FromAttributes{event});
}
void mark(DomainHandle domain, const PayloadData* payloads, size_t count) noexcept {
  write_mark(domain, FromPayload{payloads, count});
}

void name_thread(uint32_t os_tid, const Message& message) noexcept {
  if (!session_alive()) return;
  ThreadState* thread = current_thread();
  if (thread == nullptr) return;
  wire::Record record{};
  record.kind = wire::Kind::kThreadName;
  record.slots = 1;
  record.string = text_id(message);
  record.ticks = ticks();
  record.thread_name = {};
  record.thread_name.os_tid = os_tid;
  thread->writer.push(record);
}

}  // namespace dprof::inject::nvtx
