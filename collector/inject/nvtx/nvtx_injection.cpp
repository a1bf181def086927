// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nvtx/nvtx_injection.h"

#include "collector/inject/nvtx/nvtx_ranges.h"
#include "collector/inject/nvtx/nvtx_schema.h"
#include "collector/inject/session.h"

namespace dprof::inject::nvtx {
namespace {

DomainHandle handle_of(uint32_t id) noexcept {
  return reinterpret_cast<DomainHandle>(uintptr_t{id});
}

// --- CORE: the default domain ------------------------------------------------------------------

void mark_ex(const EventAttributes* event) noexcept { mark(nullptr, event); }
void mark_a(const char* text) noexcept { mark(nullptr, message_of(text)); }
void mark_w(const wchar_t* text) noexcept { mark(nullptr, message_of(text)); }
RangeId start_ex(const EventAttributes* event) noexcept { return start(nullptr, event); }
RangeId start_a(const char* text) noexcept { return start(nullptr, message_of(text)); }
RangeId start_w(const wchar_t* text) noexcept { return start(nullptr, message_of(text)); }
void end_range(RangeId id) noexcept { end(nullptr, id, nullptr, 0); }
int push_ex(const EventAttributes* event) noexcept {
  push(nullptr, event);
  return kNoPushPopTracking;
}
int push_a(const char* text) noexcept {
  push(nullptr, message_of(text));
  return kNoPushPopTracking;
}
int push_w(const wchar_t* text) noexcept {
  push(nullptr, message_of(text));
  return kNoPushPopTracking;
}
int pop_range() noexcept {
  pop(nullptr, nullptr, 0);
  return kNoPushPopTracking;
}
void name_os_thread_a(uint32_t tid, const char* text) noexcept {
  name_thread(tid, message_of(text));
}
void name_os_thread_w(uint32_t tid, const wchar_t* text) noexcept {
  name_thread(tid, message_of(text));
}

// --- CORE2: domains ------------------------------------------------------------------------------

int domain_push(DomainHandle domain, const EventAttributes* event) noexcept {
  push(domain, event);
  return kNoPushPopTracking;
}
int domain_pop(DomainHandle domain) noexcept {
  pop(domain, nullptr, 0);
  return kNoPushPopTracking;
}
void domain_mark(DomainHandle domain, const EventAttributes* event) noexcept {
  mark(domain, event);
}
RangeId domain_start(DomainHandle domain, const EventAttributes* event) noexcept {
  return start(domain, event);
}
void domain_end(DomainHandle domain, RangeId id) noexcept { end(domain, id, nullptr, 0); }
StringHandle register_string_a(DomainHandle, const char* text) noexcept {
  return handle_of(text_id(message_of(text)));
}
StringHandle register_string_w(DomainHandle, const wchar_t* text) noexcept {
  return handle_of(text_id(message_of(text)));
}
DomainHandle create_domain_a(const char* text) noexcept {
  return handle_of(text_id(message_of(text)));
}
DomainHandle create_domain_w(const wchar_t* text) noexcept {
  return handle_of(text_id(message_of(text)));
}

// --- Payload extension ---------------------------------------------------------------------------

void mark_payload(DomainHandle domain, const PayloadData* payloads, size_t count) noexcept {
  mark(domain, payloads, count);
}
int push_payload(DomainHandle domain, const PayloadData* payloads, size_t count) noexcept {
  push(domain, payloads, count);
  return kNoPushPopTracking;
}
int pop_payload(DomainHandle domain, const PayloadData* payloads, size_t count) noexcept {
  pop(domain, payloads, count);
  return kNoPushPopTracking;
}
RangeId start_payload(DomainHandle domain, const PayloadData* payloads, size_t count) noexcept {
  return start(domain, payloads, count);
}
void end_payload(DomainHandle domain, RangeId id, const PayloadData* payloads,
                 size_t count) noexcept {
  end(domain, id, payloads, count);
}
uint8_t domain_is_enabled(DomainHandle) noexcept { return (hot_mask() & kMaskNvtx) != 0 ? 1 : 0; }

// -------------------------------------------------------------------------------------------------

struct Callback {
  uint32_t id;
  Function function;
};

template <typename Pointer>
Callback callback(uint32_t id, Pointer function) noexcept {
  return {id, reinterpret_cast<Function>(function)};
}

template <size_t kCount>
void fill(const ExportTableCallbacks& table, uint32_t module,
          const Callback (&callbacks)[kCount]) noexcept {
  FunctionTable slots = nullptr;
  unsigned int size = 0;
  if (table.get_module_function_table(module, &slots, &size) == 0 || slots == nullptr) return;
  for (const Callback& entry : callbacks) {
    if (entry.id < size && slots[entry.id] != nullptr) *slots[entry.id] = entry.function;
  }
}

}  // namespace

int initialize(GetExportTable get_export_table) noexcept {
  if (get_export_table == nullptr || !start_session()) return 0;
  const auto* table =
      static_cast<const ExportTableCallbacks*>(get_export_table(kExportTableCallbacks));
  if (table == nullptr || table->struct_size < sizeof(ExportTableCallbacks)) return 0;
  const Callback core[] = {
      callback(kMarkEx, &mark_ex),
      callback(kMarkA, &mark_a),
      callback(kMarkW, &mark_w),
      callback(kRangeStartEx, &start_ex),
      callback(kRangeStartA, &start_a),
      callback(kRangeStartW, &start_w),
      callback(kRangeEnd, &end_range),
      callback(kRangePushEx, &push_ex),
      callback(kRangePushA, &push_a),
      callback(kRangePushW, &push_w),
      callback(kRangePop, &pop_range),
      callback(kNameOsThreadA, &name_os_thread_a),
      callback(kNameOsThreadW, &name_os_thread_w),
  };
  const Callback core2[] = {
      callback(kDomainMarkEx, &domain_mark),
      callback(kDomainRangeStartEx, &domain_start),
      callback(kDomainRangeEnd, &domain_end),
      callback(kDomainRangePushEx, &domain_push),
      callback(kDomainRangePop, &domain_pop),
      callback(kDomainRegisterStringA, &register_string_a),
      callback(kDomainRegisterStringW, &register_string_w),
      callback(kDomainCreateA, &create_domain_a),
      callback(kDomainCreateW, &create_domain_w),
  };
  fill(*table, kModuleCore, core);
  fill(*table, kModuleCore2, core2);
  if (session_alive()) set_fact(wire::Fact::kNvtxSource, "on");
  return 1;
}

int initialize_extension(ExtensionModule* module) noexcept {
  if (module == nullptr || module->module_id != kPayloadModule || module->segments == nullptr ||
      module->segment_count == 0 || !start_session()) {
    return 0;
  }
  const ExtensionSegment& segment = module->segments[0];
  const auto set = [&segment](uint32_t slot, auto function) noexcept {
    if (slot < segment.slot_count) {
      segment.function_slots[slot] = reinterpret_cast<intptr_t>(function);
    }
  };
  set(kSchemaRegister, &register_schema);
  set(kEnumRegister, &register_enum);
  set(kMarkPayload, &mark_payload);
  set(kRangePushPayload, &push_payload);
  set(kRangePopPayload, &pop_payload);
  set(kRangeStartPayload, &start_payload);
  set(kRangeEndPayload, &end_payload);
  set(kDomainIsEnabled, &domain_is_enabled);
  return 1;
}

}  // namespace dprof::inject::nvtx
