// SPDX-License-Identifier: Apache-2.0
// NVTX's header code in a linkage unit, reduced to its tables: for tests that must build without
// NVTX's headers.
//
// Threading  one thread sets it up; any thread can call the slots.
#pragma once

#include "collector/inject/nvtx/nvtx_abi.h"

namespace dprof::inject {

using InitializeNvtx = int (*)(nvtx::GetExportTable);
using InitializeExtension = int (*)(nvtx::ExtensionModule*);

class NvtxUnit {
 public:
  // Does what the header does at its first call. False if the tool declined.
  bool initialize(InitializeNvtx core, InitializeExtension extension) {
    current = this;
    for (uint32_t i = 0; i < nvtx::kCoreCount; ++i) core_slots_[i] = &core_[i];
    for (uint32_t i = 0; i < nvtx::kCore2Count; ++i) core2_slots_[i] = &core2_[i];
    const bool taken = core(&get_export_table) == 1;
    nvtx::ExtensionSegment segment{0, kPayloadSlots, payload_};
    nvtx::ExtensionModule module{
        3,      sizeof(nvtx::ExtensionModule), nvtx::kPayloadModule, 0x0103, 1, &segment, nullptr,
        nullptr};
    extension_taken_ = extension(&module) == 1;
    return taken;
  }
  [[nodiscard]] bool extension_taken() const { return extension_taken_; }

  // Like the header, it calls nothing if no tool has taken the slot.
  template <typename Result, typename... Arguments>
  Result core(uint32_t id, Arguments... arguments) const {
    if (core_[id] == nullptr) return Result();
    return reinterpret_cast<Result (*)(Arguments...)>(core_[id])(arguments...);
  }
  template <typename Result, typename... Arguments>
  Result core2(uint32_t id, Arguments... arguments) const {
    return reinterpret_cast<Result (*)(Arguments...)>(core2_[id])(arguments...);
  }
  template <typename Result, typename... Arguments>
  Result payload(uint32_t slot, Arguments... arguments) const {
    return reinterpret_cast<Result (*)(Arguments...)>(payload_[slot])(arguments...);
  }

  // Shorter names for the most frequent calls.
  void push(const char* text) const { core<int>(nvtx::kRangePushA, text); }
  void pop() const { core<int>(nvtx::kRangePop); }
  [[nodiscard]] bool enabled() const {
    return payload<uint8_t>(nvtx::kDomainIsEnabled, nvtx::DomainHandle{}) != 0;
  }

 private:
  static constexpr size_t kPayloadSlots = 63;

  static const void* get_export_table(uint32_t id) {
    static constexpr nvtx::ExportTableCallbacks kTable{sizeof kTable, &get_module_table};
    return id == nvtx::kExportTableCallbacks ? &kTable : nullptr;
  }
  static int get_module_table(uint32_t module, nvtx::FunctionTable* table, unsigned int* size) {
    if (module == nvtx::kModuleCore) {
      *table = current->core_slots_;
      *size = nvtx::kCoreCount;
      return 1;
    }
    if (module != nvtx::kModuleCore2) return 0;
    *table = current->core2_slots_;
    *size = nvtx::kCore2Count;
    return 1;
  }

  inline static NvtxUnit* current = nullptr;
  nvtx::Function core_[nvtx::kCoreCount] = {};
  nvtx::Function core2_[nvtx::kCore2Count] = {};
  nvtx::Function* core_slots_[nvtx::kCoreCount] = {};
  nvtx::Function* core2_slots_[nvtx::kCore2Count] = {};
  intptr_t payload_[kPayloadSlots] = {};
  bool extension_taken_ = false;
};

}  // namespace dprof::inject
