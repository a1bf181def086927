// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nvtx/nvtx_schema.h"

#include <cstring>

#include "collector/inject/threads.h"

namespace dprof::inject::nvtx {
namespace {

constexpr size_t kMaxEntries = 256;  // more than any real schema; bounds a wrong count

// NVTX_PAYLOAD_ENTRY_TYPE_*: from CHAR to CHAR32, as this platform has them.
constexpr uint8_t kTypeBytes[] = {0,
                                  sizeof(char),
                                  sizeof(char),
                                  sizeof(short),
                                  sizeof(short),
                                  sizeof(int),
                                  sizeof(int),
                                  sizeof(long),
                                  sizeof(long),
                                  sizeof(long long),
                                  sizeof(long long),
                                  1,
                                  1,
                                  2,
                                  2,
                                  4,
                                  4,
                                  8,
                                  8,
                                  sizeof(float),
                                  sizeof(double),
                                  sizeof(long double),
                                  sizeof(size_t),
                                  sizeof(void*),
                                  sizeof(wchar_t),
                                  1,
                                  sizeof(char16_t),
                                  sizeof(char32_t)};

constexpr uint64_t kUnknown = SchemaLayout::kUnknown;
constexpr uint64_t kMostBytes = uint64_t{1} << 32;  // of a field; larger values are implausible

// Size and alignment of a field; `bytes` is kUnknown if it depends on the data, `align` 0 if
// unknown.
struct Room {
  uint64_t bytes;
  uint64_t align;
};

// Bytes per character of CSTRING, _UTF8, _UTF16, _UTF32; 0 for other types.
uint64_t bytes_of_character(uint64_t type) noexcept {
  constexpr uint64_t kBytes[] = {1, 1, 2, 4};
  constexpr uint64_t kFirst = 75;
  return type >= kFirst && type - kFirst < 4 ? kBytes[type - kFirst] : 0;
}

Room room_of(const SchemaEntryAttributes& entry) noexcept {
  if ((entry.flags & kEntryIsPointer) != 0) return {sizeof(void*), sizeof(void*)};
  const uint64_t array = entry.flags & kEntryArrayMask;
  const uint64_t character = bytes_of_character(entry.type);
  const uint64_t length = entry.array_or_union_detail;
  const bool fixed = array == kEntryFixedSize || (array == 0 && character != 0 && length != 0);
  // A string without a length is a pointer.
  const uint64_t element =
      character != 0 && (fixed || array != 0) ? character : bytes_of_type(entry.type);
  if (element == 0) return {kUnknown, 0};  // a nested schema, an enumeration
  if ((entry.flags & kEntryIsOffset) != 0 || (array != 0 && !fixed)) return {kUnknown, element};
  if (!fixed) return {element, element};
  return {length < kMostBytes / element ? length * element : kUnknown, element};
}

uint64_t aligned(uint64_t end, uint64_t align) noexcept {
  if (end == kUnknown) return kUnknown;
  if (align == 0) return end % alignof(uint64_t) == 0 ? end : kUnknown;
  return (end + align - 1) / align * align;
}

uint64_t sum(uint64_t offset, uint64_t bytes) noexcept {
  return offset > kMostBytes || bytes > kMostBytes ? kUnknown : offset + bytes;
}

constinit std::atomic<uint64_t> next_id = kSchemaIdDynamicStart;

uint32_t text(const char* name) noexcept {
  return name != nullptr ? intern(runtime.mapping, name, strlen(name)) : 0;
}

void write_entry(ThreadState& thread, const wire::SchemaEntry& fields, const char* name) noexcept {
  wire::Record record{};
  record.kind = wire::Kind::kSchemaEntry;
  record.slots = 1;
  record.string = text(name);
  record.ticks = ticks();
  record.schema_entry = fields;
  thread.writer.push(record);
}

}  // namespace

uint64_t bytes_of_type(uint64_t type) noexcept {
  if (type < sizeof kTypeBytes) return kTypeBytes[type];
  switch (type) {
    case 32:  // BYTE
      return 1;
    case 42:  // FLOAT16
    case 50:  // BF16
      return 2;
    case 43:  // FLOAT32
    case 52:  // TF32
    case 68:  // CATEGORY
    case 69:  // COLOR_ARGB
    case 71:  // PID_UINT32
    case 73:  // TID_UINT32
      return 4;
    case 44:  // FLOAT64
    case 70:  // SCOPE_ID
    case 72:  // PID_UINT64
    case 74:  // TID_UINT64
    case 75:  // CSTRING and its relatives: pointers
    case 76:
    case 77:
    case 78:
    case 80:  // NVTX_REGISTERED_STRING_HANDLE
      return 8;
    case 33:  // INT128, UINT128, FLOAT128
    case 34:
    case 45:
      return 16;
    default:
      return 0;
  }
}

uint64_t SchemaLayout::place(const SchemaEntryAttributes& entry) noexcept {
  const Room room = room_of(entry);
  uint64_t offset = entry.offset;
  if (offset == 0 && !is_union_ && end_ != 0) {
    const bool packed = pack_align_ != 0 && pack_align_ < room.align;
    offset = aligned(end_, packed ? pack_align_ : room.align);
  }
  end_ = sum(offset, room.bytes);
  return offset;
}

uint64_t register_schema(DomainHandle domain, const SchemaAttributes* attributes) noexcept {
  if (!session_alive() || attributes == nullptr) return 0;
  const uint64_t mask = attributes->field_mask;
  const uint64_t id = (mask & kSchemaHasId) != 0 ? attributes->schema_id : next_id.fetch_add(1);
  if ((mask & kSchemaHasEntries) == 0 || (mask & kSchemaHasEntryCount) == 0 ||
      attributes->entries == nullptr) {
    return id;
  }
  ThreadState* thread = current_thread();
  if (thread == nullptr) return id;
  const uint32_t name = (mask & kSchemaHasName) != 0 ? text(attributes->name) : 0;
  const size_t count =
      attributes->entry_count < kMaxEntries ? attributes->entry_count : kMaxEntries;
  const bool is_union = (mask & kSchemaHasType) != 0 && attributes->type == kSchemaTypeUnion;
  SchemaLayout layout(is_union, (mask & kSchemaHasAlignment) != 0 ? attributes->pack_align : 0);
  for (size_t i = 0; i < count; ++i) {
    const SchemaEntryAttributes& entry = attributes->entries[i];
    wire::SchemaEntry fields{};
    fields.schema_id = id;
    fields.type = entry.type;
    fields.offset = layout.place(entry);
    fields.domain = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(domain));
    fields.schema_name = name;
    fields.index = static_cast<uint32_t>(i);
    fields.flags = static_cast<uint32_t>(entry.flags);
    fields.detail = entry.array_or_union_detail;
    write_entry(*thread, fields, entry.name);
  }
  return id;
}

uint64_t register_enum(DomainHandle, const EnumAttributes* attributes) noexcept {
  if (!session_alive() || attributes == nullptr) return 0;
  return (attributes->field_mask & kEnumHasId) != 0 ? attributes->schema_id : next_id.fetch_add(1);
}

}  // namespace dprof::inject::nvtx
