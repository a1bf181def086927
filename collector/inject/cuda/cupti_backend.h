// SPDX-License-Identifier: Apache-2.0
// One interface over CUPTI's two ways of being used: v1, where the process has one client, and v2,
// where several share it (library 13.3, driver r610). Nothing but subscribe() may be called before
// it has succeeded, because v1's activity state is global: a call without the subscription would
// spoil another client's.
//
// Threading  attach and changes by one thread at a time; push/pop by any thread.
#pragma once

#include "collector/inject/cuda/cupti_table.h"

namespace dprof::inject::cupti {

// What CUPTI calls us for.
struct Handlers {
  Callback on_api;  // driver calls on events
  void (*give_buffer)(uint8_t** buffer,
                      size_t* bytes) noexcept;  // never gives null while any is left
  void (*take_buffer)(uint8_t* buffer, size_t valid_bytes) noexcept;
  Timestamp timestamp;  // ns on the trace's axis
};

struct Client {
  const Table* table;
  Subscriber subscriber;
  bool own_clock;  // CUPTI took our timestamp callback; else its times are CLOCK_REALTIME
  char other[kSubscriberNameBytes];  // who has CUPTI, when subscribe() returned 39 and it says so
};

struct Backend {
  const char* name;
  Result (*subscribe)(Client&, const Handlers&) noexcept;
  // Buffers, clock and attributes; once after subscribe(). The result of the first call that
  // matters and failed.
  Result (*prepare)(Client&, const Handlers&) noexcept;
  void (*unsubscribe)(Client&) noexcept;
  Result (*set_kind)(const Client&, ActivityKind, bool on) noexcept;
  Result (*set_api)(const Client&, Domain, uint32_t callback_id, bool on) noexcept;
  Result (*next_record)(const Client&, uint8_t* buffer, size_t valid_bytes,
                        uint8_t** record) noexcept;
  uint64_t (*dropped)(const Client&) noexcept;  // since the last call
  bool (*push)(const Client&, uint64_t id) noexcept;
  void (*pop)(const Client&) noexcept;
};

extern const Backend kBackendV1;
extern const Backend kBackendV2;

}  // namespace dprof::inject::cupti
