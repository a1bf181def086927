// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/cuda/cupti_table.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "collector/inject/environment.h"
#include "collector/wire/cuda_places.h"

namespace dprof::inject::cupti {
namespace {

constexpr uint32_t kMaxPath = 4096;

struct Search {
  const char* library;
  char folder[kMaxPath];
};

int look_for_folder(dl_phdr_info* info, size_t, void* data) noexcept {
  Search& search = *static_cast<Search*>(data);
  if (info->dlpi_name == nullptr) return 0;
  const char* slash = strrchr(info->dlpi_name, '/');
  if (slash == nullptr || strncmp(slash + 1, search.library, strlen(search.library)) != 0) return 0;
  const auto length = static_cast<size_t>(slash - info->dlpi_name);
  if (length >= sizeof search.folder) return 0;
  memcpy(search.folder, info->dlpi_name, length);
  search.folder[length] = '\0';
  return 1;
}

void* open_in(const char* folder) noexcept {
  static char path[2 * kMaxPath];  // one thread attaches
  for (const char* name : wire::kCuptiNames) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return nullptr;
}

void* open_neighbour() noexcept {
  static Search search;
  static char folder[kMaxPath + 64];
  for (const wire::CuptiNeighbour& neighbour : wire::kCuptiNeighbours) {
    search.library = neighbour.library;
    if (dl_iterate_phdr(&look_for_folder, &search) == 0) continue;
    snprintf(folder, sizeof folder, "%s/%s", search.folder, neighbour.folder);
    if (void* handle = open_in(folder)) return handle;
  }
  return nullptr;
}

void* open_library() noexcept {
  for (const char* name : wire::kCuptiNames) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return handle;
  }
  if (void* handle = open_neighbour()) return handle;
  for (const char* name : wire::kCuptiNames) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  for (const char* folder : wire::kToolkitFolders) {
    if (void* handle = open_in(folder)) return handle;
  }
  return nullptr;
}

struct Finder {
  void* handle;
  const char* missing;  // first required function that is missing

  template <typename Function>
  void want(Function& function, const char* name) noexcept {
    function = reinterpret_cast<Function>(dlsym(handle, name));
  }
  template <typename Function>
  void need(Function& function, const char* name) noexcept {
    want(function, name);
    if (function == nullptr && missing == nullptr) missing = name;
  }
};

const char* find_functions(void* handle, Table& table) noexcept {
  Finder find{handle, nullptr};
  find.need(table.get_version, "cuptiGetVersion");
  find.need(table.subscribe, "cuptiSubscribe");
  find.want(table.subscribe_v2, "cuptiSubscribe_v2");
  find.need(table.unsubscribe, "cuptiUnsubscribe");
  find.need(table.enable_callback, "cuptiEnableCallback");
  find.need(table.get_callback_name, "cuptiGetCallbackName");
  find.need(table.get_stream_id, "cuptiGetStreamIdEx");
  find.need(table.get_device_id, "cuptiGetDeviceId");
  find.need(table.flush_all, "cuptiActivityFlushAll");
  find.need(table.enable, "cuptiActivityEnable");
  find.need(table.disable, "cuptiActivityDisable");
  find.want(table.enable_driver_api, "cuptiActivityEnableDriverApi");
  find.want(table.enable_runtime_api, "cuptiActivityEnableRuntimeApi");
  find.want(table.enable_all_sync_records, "cuptiActivityEnableAllSyncRecords");
  find.need(table.register_callbacks, "cuptiActivityRegisterCallbacks");
  find.want(table.register_timestamp, "cuptiActivityRegisterTimestampCallback");
  find.need(table.next_record, "cuptiActivityGetNextRecord");
  find.need(table.dropped_records, "cuptiActivityGetNumDroppedRecords");
  find.need(table.set_attribute, "cuptiActivitySetAttribute");
  find.want(table.set_thread_id_type, "cuptiSetThreadIdType");
  find.need(table.push_external, "cuptiActivityPushExternalCorrelationId");
  find.need(table.pop_external, "cuptiActivityPopExternalCorrelationId");
  find.want(table.enable_v2, "cuptiActivityEnable_v2");
  find.want(table.disable_v2, "cuptiActivityDisable_v2");
  find.want(table.enable_driver_api_v2, "cuptiActivityEnableDriverApi_v2");
  find.want(table.enable_runtime_api_v2, "cuptiActivityEnableRuntimeApi_v2");
  find.want(table.register_callbacks_v2, "cuptiActivityRegisterCallbacks_v2");
  find.want(table.next_record_v2, "cuptiActivityGetNextRecord_v2");
  find.want(table.dropped_records_v2, "cuptiActivityGetNumDroppedRecords_v2");
  find.want(table.set_attribute_v2, "cuptiActivitySetAttribute_v2");
  find.want(table.push_external_v2, "cuptiActivityPushExternalCorrelationId_v2");
  find.want(table.pop_external_v2, "cuptiActivityPopExternalCorrelationId_v2");
  return find.missing;
}

}  // namespace

bool load_library(Library& library) noexcept {
  library = {};
  const char* path = noted_variable(kLibraryVariable);
  void* handle =
      path != nullptr && path[0] != '\0' ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : open_library();
  if (handle == nullptr) {
    const char* why = dlerror();
    snprintf(library.why, sizeof library.why, "%s", why != nullptr ? why : "no libcupti found");
    return false;
  }
  if (const char* missing = find_functions(handle, library.table)) {
    snprintf(library.why, sizeof library.why, "libcupti has no %s: older than CUDA 12?", missing);
    return false;
  }
  if (library.table.get_version(&library.version) != kSuccess) library.version = 0;
  return true;
}

bool has_v2(const Table& table) noexcept {
  return table.subscribe_v2 != nullptr && table.enable_v2 != nullptr &&
         table.disable_v2 != nullptr && table.enable_driver_api_v2 != nullptr &&
         table.enable_runtime_api_v2 != nullptr && table.register_callbacks_v2 != nullptr &&
         table.next_record_v2 != nullptr && table.dropped_records_v2 != nullptr &&
         table.set_attribute_v2 != nullptr && table.push_external_v2 != nullptr &&
         table.pop_external_v2 != nullptr;
}

}  // namespace dprof::inject::cupti
