// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/techniques/announce.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>

#ifdef DPROF_TRAINER_HAS_NVTX
#include <nvtx3/nvToolsExtPayload.h>
#endif

namespace dprof::trainer_harness {

#ifdef DPROF_TRAINER_HAS_NVTX
namespace {

constexpr size_t kShapeBytes = 40;

struct BatchPayload {
  uint64_t index_hash;
  int64_t epoch;
  int64_t queue_depth;
  int64_t batch_size;
  char shape[kShapeBytes];
};

struct MemoryPayload {
  uint64_t address;
  uint64_t bytes;
  int32_t category;
  int32_t device;  // -1 = host memory
};

nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t handle = nvtxDomainCreateA("dprof");
  return handle;
}

nvtxPayloadSchemaEntry_t field(const char* name, uint64_t type, size_t offset) {
  nvtxPayloadSchemaEntry_t entry{};
  entry.type = type;
  entry.name = name;
  entry.offset = offset;
  return entry;
}

template <size_t Count>
uint64_t register_schema(const char* name, const nvtxPayloadSchemaEntry_t (&fields)[Count],
                         size_t bytes) {
  nvtxPayloadSchemaAttr_t attributes{};
  attributes.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  attributes.name = name;
  attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  attributes.entries = fields;
  attributes.numEntries = Count;
  attributes.payloadStaticSize = bytes;
  return nvtxPayloadSchemaRegister(domain(), &attributes);
}

uint64_t batch_schema() {
  nvtxPayloadSchemaEntry_t shape =
      field("shape", NVTX_PAYLOAD_ENTRY_TYPE_CHAR, offsetof(BatchPayload, shape));
  shape.flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE;
  shape.arrayOrUnionDetail = kShapeBytes;
  const nvtxPayloadSchemaEntry_t fields[] = {
      field("index_hash", NVTX_PAYLOAD_ENTRY_TYPE_UINT64, offsetof(BatchPayload, index_hash)),
      field("epoch", NVTX_PAYLOAD_ENTRY_TYPE_INT64, offsetof(BatchPayload, epoch)),
      field("queue_depth", NVTX_PAYLOAD_ENTRY_TYPE_INT64, offsetof(BatchPayload, queue_depth)),
      field("batch_size", NVTX_PAYLOAD_ENTRY_TYPE_INT64, offsetof(BatchPayload, batch_size)),
      shape};
  return register_schema("dprof.batch", fields, sizeof(BatchPayload));
}

uint64_t memory_schema() {
  const nvtxPayloadSchemaEntry_t fields[] = {
      field("address", NVTX_PAYLOAD_ENTRY_TYPE_UINT64, offsetof(MemoryPayload, address)),
      field("bytes", NVTX_PAYLOAD_ENTRY_TYPE_UINT64, offsetof(MemoryPayload, bytes)),
      field("category", NVTX_PAYLOAD_ENTRY_TYPE_INT32, offsetof(MemoryPayload, category)),
      field("device", NVTX_PAYLOAD_ENTRY_TYPE_INT32, offsetof(MemoryPayload, device))};
  return register_schema("dprof.memory", fields, sizeof(MemoryPayload));
}

void mark(const char* name, uint64_t schema, const void* payload, size_t bytes) {
  nvtxPayloadData_t data{schema, bytes, payload};
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  attributes.reserved0 = 1;  // payloads
  attributes.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(&data);
  nvtxDomainMarkEx(domain(), &attributes);
}

// "32x1x28x28".
std::string shape_of(const torch::Tensor& tensor) {
  std::string text;
  if (!tensor.defined()) return text;
  for (const int64_t size : tensor.sizes()) {
    if (!text.empty()) text += 'x';
    text += std::to_string(size);
  }
  return text;
}

}  // namespace

void announce_batch(const Batch& batch, const AnnouncedBatch& about) {
  static const uint64_t schema = batch_schema();
  BatchPayload payload{};
  payload.index_hash = index_hash(batch);
  payload.epoch = about.epoch;
  payload.queue_depth = about.queue_depth;
  payload.batch_size = batch.samples();
  const std::string shape = shape_of(batch.data);
  std::memcpy(payload.shape, shape.data(), std::min(shape.size(), kShapeBytes - 1));
  mark("batch", schema, &payload, sizeof payload);
}

void announce_memory(const std::vector<torch::Tensor>& tensors, MemoryUse use) {
  static const uint64_t schema = memory_schema();
  std::set<const void*> announced;  // a model can list a tensor twice
  for (const torch::Tensor& tensor : tensors) {
    if (!tensor.defined() || !tensor.has_storage()) continue;
    if (!announced.insert(tensor.data_ptr()).second) continue;
    MemoryPayload payload{};
    payload.address = reinterpret_cast<uintptr_t>(tensor.data_ptr());
    payload.bytes = tensor.nbytes();
    payload.category = static_cast<int32_t>(use);
    payload.device = tensor.is_cpu() ? -1 : tensor.get_device();
    mark("memory", schema, &payload, sizeof payload);
  }
}

#else

void announce_batch(const Batch&, const AnnouncedBatch&) {}
void announce_memory(const std::vector<torch::Tensor>&, MemoryUse) {}

#endif

}  // namespace dprof::trainer_harness
