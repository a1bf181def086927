// SPDX-License-Identifier: Apache-2.0
// Several clients per process: library 13.3 and driver r610, and only if all of them use these
// calls. Written from the headers of CUDA 13.3 and tested on a fake only.
#include <cstring>

#include "collector/inject/cuda/cupti_backend.h"

namespace dprof::inject::cupti {
namespace {

constinit Handlers handlers = {};

void request(uint8_t** buffer, size_t* bytes, size_t* max_records, void*) noexcept {
  *max_records = 0;  // as many as fit
  handlers.give_buffer(buffer, bytes);
}

void complete(uint8_t* buffer, size_t, size_t valid_bytes, void*) noexcept {
  handlers.take_buffer(buffer, valid_bytes);
}

Result subscribe(Client& client, const Handlers& ours) noexcept {
  handlers = ours;
  client.other[0] = '\0';
  SubscriberParameters parameters{};
  parameters.struct_bytes = sizeof parameters;
  parameters.name = "dprof";
  parameters.other_name = client.other;
  parameters.other_name_bytes = sizeof client.other;
  parameters.allow_others = 1;
  const Result result =
      client.table->subscribe_v2(&client.subscriber, ours.on_api, nullptr, &parameters);
  client.other[sizeof client.other - 1] = '\0';
  return result;
}

template <typename Value>
Result set_attribute(const Client& client, Attribute attribute, Value value) noexcept {
  size_t bytes = sizeof value;
  return client.table->set_attribute_v2(client.subscriber, attribute, &bytes, &value);
}

Result prepare(Client& client, const Handlers& ours) noexcept {
  // 13.3 does not accept our clock while others are allowed; a later version may.
  client.own_clock =
      set_attribute(client, Attribute::kTimestampCallback, ours.timestamp) == kSuccess;
  set_attribute(client, Attribute::kZeroedBuffers, uint8_t{1});
  set_attribute(client, Attribute::kThreadIdType, kThreadIdSystem);
  set_attribute(client, Attribute::kAllSyncRecords, uint8_t{0});
  set_attribute(client, Attribute::kGraphTraceForAll, uint8_t{1});
  return client.table->register_callbacks_v2(client.subscriber, &request, &complete);
}

void unsubscribe(Client& client) noexcept {
  client.table->unsubscribe(client.subscriber);
  client.subscriber = nullptr;
}

Result set_kind(const Client& client, ActivityKind kind, bool on) noexcept {
  const auto set = on ? client.table->enable_v2 : client.table->disable_v2;
  return set(client.subscriber, kind, nullptr);
}

Result set_api(const Client& client, Domain domain, uint32_t callback_id, bool on) noexcept {
  const auto set = domain == Domain::kDriver ? client.table->enable_driver_api_v2
                                             : client.table->enable_runtime_api_v2;
  return set(client.subscriber, callback_id, on ? 1 : 0);
}

Result next_record(const Client& client, uint8_t* buffer, size_t valid_bytes,
                   uint8_t** record) noexcept {
  return client.table->next_record_v2(client.subscriber, buffer, valid_bytes, record);
}

uint64_t dropped(const Client& client) noexcept {
  size_t count = 0;
  const Result result = client.table->dropped_records_v2(client.subscriber, nullptr, 0, &count);
  return result == kSuccess ? count : 0;
}

bool push(const Client& client, uint64_t id) noexcept {
  return client.table->push_external_v2(client.subscriber, kExternalCustom2, id) == kSuccess;
}

void pop(const Client& client) noexcept {
  uint64_t last = 0;
  client.table->pop_external_v2(client.subscriber, kExternalCustom2, &last);
}

}  // namespace

constinit const Backend kBackendV2 = {"v2",     &subscribe,   &prepare, &unsubscribe, &set_kind,
                                      &set_api, &next_record, &dropped, &push,        &pop};

}  // namespace dprof::inject::cupti
