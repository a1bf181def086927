// SPDX-License-Identifier: Apache-2.0
// NVTX 3's binary interface as the tool side sees it, declared here so that libdprof.so builds
// without NVTX's headers; nvtx_abi_test.cpp compares with them if they are installed. These layouts
// and numbers are frozen: they connect separately built programs and tools.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dprof::inject::nvtx {

// The tool chooses the handles: those of domains and registered strings are the arena ids of their
// texts, so they are the same for every linkage unit of the process. Null: the default domain.
using DomainHandle = void*;
using StringHandle = void*;
using RangeId = uint64_t;

inline constexpr uint32_t kExportTableCallbacks = 1;
inline constexpr uint32_t kModuleCore = 1;
inline constexpr uint32_t kModuleCore2 = 5;

enum CoreId : uint32_t {
  kMarkEx = 1,
  kMarkA,
  kMarkW,
  kRangeStartEx,
  kRangeStartA,
  kRangeStartW,
  kRangeEnd,
  kRangePushEx,
  kRangePushA,
  kRangePushW,
  kRangePop,
  kNameCategoryA,
  kNameCategoryW,
  kNameOsThreadA,
  kNameOsThreadW,
  kCoreCount
};

enum Core2Id : uint32_t {
  kDomainMarkEx = 1,
  kDomainRangeStartEx,
  kDomainRangeEnd,
  kDomainRangePushEx,
  kDomainRangePop,
  kDomainResourceCreate,
  kDomainResourceDestroy,
  kDomainNameCategoryA,
  kDomainNameCategoryW,
  kDomainRegisterStringA,
  kDomainRegisterStringW,
  kDomainCreateA,
  kDomainCreateW,
  kDomainDestroy,
  kInitialize,
  kCore2Count
};

using Function = void (*)();
using FunctionTable = Function**;  // slot i holds the address of the pointer to fill

struct ExportTableCallbacks {
  size_t struct_size;
  int (*get_module_function_table)(uint32_t module, FunctionTable* table, unsigned int* size);
};
using GetExportTable = const void* (*)(uint32_t table_id);

inline constexpr int32_t kColorArgb = 1;
inline constexpr int32_t kMessageAscii = 1;
inline constexpr int32_t kMessageUnicode = 2;
inline constexpr int32_t kMessageRegistered = 3;
inline constexpr int32_t kPayloadLast = 6;  // 1…6 are the scalar types, as in PayloadKind
inline constexpr int32_t kPayloadExtended = static_cast<int32_t>(0xDFBD0009);

// nvtxEventAttributes_t. Version 1 ends before `category` had a meaning; all versions have this
// size.
struct EventAttributes {
  uint16_t version;
  uint16_t size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type;
  int32_t reserved;  // number of PayloadData with an extended payload
  uint64_t payload;
  int32_t message_type;
  uint32_t padding;
  union {
    const char* ascii;
    const wchar_t* unicode;
    StringHandle registered;
  } message;
};
static_assert(sizeof(EventAttributes) == 48);

// --- The payload extension -------------------------------------------------------------------

inline constexpr uint16_t kPayloadModule = 2;

enum PayloadSlot : uint32_t {
  kSchemaRegister,
  kEnumRegister,
  kMarkPayload,
  kRangePushPayload,
  kRangePopPayload,
  kRangeStartPayload,
  kRangeEndPayload,
  kDomainIsEnabled,
};

struct PayloadData {
  uint64_t schema_id;
  size_t size;
  const void* payload;
};

inline constexpr uint64_t kSchemaIdStaticStart = uint64_t{1} << 24;
inline constexpr uint64_t kSchemaIdDynamicStart = uint64_t{1} << 32;
inline constexpr uint64_t kSchemaTypeStatic = 1;
inline constexpr uint64_t kSchemaTypeUnion = 3;

// Bits of SchemaAttributes::field_mask: a field whose bit is unset must not be read.
inline constexpr uint64_t kSchemaHasName = 1u << 1;
inline constexpr uint64_t kSchemaHasType = 1u << 2;
inline constexpr uint64_t kSchemaHasEntries = 1u << 4;
inline constexpr uint64_t kSchemaHasEntryCount = 1u << 5;
inline constexpr uint64_t kSchemaHasAlignment = 1u << 7;
inline constexpr uint64_t kSchemaHasId = 1u << 8;

// Bits of SchemaEntryAttributes::flags.
inline constexpr uint64_t kEntryIsPointer = 1u << 1;
inline constexpr uint64_t kEntryIsOffset = (1u << 2) | (1u << 3);  // from the base, from here
inline constexpr uint64_t kEntryArrayMask = 7u << 4;
inline constexpr uint64_t kEntryFixedSize = 1u << 4;  // else: zero-terminated, length elsewhere

struct SchemaEntryAttributes {
  uint64_t flags;
  uint64_t type;
  const char* name;
  const char* description;
  uint64_t array_or_union_detail;
  uint64_t offset;
  const void* semantics;
  const void* reserved;
};

struct SchemaAttributes {
  uint64_t field_mask;
  const char* name;
  uint64_t type;
  uint64_t flags;
  const SchemaEntryAttributes* entries;
  size_t entry_count;
  size_t static_size;
  size_t pack_align;
  uint64_t schema_id;
  void* extension;
};

struct EnumAttributes {
  uint64_t field_mask;
  const char* name;
  const void* entries;
  size_t entry_count;
  size_t enum_bytes;
  uint64_t schema_id;
  void* extension;
};
inline constexpr uint64_t kEnumHasId = 1u << 5;

struct ExtensionSegment {
  size_t segment_id;
  size_t slot_count;
  intptr_t* function_slots;
};

struct ExtensionModule {
  uint16_t nvtx_version;
  uint16_t struct_size;
  uint16_t module_id;
  uint16_t compat_id;
  size_t segment_count;
  ExtensionSegment* segments;
  intptr_t (*get_export_function)(uint32_t id);
  const void* info;  // PayloadTypeInfo[], sizes and alignments by entry type
};

}  // namespace dprof::inject::nvtx
