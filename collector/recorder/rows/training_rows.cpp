// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/training_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "collector/recorder/common/if_known.h"
#include "schema/marker_names.h"

namespace dprof::recorder {

using schema::MemoryCategory;
using schema::MemoryEventKind;
using wire::Kind;

namespace {

constexpr std::string_view kDomain = "dprof";
constexpr std::string_view kBatchSchema = "dprof.batch";
constexpr std::string_view kMemorySchema = "dprof.memory";
constexpr std::string_view kSettingPrefix = "ddp.";
constexpr size_t kMostSettingBytes = 1024;
constexpr int64_t kHostMemory = wire::kHostDevice;

std::optional<int64_t> not_negative(std::optional<int64_t> value) {
  return value && *value >= 0 ? value : std::nullopt;
}

}  // namespace

bool TrainingRows::on_record(const wire::ReadRecord& read, const ThreadRef& thread,
                             int64_t time_ns) {
  const wire::Record& record = read.record;
  switch (record.kind) {
    case Kind::kMemoryEvent:
      return on_memory_event(wire::body_of<wire::MemoryEvent>(record), thread, time_ns);
    case Kind::kMemorySample:
      return on_memory_sample(wire::body_of<wire::MemorySample>(record), time_ns);
    case Kind::kMemoryTag:
      return on_memory_tag(wire::body_of<wire::MemoryTag>(record), thread, time_ns);
    case Kind::kBucket:
      return on_bucket(wire::body_of<wire::Bucket>(record));
    case Kind::kGroupMember:
      return on_member(wire::body_of<wire::GroupMember>(record));
    case Kind::kSetting:
      return on_setting(record);
    default:
      return false;
  }
}

bool TrainingRows::on_memory_event(const wire::MemoryEvent& event, const ThreadRef& thread,
                                   int64_t time_ns) {
  if (event.kind > static_cast<uint8_t>(MemoryEventKind::kOom) || event.bytes < 0 ||
      event.device < kHostMemory ||
      event.category > static_cast<uint8_t>(MemoryCategory::kTemporary)) {
    return false;
  }
  const auto category = static_cast<MemoryCategory>(event.category);
  schema::MemoryEventRow row;
  row.thread_id = thread.id;
  row.device_id = event.device;
  row.time_ns = time_ns;
  row.kind = static_cast<MemoryEventKind>(event.kind);
  row.address = static_cast<int64_t>(event.address);
  row.bytes = event.bytes;
  row.requested_bytes = if_known(event.requested_bytes);
  if (category != MemoryCategory::kUnknown) row.category = category;
  add(std::move(row));
  return true;
}

bool TrainingRows::on_memory_tag(const wire::MemoryTag& tag, const ThreadRef& thread,
                                 int64_t time_ns) {
  if (tag.category > static_cast<uint8_t>(MemoryCategory::kTemporary) || tag.bytes < 0 ||
      tag.device < kHostMemory) {
    return false;
  }
  schema::MemoryEventRow row;
  row.thread_id = thread.id;
  row.device_id = tag.device;
  row.time_ns = time_ns;
  row.kind = MemoryEventKind::kRegistered;
  row.address = static_cast<int64_t>(tag.address);
  row.bytes = tag.bytes;
  row.category = static_cast<MemoryCategory>(tag.category);
  add(std::move(row));
  return true;
}

bool TrainingRows::on_memory_sample(const wire::MemorySample& sample, int64_t time_ns) {
  if (sample.device < kHostMemory) return false;
  schema::MemorySampleRow row;
  row.time_ns = time_ns;
  row.device_id = sample.device;
  row.step_index = sample.step >= 0 ? sample.step : context_.steps.steps();
  row.allocated_bytes = if_known(sample.allocated_bytes);
  row.reserved_bytes = if_known(sample.reserved_bytes);
  row.peak_allocated_bytes = if_known(sample.peak_allocated_bytes);
  row.peak_reserved_bytes = if_known(sample.peak_reserved_bytes);
  context_.output.append_numbered(row);
  ++rows_;
  return true;
}

bool TrainingRows::on_bucket(const wire::Bucket& body) {
  if (body.index < 0 || static_cast<size_t>(body.index) >= kMostBuckets) return false;
  if (buckets_.size() >= kMostGroups && !buckets_.contains(body.group)) return true;
  std::vector<Bucket>& buckets = buckets_[body.group];
  // The Reducer rebuilds its buckets after the first iteration, from the first one on.
  if (body.index == 0) buckets.clear();
  if (buckets.size() <= static_cast<size_t>(body.index)) {
    buckets.resize(static_cast<size_t>(body.index) + 1);
  }
  buckets[static_cast<size_t>(body.index)] = {body.bytes, body.parameters};
  ddp_changed_ = true;
  return true;
}

bool TrainingRows::on_member(const wire::GroupMember& body) {
  if (body.group == 0 || body.member < 0 || body.rank < 0) return false;
  const int64_t id =
      context_.communicators.find(body.group, schema::Backend::kUnknown, context_.output);
  if (members_.size() >= kMostMembers || !members_.emplace(id, body.member).second) return true;
  context_.output.append(schema::CommunicatorMemberRow{
      .communicator_id = id, .member = body.member, .rank = body.rank});
  return true;
}

bool TrainingRows::on_setting(const wire::Record& record) {
  const std::string text = context_.names.text(record.string);
  const size_t equals = text.find('=');
  if (!text.starts_with(kSettingPrefix) || equals == std::string::npos ||
      text.size() > kMostSettingBytes) {
    return false;
  }
  std::string key = text.substr(kSettingPrefix.size(), equals - kSettingPrefix.size());
  if (settings_.size() >= kMostSettings && !settings_.contains(key)) return true;
  settings_[std::move(key)] = text.substr(equals + 1);
  ddp_changed_ = true;
  return true;
}

void TrainingRows::write_ddp() {
  if (!ddp_changed_) return;
  ddp_changed_ = false;
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [key, value] : settings_) all[key] = value;
  const auto number = [](int64_t value) {
    return value < 0 ? nlohmann::json() : nlohmann::json(value);
  };
  for (const auto& [group, buckets] : buckets_) {
    nlohmann::json list = nlohmann::json::array();
    for (const Bucket& bucket : buckets) {
      list.push_back({{"bytes", number(bucket.bytes)}, {"parameters", number(bucket.parameters)}});
    }
    const int64_t id =
        context_.communicators.find(group, schema::Backend::kUnknown, context_.output);
    all["buckets"].push_back({{"communicator_id", id}, {"buckets", std::move(list)}});
  }
  context_.output.set_meta("ddp",
                           all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void TrainingRows::on_payload(const RangePayload& payload) {
  if (payload.domain == 0) return;
  if (domain_ != payload.domain) {
    if (context_.names.text(payload.domain) != kDomain) return;
    domain_ = payload.domain;
  }
  const PayloadSchemas::Schema* schema = context_.schemas.find(payload.domain, payload.schema_id);
  if (schema == nullptr) return;
  if (schema->name == kMemorySchema) return on_memory_payload(*schema, payload);
  if (schema->name != kBatchSchema) return;
  BatchFacts facts;
  facts.time_ns = payload.start_ns;
  facts.index_hash = integer_field(*schema, payload.bytes, "index_hash");
  facts.epoch = not_negative(integer_field(*schema, payload.bytes, "epoch"));
  facts.queue_depth = not_negative(integer_field(*schema, payload.bytes, "queue_depth"));
  facts.shape = text_field(*schema, payload.bytes, "shape");
  if (!facts.shape || facts.shape->empty()) {
    const auto size = not_negative(integer_field(*schema, payload.bytes, "batch_size"));
    facts.shape = size ? std::optional(std::to_string(*size)) : std::nullopt;
  }
  waits_.on_batch(payload.thread.id, std::move(facts));
}

void TrainingRows::on_memory_payload(const PayloadSchemas::Schema& schema,
                                     const RangePayload& payload) {
  const auto address = integer_field(schema, payload.bytes, "address");
  const auto bytes = not_negative(integer_field(schema, payload.bytes, "bytes"));
  const auto category = not_negative(integer_field(schema, payload.bytes, "category"));
  const auto device = integer_field(schema, payload.bytes, "device");
  if (!address || !bytes || !category ||
      *category > static_cast<int64_t>(MemoryCategory::kTemporary) ||
      device.value_or(0) < kHostMemory) {
    return;
  }
  schema::MemoryEventRow row;
  row.thread_id = payload.thread.id;
  row.device_id = device.value_or(kHostMemory);
  row.time_ns = payload.start_ns;
  row.kind = MemoryEventKind::kRegistered;
  row.address = *address;
  row.bytes = *bytes;
  row.category = static_cast<MemoryCategory>(*category);
  add(std::move(row));
}

void TrainingRows::on_range(const OpenRange& range, const ThreadRef& thread, int64_t end_ns) {
  if (range.marker == schema::Marker::kInput) waits_.on_wait(thread.id, range.start_ns, end_ns);
}

void TrainingRows::add(schema::MemoryEventRow row) {
  latest_ns_ = std::max(latest_ns_, row.time_ns);
  events_.push_back(std::move(row));
  if (events_.size() > kMostEvents) write_events(latest_ns_);
}

bool TrainingRows::follow_host_block(schema::MemoryEventRow& row) {
  if (row.device_id != kHostMemory) return true;
  if (row.kind == MemoryEventKind::kAlloc) {
    if (host_blocks_.size() < kMostBlocks) host_blocks_[row.address] = row.bytes;
    return true;
  }
  if (row.kind != MemoryEventKind::kFree) return true;
  const auto block = host_blocks_.find(row.address);
  if (block == host_blocks_.end()) return false;
  row.bytes = block->second;
  row.requested_bytes = block->second;
  host_blocks_.erase(block);
  return true;
}

void TrainingRows::write_events(int64_t until_ns) {
  std::ranges::stable_sort(events_, {}, &schema::MemoryEventRow::time_ns);
  const auto end =
      std::ranges::upper_bound(events_, until_ns, {}, &schema::MemoryEventRow::time_ns);
  for (auto row = events_.begin(); row != end; ++row) {
    if (!follow_host_block(*row)) continue;
    context_.output.append_numbered(std::move(*row));
    ++rows_;
  }
  events_.erase(events_.begin(), end);
}

void TrainingRows::flush() {
  write_events(settled_ns_);
  settled_ns_ = latest_ns_;
  write_ddp();
}

void TrainingRows::finish() {
  write_events(INT64_MAX);
  waits_.finish();
  write_ddp();
}

}  // namespace dprof::recorder
