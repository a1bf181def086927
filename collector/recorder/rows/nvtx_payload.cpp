// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/nvtx_payload.h"

#include <algorithm>
#include <cstring>

#include "collector/recorder/common/text.h"

namespace dprof::recorder {

using Field = PayloadSchemas::Field;
using Schema = PayloadSchemas::Schema;

namespace {

// NVTX_PAYLOAD_ENTRY_FLAG_*.
constexpr uint32_t kElsewhere = (1u << 1) | (1u << 2) | (1u << 3);  // pointer, offsets
constexpr uint32_t kArrayMask = 7u << 4;
constexpr uint32_t kFixedSize = 1u << 4;
constexpr uint32_t kZeroTerminated = 2u << 4;
// Where predefined types end and the ids of schemas and enumerations begin.
constexpr uint64_t kFirstSchemaId = uint64_t{1} << 24;

struct IntegerType {
  uint64_t type;  // NVTX_PAYLOAD_ENTRY_TYPE_*
  uint8_t bytes;
  bool is_signed;
};

constexpr IntegerType kIntegers[] = {
    {2, 1, false},                // UCHAR
    {3, sizeof(short), true},     // SHORT
    {4, sizeof(short), false},    // USHORT
    {5, sizeof(int), true},       // INT
    {6, sizeof(int), false},      // UINT
    {7, sizeof(long), true},      // LONG
    {8, sizeof(long), false},     // ULONG
    {9, 8, true},                 // LONGLONG
    {10, 8, false},               // ULONGLONG
    {11, 1, true},                // INT8
    {12, 1, false},               // UINT8
    {13, 2, true},                // INT16
    {14, 2, false},               // UINT16
    {15, 4, true},                // INT32
    {16, 4, false},               // UINT32
    {17, 8, true},                // INT64
    {18, 8, false},               // UINT64
    {22, sizeof(size_t), false},  // SIZE
    {23, sizeof(void*), false},   // ADDRESS
    {32, 1, false},               // BYTE
    {68, 4, false},               // CATEGORY
    {69, 4, false},               // COLOR_ARGB
    {70, 8, false},               // SCOPE_ID
    {71, 4, false},               // PID_UINT32
    {72, 8, false},               // PID_UINT64
    {73, 4, false},               // TID_UINT32
    {74, 8, false},               // TID_UINT64
};

// Of one byte each: CHAR, UCHAR, INT8, UINT8, CHAR8.
bool is_character(uint64_t type) {
  return type == 1 || type == 2 || type == 11 || type == 12 || type == 25;
}

// CSTRING, CSTRING_UTF8: unless a flag says otherwise, a pointer if there is no length.
bool is_string(uint64_t type) { return type == 75 || type == 76; }

const Field* field_of(const Schema& schema, std::string_view name) {
  if (name.empty()) return nullptr;
  const auto found =
      std::ranges::find_if(schema.fields, [&](const Field& one) { return one.name == name; });
  return found != schema.fields.end() ? &*found : nullptr;
}

// The bytes from `offset` on, none if it is past the end.
std::string_view from(std::string_view bytes, uint64_t offset) {
  return offset < bytes.size() ? bytes.substr(static_cast<size_t>(offset)) : std::string_view();
}

std::optional<int64_t> read_integer(std::string_view bytes, const Field& field, uint8_t size,
                                    bool is_signed) {
  const std::string_view rest = from(bytes, field.offset);
  if (rest.size() < size) return std::nullopt;
  uint64_t value = 0;
  std::memcpy(&value, rest.data(), size);  // little endian, as the process on this machine
  const int unused = 64 - 8 * size;
  return is_signed ? static_cast<int64_t>(value << unused) >> unused : static_cast<int64_t>(value);
}

}  // namespace

bool PayloadSchemas::add(const wire::SchemaEntry& entry, std::string_view schema_name,
                         std::string_view field_name) {
  if (entry.index >= kMostFields) return false;
  const std::pair key(entry.domain, entry.schema_id);
  const auto known = schemas_.find(key);
  if (known == schemas_.end() && schemas_.size() >= kMostSchemas) return false;
  const size_t have = known != schemas_.end() ? known->second.fields.size() : 0;
  const size_t more = entry.index < have ? 0 : entry.index + 1 - have;
  if (fields_ + more > kMostFieldsInAll) return false;
  Schema& schema = schemas_[key];
  schema.name = schema_name.substr(0, kMostNameBytes);
  schema.fields.resize(have + more);
  fields_ += more;
  schema.fields[entry.index] = {std::string(field_name.substr(0, kMostNameBytes)), entry.type,
                                entry.offset, entry.detail, entry.flags};
  return true;
}

const Schema* PayloadSchemas::find(uint32_t domain, uint64_t schema_id) const {
  const auto found = schemas_.find({domain, schema_id});
  return found != schemas_.end() ? &found->second : nullptr;
}

std::optional<int64_t> integer_field(const Schema& schema, std::string_view bytes,
                                     std::string_view name) {
  const Field* field = field_of(schema, name);
  if (field == nullptr || (field->flags & (kElsewhere | kArrayMask)) != 0) return std::nullopt;
  const auto* type = std::ranges::find(kIntegers, field->type, &IntegerType::type);
  if (type == std::end(kIntegers)) return std::nullopt;
  return read_integer(bytes, *field, type->bytes, type->is_signed);
}

std::optional<int64_t> enum_field(const Schema& schema, std::string_view bytes,
                                  std::string_view name) {
  const Field* field = field_of(schema, name);
  if (field == nullptr || (field->flags & (kElsewhere | kArrayMask)) != 0 ||
      field->type < kFirstSchemaId) {
    return std::nullopt;
  }
  return read_integer(bytes, *field, sizeof(int32_t), true);
}

std::optional<std::string> text_field(const Schema& schema, std::string_view bytes,
                                      std::string_view name) {
  const Field* field = field_of(schema, name);
  if (field == nullptr || (field->flags & kElsewhere) != 0) return std::nullopt;
  if (!is_character(field->type) && !is_string(field->type)) return std::nullopt;
  const uint32_t array = field->flags & kArrayMask;
  std::string_view text = from(bytes, field->offset);
  if (array == kZeroTerminated) {
    if (field->detail != 0) return std::nullopt;  // an array of strings
    if (text.find('\0') == text.npos) return std::nullopt;
  } else {
    const bool fixed = array == kFixedSize || (array == 0 && is_string(field->type));
    if (!fixed || field->detail == 0 || text.size() < field->detail) return std::nullopt;
    text = text.substr(0, static_cast<size_t>(field->detail));
  }
  return clean_text(text.substr(0, text.find('\0')));
}

}  // namespace dprof::recorder
