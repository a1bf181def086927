// SPDX-License-Identifier: Apache-2.0
// One client per process: CUDA 12 to 13.2, and every driver before r610.
#include <cstring>

#include "collector/inject/cuda/cupti_backend.h"

namespace dprof::inject::cupti {
namespace {

constinit Handlers handlers = {};

void request(uint8_t** buffer, size_t* bytes, size_t* max_records) noexcept {
  *max_records = 0;  // as many as fit
  handlers.give_buffer(buffer, bytes);
}

void complete(Context, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) noexcept {
  handlers.take_buffer(buffer, valid_bytes);
}

Result subscribe(Client& client, const Handlers& ours) noexcept {
  handlers = ours;
  client.other[0] = '\0';
  if (client.table->subscribe_v2 == nullptr) {
    return client.table->subscribe(&client.subscriber, ours.on_api, nullptr);
  }
  // Only to give our name and get the other client's; the rest stays v1.
  SubscriberParameters parameters{};
  parameters.struct_bytes = kSubscriberParameters130;
  parameters.name = "dprof";
  parameters.other_name = client.other;
  parameters.other_name_bytes = sizeof client.other;
  const Result result =
      client.table->subscribe_v2(&client.subscriber, ours.on_api, nullptr, &parameters);
  client.other[sizeof client.other - 1] = '\0';
  return result;
}

Result prepare(Client& client, const Handlers& ours) noexcept {
  const Table& table = *client.table;
  // Before any kind is on, so that no record carries another clock.
  client.own_clock =
      table.register_timestamp != nullptr && table.register_timestamp(ours.timestamp) == kSuccess;
  uint8_t zeroed = 1;
  size_t bytes = sizeof zeroed;
  table.set_attribute(Attribute::kZeroedBuffers, &bytes, &zeroed);
  if (table.set_thread_id_type != nullptr) table.set_thread_id_type(kThreadIdSystem);
  if (table.enable_all_sync_records != nullptr) table.enable_all_sync_records(0);
  return table.register_callbacks(&request, &complete);
}

void unsubscribe(Client& client) noexcept {
  client.table->unsubscribe(client.subscriber);
  client.subscriber = nullptr;
}

Result set_kind(const Client& client, ActivityKind kind, bool on) noexcept {
  return on ? client.table->enable(kind) : client.table->disable(kind);
}

Result set_api(const Client& client, Domain domain, uint32_t callback_id, bool on) noexcept {
  const auto set = domain == Domain::kDriver ? client.table->enable_driver_api
                                             : client.table->enable_runtime_api;
  return set != nullptr ? set(callback_id, on ? 1 : 0) : kInvalidKind;
}

Result next_record(const Client& client, uint8_t* buffer, size_t valid_bytes,
                   uint8_t** record) noexcept {
  return client.table->next_record(buffer, valid_bytes, record);
}

uint64_t dropped(const Client& client) noexcept {
  size_t count = 0;
  return client.table->dropped_records(nullptr, 0, &count) == kSuccess ? count : 0;
}

bool push(const Client& client, uint64_t id) noexcept {
  return client.table->push_external(kExternalCustom2, id) == kSuccess;
}

void pop(const Client& client) noexcept {
  uint64_t last = 0;
  client.table->pop_external(kExternalCustom2, &last);
}

}  // namespace

constinit const Backend kBackendV1 = {"v1",     &subscribe,   &prepare, &unsubscribe, &set_kind,
                                      &set_api, &next_record, &dropped, &push,        &pop};

}  // namespace dprof::inject::cupti
