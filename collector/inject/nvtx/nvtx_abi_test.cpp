// SPDX-License-Identifier: Apache-2.0
// nvtx_abi.h against NVTX's own headers.
#include "collector/inject/nvtx/nvtx_abi.h"

#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>

namespace dprof::inject::nvtx {
namespace {

#define EXPECT_SAME_FIELD(Ours, our_field, Theirs, their_field)        \
  EXPECT_EQ(offsetof(Ours, our_field), offsetof(Theirs, their_field)); \
  EXPECT_EQ(sizeof(static_cast<Ours*>(nullptr)->our_field),            \
            sizeof(static_cast<Theirs*>(nullptr)->their_field))

TEST(NvtxAbi, EventAttributes) {
  EXPECT_EQ(sizeof(EventAttributes), sizeof(nvtxEventAttributes_t));
  EXPECT_SAME_FIELD(EventAttributes, version, nvtxEventAttributes_t, version);
  EXPECT_SAME_FIELD(EventAttributes, size, nvtxEventAttributes_t, size);
  EXPECT_SAME_FIELD(EventAttributes, category, nvtxEventAttributes_t, category);
  EXPECT_SAME_FIELD(EventAttributes, color_type, nvtxEventAttributes_t, colorType);
  EXPECT_SAME_FIELD(EventAttributes, color, nvtxEventAttributes_t, color);
  EXPECT_SAME_FIELD(EventAttributes, payload_type, nvtxEventAttributes_t, payloadType);
  EXPECT_SAME_FIELD(EventAttributes, reserved, nvtxEventAttributes_t, reserved0);
  EXPECT_SAME_FIELD(EventAttributes, payload, nvtxEventAttributes_t, payload);
  EXPECT_SAME_FIELD(EventAttributes, message_type, nvtxEventAttributes_t, messageType);
  EXPECT_SAME_FIELD(EventAttributes, message, nvtxEventAttributes_t, message);
  EXPECT_EQ(kColorArgb, NVTX_COLOR_ARGB);
  EXPECT_EQ(kMessageAscii, NVTX_MESSAGE_TYPE_ASCII);
  EXPECT_EQ(kMessageUnicode, NVTX_MESSAGE_TYPE_UNICODE);
  EXPECT_EQ(kMessageRegistered, NVTX_MESSAGE_TYPE_REGISTERED);
  EXPECT_EQ(kPayloadLast, NVTX_PAYLOAD_TYPE_FLOAT);
  EXPECT_EQ(kPayloadExtended, NVTX_PAYLOAD_TYPE_EXT);
}

TEST(NvtxAbi, CallbackNumbers) {
  EXPECT_EQ(uint32_t{kModuleCore}, uint32_t{NVTX_CB_MODULE_CORE});
  EXPECT_EQ(uint32_t{kModuleCore2}, uint32_t{NVTX_CB_MODULE_CORE2});
  EXPECT_EQ(uint32_t{kExportTableCallbacks}, uint32_t{NVTX_ETID_CALLBACKS});
  EXPECT_EQ(uint32_t{kMarkEx}, uint32_t{NVTX_CBID_CORE_MarkEx});
  EXPECT_EQ(uint32_t{kRangeStartEx}, uint32_t{NVTX_CBID_CORE_RangeStartEx});
  EXPECT_EQ(uint32_t{kRangeEnd}, uint32_t{NVTX_CBID_CORE_RangeEnd});
  EXPECT_EQ(uint32_t{kRangePushA}, uint32_t{NVTX_CBID_CORE_RangePushA});
  EXPECT_EQ(uint32_t{kRangePop}, uint32_t{NVTX_CBID_CORE_RangePop});
  EXPECT_EQ(uint32_t{kNameOsThreadW}, uint32_t{NVTX_CBID_CORE_NameOsThreadW});
  EXPECT_EQ(uint32_t{kCoreCount}, uint32_t{NVTX_CBID_CORE_SIZE});
  EXPECT_EQ(uint32_t{kDomainRangePushEx}, uint32_t{NVTX_CBID_CORE2_DomainRangePushEx});
  EXPECT_EQ(uint32_t{kDomainRangePop}, uint32_t{NVTX_CBID_CORE2_DomainRangePop});
  EXPECT_EQ(uint32_t{kDomainRegisterStringA}, uint32_t{NVTX_CBID_CORE2_DomainRegisterStringA});
  EXPECT_EQ(uint32_t{kDomainCreateW}, uint32_t{NVTX_CBID_CORE2_DomainCreateW});
  EXPECT_EQ(uint32_t{kCore2Count}, uint32_t{NVTX_CBID_CORE2_SIZE});
  EXPECT_SAME_FIELD(ExportTableCallbacks, get_module_function_table, NvtxExportTableCallbacks,
                    GetModuleFunctionTable);
}

TEST(NvtxAbi, PayloadExtension) {
  EXPECT_EQ(uint32_t{kPayloadModule}, uint32_t{NVTX_EXT_PAYLOAD_MODULEID});
  EXPECT_EQ(uint32_t{kSchemaRegister}, uint32_t{NVTX3EXT_CBID_nvtxPayloadSchemaRegister});
  EXPECT_EQ(uint32_t{kEnumRegister}, uint32_t{NVTX3EXT_CBID_nvtxPayloadEnumRegister});
  EXPECT_EQ(uint32_t{kMarkPayload}, uint32_t{NVTX3EXT_CBID_nvtxMarkPayload});
  EXPECT_EQ(uint32_t{kRangePushPayload}, uint32_t{NVTX3EXT_CBID_nvtxRangePushPayload});
  EXPECT_EQ(uint32_t{kRangePopPayload}, uint32_t{NVTX3EXT_CBID_nvtxRangePopPayload});
  EXPECT_EQ(uint32_t{kRangeStartPayload}, uint32_t{NVTX3EXT_CBID_nvtxRangeStartPayload});
  EXPECT_EQ(uint32_t{kRangeEndPayload}, uint32_t{NVTX3EXT_CBID_nvtxRangeEndPayload});
  EXPECT_EQ(uint32_t{kDomainIsEnabled}, uint32_t{NVTX3EXT_CBID_nvtxDomainIsEnabled});
  EXPECT_EQ(sizeof(PayloadData), sizeof(nvtxPayloadData_t));
  EXPECT_SAME_FIELD(PayloadData, schema_id, nvtxPayloadData_t, schemaId);
  EXPECT_SAME_FIELD(PayloadData, size, nvtxPayloadData_t, size);
  EXPECT_SAME_FIELD(PayloadData, payload, nvtxPayloadData_t, payload);
  EXPECT_EQ(sizeof(ExtensionModule), sizeof(nvtxExtModuleInfo_t));
  EXPECT_SAME_FIELD(ExtensionModule, module_id, nvtxExtModuleInfo_t, moduleId);
  EXPECT_SAME_FIELD(ExtensionModule, segments, nvtxExtModuleInfo_t, segments);
  EXPECT_SAME_FIELD(ExtensionSegment, slot_count, nvtxExtModuleSegment_t, slotCount);
  EXPECT_SAME_FIELD(ExtensionSegment, function_slots, nvtxExtModuleSegment_t, functionSlots);
}

TEST(NvtxAbi, Schemas) {
  EXPECT_EQ(kSchemaHasName, uint64_t{NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME});
  EXPECT_EQ(kSchemaHasType, uint64_t{NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE});
  EXPECT_EQ(kSchemaHasEntries, uint64_t{NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES});
  EXPECT_EQ(kSchemaHasEntryCount, uint64_t{NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES});
  EXPECT_EQ(kSchemaHasAlignment, uint64_t{NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT});
  EXPECT_EQ(kSchemaTypeUnion, uint64_t{NVTX_PAYLOAD_SCHEMA_TYPE_UNION});
  EXPECT_EQ(kEntryIsPointer, uint64_t{NVTX_PAYLOAD_ENTRY_FLAG_POINTER});
  EXPECT_EQ(kEntryIsOffset, uint64_t{NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE |
                                     NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE});
  EXPECT_EQ(kEntryFixedSize, uint64_t{NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE});
  EXPECT_EQ(kSchemaHasId, uint64_t{NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID});
  EXPECT_EQ(kEnumHasId, uint64_t{NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID});
  EXPECT_EQ(kSchemaIdStaticStart, uint64_t{NVTX_PAYLOAD_SCHEMA_ID_STATIC_START});
  EXPECT_EQ(kSchemaIdDynamicStart, NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
  EXPECT_EQ(sizeof(SchemaAttributes), sizeof(nvtxPayloadSchemaAttr_t));
  EXPECT_SAME_FIELD(SchemaAttributes, entries, nvtxPayloadSchemaAttr_t, entries);
  EXPECT_SAME_FIELD(SchemaAttributes, entry_count, nvtxPayloadSchemaAttr_t, numEntries);
  EXPECT_SAME_FIELD(SchemaAttributes, schema_id, nvtxPayloadSchemaAttr_t, schemaId);
  EXPECT_EQ(sizeof(SchemaEntryAttributes), sizeof(nvtxPayloadSchemaEntry_t));
  EXPECT_SAME_FIELD(SchemaEntryAttributes, flags, nvtxPayloadSchemaEntry_t, flags);
  EXPECT_SAME_FIELD(SchemaEntryAttributes, type, nvtxPayloadSchemaEntry_t, type);
  EXPECT_SAME_FIELD(SchemaEntryAttributes, name, nvtxPayloadSchemaEntry_t, name);
  EXPECT_SAME_FIELD(SchemaEntryAttributes, offset, nvtxPayloadSchemaEntry_t, offset);
  EXPECT_SAME_FIELD(SchemaEntryAttributes, array_or_union_detail, nvtxPayloadSchemaEntry_t,
                    arrayOrUnionDetail);
  EXPECT_EQ(sizeof(EnumAttributes), sizeof(nvtxPayloadEnumAttr_t));
  EXPECT_SAME_FIELD(EnumAttributes, schema_id, nvtxPayloadEnumAttr_t, schemaId);
}

}  // namespace
}  // namespace dprof::inject::nvtx
