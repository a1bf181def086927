// SPDX-License-Identifier: Apache-2.0
// CUPTI's functions, found at run time: libdprof.so links no NVIDIA library.
//
// Threading  filled once by the thread that attaches; read-only afterwards.
#pragma once

#include "collector/inject/cuda/cupti_abi.h"

namespace dprof::inject::cupti {

inline constexpr char kLibraryVariable[] = "DPROF_CUPTI_LIBRARY";  // a path: that file, no search

// Null: the library has no such function.
struct Table {
  Result (*get_version)(uint32_t* version);
  Result (*subscribe)(Subscriber*, Callback, void* user);
  Result (*subscribe_v2)(Subscriber*, Callback, void* user, SubscriberParameters*);
  Result (*unsubscribe)(Subscriber);
  Result (*enable_callback)(uint32_t enable, Subscriber, Domain, uint32_t callback_id);
  Result (*get_callback_name)(Domain, uint32_t callback_id, const char** name);
  Result (*get_stream_id)(Context, Stream, uint8_t per_thread, uint32_t* id);
  Result (*get_device_id)(Context, uint32_t* id);
  Result (*flush_all)(uint32_t flag);

  Result (*enable)(ActivityKind);
  Result (*disable)(ActivityKind);
  Result (*enable_driver_api)(uint32_t callback_id, uint8_t enable);
  Result (*enable_runtime_api)(uint32_t callback_id, uint8_t enable);
  Result (*enable_all_sync_records)(uint8_t enable);
  Result (*register_callbacks)(RequestBuffer, CompleteBuffer);
  Result (*register_timestamp)(Timestamp);
  Result (*next_record)(uint8_t* buffer, size_t valid_bytes, uint8_t** record);
  Result (*dropped_records)(Context, uint32_t stream, size_t* dropped);
  Result (*set_attribute)(Attribute, size_t* bytes, void* value);
  Result (*set_thread_id_type)(uint32_t type);
  Result (*push_external)(uint32_t kind, uint64_t id);
  Result (*pop_external)(uint32_t kind, uint64_t* last);

  // The interface for several subscribers, from 13.3 on.
  Result (*enable_v2)(Subscriber, ActivityKind, void* config);
  Result (*disable_v2)(Subscriber, ActivityKind, void* config);
  Result (*enable_driver_api_v2)(Subscriber, uint32_t callback_id, uint8_t enable);
  Result (*enable_runtime_api_v2)(Subscriber, uint32_t callback_id, uint8_t enable);
  Result (*register_callbacks_v2)(Subscriber, RequestBuffer2, CompleteBuffer2);
  Result (*next_record_v2)(Subscriber, uint8_t* buffer, size_t valid_bytes, uint8_t** record);
  Result (*dropped_records_v2)(Subscriber, Context, uint32_t stream, size_t* dropped);
  Result (*set_attribute_v2)(Subscriber, Attribute, size_t* bytes, void* value);
  Result (*push_external_v2)(Subscriber, uint32_t kind, uint64_t id);
  Result (*pop_external_v2)(Subscriber, uint32_t kind, uint64_t* last);
};

struct Library {
  Table table;
  uint32_t version;  // CUPTI_API_VERSION of the library: 130001 for CUDA 13.0
  char why[512];     // what is missing, when load_library() returned false
};

// Finds libcupti and its functions: first one already mapped by the process (two would not share
// state), then the copy next to the mapped CUDA runtime or LibTorch, then the loader's search, then
// the toolkit's usual folder.
[[nodiscard]] bool load_library(Library& library) noexcept;

// True if every function that several subscribers need is present.
[[nodiscard]] bool has_v2(const Table& table) noexcept;

}  // namespace dprof::inject::cupti
