// SPDX-License-Identifier: Apache-2.0
// One interface over CUPTI's two modes: v1, with one client per process, and v2, with several
// (library 13.3, driver r610). Only subscribe() may be called before it has succeeded, because v1's
// activity state is global: a call without the subscription would disturb another client.
//
// Threading  attach and changes by one thread at a time; push/pop by any thread.
#pragma once

#include "collector/inject/cuda/cupti_table.h"

namespace dprof::inject::cupti {

// The functions that CUPTI calls.
struct Handlers {
  Callback on_api;  // driver calls on events
  void (*give_buffer)(uint8_t** buffer,
                      size_t* bytes) noexcept;  // never null while any buffer is left
  void (*take_buffer)(uint8_t* buffer, size_t valid_bytes) noexcept;
  Timestamp timestamp;  // ns on the trace's axis
};

struct Client {
  const Table* table;
  Subscriber subscriber;
  bool own_clock;  // CUPTI accepted our timestamp callback; else its times are CLOCK_REALTIME
  char other[kSubscriberNameBytes];  // the current client, if subscribe() returned 39
};

struct Backend {
  const char* name;
  Result (*subscribe)(Client&, const Handlers&) noexcept;
  // Buffers, clock and attributes; once after subscribe(). Returns the result of the first
  // essential call that failed.
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
