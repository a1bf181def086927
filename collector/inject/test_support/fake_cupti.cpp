// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcupti: the same C functions over records supplied by the program. It knows
// nothing of GPUs and proves nothing about the real library; it applies the rules in CUPTI's
// headers and counts violations. Built twice: as of CUDA 13.0, and with the calls for several
// subscribers (FAKE_CUPTI_V2).
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "collector/inject/cuda/cupti_abi.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace dprof::inject::cupti;

struct Fake {
  std::recursive_mutex mutex;
  bool subscribed = false;
  bool taken_by_other = false;
  bool multi = false;
  Callback callback = nullptr;
  void* user = nullptr;
  RequestBuffer request = nullptr;
  CompleteBuffer complete = nullptr;
  RequestBuffer2 request2 = nullptr;
  CompleteBuffer2 complete2 = nullptr;
  Timestamp timestamp = nullptr;
  std::set<uint32_t> kinds;
  int switched_off = 0;  // kinds and functions: the real CUPTI may crash then
  std::set<std::pair<bool, uint32_t>> functions;
  std::set<uint32_t> callbacks;
  std::vector<std::vector<uint8_t>> pending;
  size_t dropped = 0;
  bool hold = false;
  bool zeroed = false;
  int in_callback = 0;
  int violations = 0;
  bool torn_down = false;  // by its exit handler: no further call is allowed
};
Fake fake;
thread_local std::vector<uint64_t> externals;

uint32_t setting(const char* name, uint32_t otherwise) {
  const char* text = getenv(name);
  return text != nullptr ? static_cast<uint32_t>(strtoul(text, nullptr, 10)) : otherwise;
}

Result all() { return setting("FAKE_CUPTI_ALL", kSuccess); }

// A call that changes what is recorded: allowed for the subscriber only, outside buffer callbacks.
Result change() {
  const std::lock_guard lock(fake.mutex);
  if (all() != kSuccess) return all();
  if (!fake.subscribed || fake.in_callback > 0 || fake.torn_down) ++fake.violations;
  return kSuccess;
}

// The sizes of CUDA 13.0's newest records.
size_t size_of(ActivityKind kind) {
  const size_t more = setting("FAKE_CUPTI_GROW", 0);
  switch (kind) {
    case ActivityKind::kConcurrentKernel:
      return 216 + more;
    case ActivityKind::kMemcpy:
    case ActivityKind::kMemcpyPeer:
      return 96 + more;
    case ActivityKind::kMemset:
      return 88 + more;
    case ActivityKind::kExternalCorrelation:
    case ActivityKind::kStream:
      return 24 + more;
    case ActivityKind::kDriver:
    case ActivityKind::kRuntime:
      return 40 + more;
    case ActivityKind::kSynchronization:
    case ActivityKind::kOverhead:
    case ActivityKind::kGraphTrace:
      return 56 + more;
    case ActivityKind::kDevice:
      return 192 + more;
    case ActivityKind::kContext:
      return 32 + more;
  }
  return static_cast<uint32_t>(kind) == 12 ? 56 + more : 0;  // MARKER: not requested by dprof
}

ActivityKind kind_of(const void* record) {
  ActivityKind kind{};
  memcpy(&kind, record, sizeof kind);
  return kind;
}

bool is_zero(const uint8_t* bytes, size_t count) {
  return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

uint8_t* ask_for_buffer(size_t& bytes) {
  uint8_t* buffer = nullptr;
  size_t records = 0;
  ++fake.in_callback;
  if (fake.request2 != nullptr) {
    size_t info = sizeof info;
    fake.request2(&buffer, &bytes, &records, &info);
  } else if (fake.request != nullptr) {
    fake.request(&buffer, &bytes, &records);
  }
  --fake.in_callback;
  if (buffer == nullptr || (fake.zeroed && !is_zero(buffer, bytes))) ++fake.violations;
  return buffer;
}

void give_buffer_back(uint8_t* buffer, size_t bytes, size_t valid) {
  ++fake.in_callback;
  if (fake.complete2 != nullptr) {
    size_t info[4] = {sizeof info};
    fake.complete2(buffer, bytes, valid, info);
  } else {
    fake.complete(nullptr, 0, buffer, bytes, valid);
  }
  --fake.in_callback;
}

void deliver(bool backwards) {
  const std::lock_guard lock(fake.mutex);
  uint8_t* buffer = nullptr;
  size_t bytes = 0;
  size_t used = 0;
  while (!fake.pending.empty()) {
    const size_t which = backwards ? fake.pending.size() - 1 : 0;
    const std::vector<uint8_t>& record = fake.pending[which];
    if (buffer != nullptr && used + record.size() > bytes) {
      give_buffer_back(buffer, bytes, used);
      buffer = nullptr;
    }
    if (buffer == nullptr) {
      buffer = ask_for_buffer(bytes);
      used = 0;
    }
    if (buffer == nullptr) {
      fake.dropped += fake.pending.size();
      fake.pending.clear();
      return;
    }
    memcpy(buffer + used, record.data(), record.size());
    used += record.size();
    fake.pending.erase(fake.pending.begin() + static_cast<std::ptrdiff_t>(which));
  }
  if (buffer != nullptr) give_buffer_back(buffer, bytes, used);
}

// With FAKE_CUPTI_STRICT: the real one takes itself down in an exit handler.
void be_strict() {
  static bool once = false;
  if (getenv("FAKE_CUPTI_STRICT") == nullptr || std::exchange(once, true)) return;
  atexit([] {
    const std::lock_guard lock(fake.mutex);
    fake.torn_down = true;
  });
}
[[gnu::destructor]] void check_at_the_end() {
  if (getenv("FAKE_CUPTI_STRICT") != nullptr && fake.violations != 0) _exit(97);
}

Result subscribe(Subscriber* subscriber, Callback callback, void* user) {
  const std::lock_guard lock(fake.mutex);
  if (all() != kSuccess) return all();
  if (setting("FAKE_CUPTI_SUBSCRIBE", kSuccess) != kSuccess) {
    return setting("FAKE_CUPTI_SUBSCRIBE", kSuccess);
  }
  if (fake.subscribed || fake.taken_by_other) return kMultipleSubscribers;
  be_strict();
  fake.subscribed = true;
  fake.callback = callback;
  fake.user = user;
  *subscriber = &fake;
  return kSuccess;
}

Result next_record(uint8_t* buffer, size_t valid, uint8_t** record) {
  if (all() != kSuccess) return all();
  if (fake.torn_down) ++fake.violations;
  if (const uint32_t us = setting("FAKE_CUPTI_SLOW_US", 0)) usleep(us);
  uint8_t* next = *record == nullptr ? buffer : *record + size_of(kind_of(*record));
  const size_t at = static_cast<size_t>(next - buffer);
  if (at >= valid) return kMaxLimitReached;
  if (valid - at < sizeof(ActivityKind) || size_of(kind_of(next)) == 0 ||
      size_of(kind_of(next)) > valid - at) {
    return kInvalidKind;
  }
  *record = next;
  return kSuccess;
}

Result set_kind(ActivityKind kind, bool on) {
  const Result result = change();
  if (result != kSuccess) return result;
  const std::lock_guard lock(fake.mutex);
  if (on) {
    fake.kinds.insert(static_cast<uint32_t>(kind));
  } else {
    fake.switched_off += static_cast<int>(fake.kinds.erase(static_cast<uint32_t>(kind)));
  }
  return kSuccess;
}

Result set_function(bool runtime, uint32_t callback_id, bool on) {
  const Result result = change();
  if (result != kSuccess) return result;
  const std::lock_guard lock(fake.mutex);
  if (on) {
    fake.functions.insert({runtime, callback_id});
  } else {
    fake.switched_off += static_cast<int>(fake.functions.erase({runtime, callback_id}));
  }
  return kSuccess;
}

Result set_clock(Timestamp timestamp) {
  if (!fake.kinds.empty()) ++fake.violations;  // too late: records would be on two clocks
  if (setting("FAKE_CUPTI_CLOCK", kSuccess) != kSuccess) return setting("FAKE_CUPTI_CLOCK", 0);
  fake.timestamp = timestamp;
  return kSuccess;
}

Result set_attribute(Attribute attribute, const void* value) {
  const Result result = change();
  if (result != kSuccess) return result;
  if (attribute == Attribute::kZeroedBuffers) {
    fake.zeroed = *static_cast<const uint8_t*>(value) != 0;
  }
  if (attribute == Attribute::kTimestampCallback) {
    Timestamp timestamp = nullptr;
    memcpy(&timestamp, value, sizeof timestamp);
    return set_clock(timestamp);
  }
  return kSuccess;
}

}  // namespace

// --- CUPTI ---------------------------------------------------------------------------------------

FAKE_EXPORT Result cuptiGetVersion(uint32_t* version) {
#ifdef FAKE_CUPTI_V2
  *version = 130301;
#else
  *version = 130001;
#endif
  return kSuccess;
}
FAKE_EXPORT Result cuptiSubscribe(Subscriber* subscriber, Callback callback, void* user) {
  return subscribe(subscriber, callback, user);
}
FAKE_EXPORT Result cuptiSubscribe_v2(Subscriber* subscriber, Callback callback, void* user,
                                     SubscriberParameters* parameters) {
  if (parameters == nullptr || parameters->struct_bytes < kSubscriberParameters130) {
    return kInvalidParameter;
  }
  const bool multi =
      parameters->struct_bytes >= sizeof *parameters && parameters->allow_others != 0;
  Result result = multi ? setting("FAKE_CUPTI_MULTI", kSuccess) : kSuccess;
  if (result == kSuccess) result = subscribe(subscriber, callback, user);
  fake.multi = result == kSuccess && multi;
  const char* other = getenv("FAKE_CUPTI_OTHER");
  if (result == kMultipleSubscribers && other != nullptr && parameters->other_name != nullptr) {
    strncpy(parameters->other_name, other, parameters->other_name_bytes - 1);
  }
  return result;
}
FAKE_EXPORT Result cuptiUnsubscribe(Subscriber) {
  const Result result = change();
  if (result != kSuccess) return result;
  const std::lock_guard lock(fake.mutex);
  if (!fake.pending.empty()) ++fake.violations;  // these can no longer be delivered
  fake.subscribed = false;
  fake.callback = nullptr;
  return kSuccess;
}
FAKE_EXPORT Result cuptiEnableCallback(uint32_t enable, Subscriber, Domain, uint32_t callback_id) {
  const Result result = change();
  if (result != kSuccess) return result;
  const std::lock_guard lock(fake.mutex);
  if (enable != 0) {
    fake.callbacks.insert(callback_id);
  } else {
    fake.callbacks.erase(callback_id);
  }
  return kSuccess;
}
FAKE_EXPORT Result cuptiGetCallbackName(Domain domain, uint32_t callback_id, const char** name) {
  if (domain == Domain::kRuntime && callback_id == runtime_api::kLaunchKernel) {
    *name = "cudaLaunchKernel_v7000";
  } else if (domain == Domain::kRuntime && callback_id == runtime_api::kMemcpyAsyncPtsz) {
    *name = "cudaMemcpyAsync_ptsz_v7000";
  } else if (domain == Domain::kDriver && callback_id == driver::kLaunchKernelEx) {
    *name = "cuLaunchKernelEx";
  } else {
    return kInvalidParameter;
  }
  return kSuccess;
}
FAKE_EXPORT Result cuptiGetStreamIdEx(Context, Stream stream, uint8_t per_thread, uint32_t* id) {
  *id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(stream) % 1000 + per_thread * 1000);
  return kSuccess;
}
FAKE_EXPORT Result cuptiGetDeviceId(Context, uint32_t* id) {
  *id = 3;
  return kSuccess;
}
FAKE_EXPORT Result cuptiActivityFlushAll(uint32_t flag) {
  const Result result = change();
  if (result == kSuccess && (!fake.hold || flag == kFlushForced)) deliver(false);
  return result;
}
FAKE_EXPORT Result cuptiActivityEnable(ActivityKind kind) {
  if (fake.multi) ++fake.violations;
  return set_kind(kind, true);
}
FAKE_EXPORT Result cuptiActivityDisable(ActivityKind kind) {
  if (fake.multi) ++fake.violations;
  return set_kind(kind, false);
}
FAKE_EXPORT Result cuptiActivityEnableDriverApi(uint32_t callback_id, uint8_t enable) {
  return set_function(false, callback_id, enable != 0);
}
FAKE_EXPORT Result cuptiActivityEnableRuntimeApi(uint32_t callback_id, uint8_t enable) {
  return set_function(true, callback_id, enable != 0);
}
FAKE_EXPORT Result cuptiActivityEnableAllSyncRecords(uint8_t) { return change(); }
FAKE_EXPORT Result cuptiActivityRegisterCallbacks(RequestBuffer request, CompleteBuffer complete) {
  const Result result = change();
  if (fake.multi) ++fake.violations;
  fake.request = request;
  fake.complete = complete;
  return result;
}
FAKE_EXPORT Result cuptiActivityRegisterTimestampCallback(Timestamp timestamp) {
  const Result result = change();
  return result == kSuccess ? set_clock(timestamp) : result;
}
FAKE_EXPORT Result cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, uint8_t** record) {
  return next_record(buffer, valid, record);
}
FAKE_EXPORT Result cuptiActivityGetNumDroppedRecords(Context, uint32_t, size_t* dropped) {
  const std::lock_guard lock(fake.mutex);
  if (all() != kSuccess) return all();
  *dropped = std::exchange(fake.dropped, 0);
  return kSuccess;
}
FAKE_EXPORT Result cuptiActivitySetAttribute(Attribute attribute, size_t*, void* value) {
  return set_attribute(attribute, value);
}
FAKE_EXPORT Result cuptiSetThreadIdType(uint32_t) { return change(); }
FAKE_EXPORT Result cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id) {
  if (all() != kSuccess) return all();
  if (kind != kExternalCustom2) ++fake.violations;
  externals.push_back(id);
  return kSuccess;
}
FAKE_EXPORT Result cuptiActivityPopExternalCorrelationId(uint32_t, uint64_t* last) {
  if (externals.empty()) {
    ++fake.violations;
    return kQueueEmpty;
  }
  *last = externals.back();
  externals.pop_back();
  return kSuccess;
}

#ifdef FAKE_CUPTI_V2
FAKE_EXPORT Result cuptiActivityEnable_v2(Subscriber, ActivityKind kind, void*) {
  return set_kind(kind, true);
}
FAKE_EXPORT Result cuptiActivityDisable_v2(Subscriber, ActivityKind kind, void*) {
  return set_kind(kind, false);
}
FAKE_EXPORT Result cuptiActivityEnableDriverApi_v2(Subscriber, uint32_t callback_id,
                                                   uint8_t enable) {
  return set_function(false, callback_id, enable != 0);
}
FAKE_EXPORT Result cuptiActivityEnableRuntimeApi_v2(Subscriber, uint32_t callback_id,
                                                    uint8_t enable) {
  return set_function(true, callback_id, enable != 0);
}
FAKE_EXPORT Result cuptiActivityRegisterCallbacks_v2(Subscriber, RequestBuffer2 request,
                                                     CompleteBuffer2 complete) {
  const Result result = change();
  fake.request2 = request;
  fake.complete2 = complete;
  return result;
}
FAKE_EXPORT Result cuptiActivityGetNextRecord_v2(Subscriber, uint8_t* buffer, size_t valid,
                                                 uint8_t** record) {
  return next_record(buffer, valid, record);
}
FAKE_EXPORT Result cuptiActivityGetNumDroppedRecords_v2(Subscriber, Context, uint32_t stream,
                                                        size_t* dropped) {
  return cuptiActivityGetNumDroppedRecords(nullptr, stream, dropped);
}
FAKE_EXPORT Result cuptiActivitySetAttribute_v2(Subscriber, Attribute attribute, size_t*,
                                                void* value) {
  return set_attribute(attribute, value);
}
FAKE_EXPORT Result cuptiActivityPushExternalCorrelationId_v2(Subscriber, uint32_t kind,
                                                             uint64_t id) {
  return cuptiActivityPushExternalCorrelationId(kind, id);
}
FAKE_EXPORT Result cuptiActivityPopExternalCorrelationId_v2(Subscriber, uint32_t kind,
                                                            uint64_t* last) {
  return cuptiActivityPopExternalCorrelationId(kind, last);
}
#endif

// --- Control -------------------------------------------------------------------------------------

FAKE_EXPORT int fake_cupti_add(const void* record, size_t bytes) {
  const std::lock_guard lock(fake.mutex);
  const ActivityKind kind = kind_of(record);
  bool on = fake.kinds.count(static_cast<uint32_t>(kind)) != 0;
  if (kind == ActivityKind::kDriver || kind == ActivityKind::kRuntime) {
    Api call{};
    memcpy(&call, record, sizeof call);
    on |= fake.functions.count({kind == ActivityKind::kRuntime, call.callback_id}) != 0;
  }
  if (static_cast<uint32_t>(kind) == 12) on = true;  // as if another client had requested it
  if (!fake.subscribed || !on) return 0;
  std::vector<uint8_t> copy(size_of(kind), 0xab);
  memcpy(copy.data(), record, bytes < copy.size() ? bytes : copy.size());
  fake.pending.push_back(std::move(copy));
  return 1;
}
FAKE_EXPORT void fake_cupti_deliver(int backwards) { deliver(backwards != 0); }
FAKE_EXPORT void fake_cupti_deliver_raw(const void* bytes, size_t count) {
  const std::lock_guard lock(fake.mutex);
  size_t room = 0;
  uint8_t* buffer = ask_for_buffer(room);
  if (buffer == nullptr || count > room) return;
  memcpy(buffer, bytes, count);
  give_buffer_back(buffer, room, count);
}
FAKE_EXPORT void fake_cupti_hold(int hold) { fake.hold = hold != 0; }
FAKE_EXPORT void fake_cupti_drop(size_t records) {
  const std::lock_guard lock(fake.mutex);
  fake.dropped += records;
}
FAKE_EXPORT uint64_t fake_cupti_time() {
  if (fake.timestamp != nullptr) return fake.timestamp();
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}
FAKE_EXPORT int fake_cupti_call(uint32_t callback_id, const void* parameters,
                                uint32_t correlation) {
  Callback callback = nullptr;
  {
    const std::lock_guard lock(fake.mutex);
    if (fake.callbacks.count(callback_id) == 0) return 0;
    callback = fake.callback;
  }
  CallbackData data{};
  data.parameters = parameters;
  data.correlation = correlation;
  for (const uint32_t site : {0u, 1u}) {
    data.site = site;
    callback(fake.user, static_cast<uint32_t>(Domain::kDriver), callback_id, &data);
  }
  return 1;
}
FAKE_EXPORT int fake_cupti_kind_on(uint32_t kind) {
  const std::lock_guard lock(fake.mutex);
  return fake.kinds.count(kind) != 0 ? 1 : 0;
}
FAKE_EXPORT int fake_cupti_function_on(int runtime, uint32_t callback_id) {
  const std::lock_guard lock(fake.mutex);
  return fake.functions.count({runtime != 0, callback_id}) != 0 ? 1 : 0;
}
FAKE_EXPORT int fake_cupti_watches(uint32_t callback_id) {
  const std::lock_guard lock(fake.mutex);
  return fake.callbacks.count(callback_id) != 0 ? 1 : 0;
}
FAKE_EXPORT int fake_cupti_switched_off() {
  const std::lock_guard lock(fake.mutex);
  return fake.switched_off;
}
FAKE_EXPORT int fake_cupti_violations() {
  const std::lock_guard lock(fake.mutex);
  return fake.violations;
}
FAKE_EXPORT uint32_t fake_cupti_other(int take) {
  const std::lock_guard lock(fake.mutex);
  if (take != 0 && fake.subscribed) return kMultipleSubscribers;
  fake.taken_by_other = take != 0;
  return kSuccess;
}
FAKE_EXPORT int fake_cupti_subscribed() {
  const std::lock_guard lock(fake.mutex);
  return fake.subscribed ? 1 : 0;
}
FAKE_EXPORT uint64_t fake_cupti_external() { return externals.empty() ? 0 : externals.back(); }
