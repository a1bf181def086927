// SPDX-License-Identifier: Apache-2.0
// Control of the fake CUPTI (fake_cupti.cpp) by the program that plays CUDA. C functions, found by
// dlsym in the library that DPROF_CUPTI_LIBRARY names.
//
// Environment of the fake
//   FAKE_CUPTI_ALL        everything but cuptiGetVersion answers this
//   FAKE_CUPTI_SUBSCRIBE  cuptiSubscribe answers this
//   FAKE_CUPTI_MULTI      cuptiSubscribe_v2 with several subscribers answers this
//   FAKE_CUPTI_OTHER      name of who has it already
//   FAKE_CUPTI_CLOCK      taking a timestamp callback answers this
//   FAKE_CUPTI_GROW       each record is so many bytes longer than in CUDA 13.0
//   FAKE_CUPTI_SLOW_US    reading a record takes so long
//   FAKE_CUPTI_STRICT     set: calls after its own exit handler are violations, and any ends the
//                         process with 97
#pragma once

#include <cstddef>
#include <cstdint>

namespace dprof::inject {

// Queues a record if its kind (and function) is switched on: 1 if so.
using FakeAdd = int (*)(const void* record, size_t bytes);
// Delivers queued records, oldest first or in reverse, in one buffer if they fit.
using FakeDeliver = void (*)(int backwards);
// Delivers these bytes unchanged, in one buffer.
using FakeDeliverRaw = void (*)(const void* bytes, size_t count);
// While 1, only a forced flush delivers, as if one record were incomplete.
using FakeHold = void (*)(int hold);
using FakeDrop = void (*)(size_t records);
using FakeTime = uint64_t (*)();
// The driver is called: 1 if the subscriber's callback was on.
using FakeCall = int (*)(uint32_t callback_id, const void* parameters, uint32_t correlation);
using FakeKindOn = int (*)(uint32_t kind);
using FakeFunctionOn = int (*)(int runtime, uint32_t callback_id);
// Calls that would harm another client or break CUPTI's rules: without the subscription, from
// within a buffer callback, or with a buffer that is null or not zeroed.
using FakeViolations = int (*)();
// Takes or releases the subscription as another client would; returns cuptiSubscribe's answer.
using FakeOther = uint32_t (*)(int take);
using FakeSubscribed = int (*)();
using FakeWatches = int (*)(uint32_t callback_id);
// The number of kinds and functions switched off again so far.
using FakeSwitchedOff = int (*)();
// The calling thread's external id on top, 0 = none.
using FakeExternal = uint64_t (*)();

}  // namespace dprof::inject
