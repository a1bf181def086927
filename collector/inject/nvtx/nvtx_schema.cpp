// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nvtx/nvtx_schema.h"

#include <cstring>

#include "collector/inject/threads.h"

namespace dprof::inject::nvtx {
namespace {

constexpr size_t kMaxEntries = 256;  // more than any real schema; a wrong count must not run on

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

uint64_t naturally_aligned(uint64_t end, uint64_t type) noexcept {
  const uint64_t bytes = bytes_of_type(type);
  return bytes == 0 ? end : (end + bytes - 1) / bytes * bytes;
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
  uint64_t end = 0;
  for (size_t i = 0; i < count; ++i) {
    const SchemaEntryAttributes& entry = attributes->entries[i];
    const uint64_t offset =
        entry.offset != 0 || i == 0 ? entry.offset : naturally_aligned(end, entry.type);
    end = offset + bytes_of_type(entry.type);
    wire::SchemaEntry fields{};
    fields.schema_id = id;
    fields.type = entry.type;
    fields.offset = offset;
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
