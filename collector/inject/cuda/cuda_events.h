// SPDX-License-Identifier: Apache-2.0
// Dependencies between streams: event records, stream waits and event synchronisations, seen
// through callbacks on the driver's calls (which the runtime's calls end in), because activity
// records do not tie an event's record to its wait. The event is its handle, unique while the event
// lives.
//
// Threading  on_driver_call() on the calling thread, into that thread's ring.
#pragma once

#include "collector/inject/cuda/cupti_backend.h"

namespace dprof::inject {

// HOT PATH, on training threads, at the beginning of each of those calls. Budget: p50 <= 150 ns on
// top of CUPTI's own cost: two queries to CUPTI for ids and one record.
void on_driver_call(void* user, uint32_t domain, uint32_t callback_id,
                    const cupti::CallbackData* data) noexcept;

// Switches the callbacks on or off.
void watch_events(const cupti::Client& client, bool on) noexcept;

}  // namespace dprof::inject
