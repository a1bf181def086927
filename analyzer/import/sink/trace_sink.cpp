// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/sink/trace_sink.h"

#include <fmt/format.h>

#include <cstring>

#include "analyzer/import/sink/trace_sink_internal.h"
#include "analyzer/import/text.h"

namespace dprof::analyzer {
namespace {

int64_t packed(const std::optional<int64_t>& value) { return value.value_or(kNoValue); }

// Ids given out by the sink, and small numbers of devices and launch shapes.
int32_t small(int64_t value) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::clamp(value, -kMax, kMax));
}

int64_t end_of(int64_t start, const std::optional<int64_t>& duration) {
  return start + std::max<int64_t>(0, duration.value_or(0));
}

}  // namespace

// Names are long and mostly repeat: eight bytes at a time.
size_t TextHash::operator()(std::string_view text) const {
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;
  uint64_t hash = text.size() * kMultiplier;
  const char* at = text.data();
  size_t left = text.size();
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 32;
  };
  for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    mix(word);
  }
  uint64_t rest = 0;
  if (left > 0) std::memcpy(&rest, at, left);
  mix(rest);
  return hash;
}

TraceSink::TraceSink(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceSink::~TraceSink() = default;

void TraceSink::set_rank(int rank) { impl_->rank = rank; }
void TraceSink::set_place(int64_t place) { impl_->place = place; }
void TraceSink::set_world_size(int ranks) { impl_->world_size = ranks; }
void TraceSink::set_clock(FileClock clock) { impl_->clock = std::move(clock); }
void TraceSink::set_meta(std::string_view key, std::string_view value) {
  impl_->meta.insert_or_assign(std::string(key), std::string(value));
}
void TraceSink::set_format(std::string_view name) { impl_->format = name; }
void TraceSink::set_second_look(std::shared_ptr<SecondLook> look) { impl_->look = std::move(look); }

int64_t TraceSink::text(std::string_view text) {
  if (text.empty()) return 0;
  if (const auto known = impl_->text_ids.find(text); known != impl_->text_ids.end()) {
    return known->second;
  }
  const int64_t id = impl_->writer->intern(clean_utf8(std::string(text)));
  impl_->text_ids.emplace(impl_->texts.emplace_back(text), id);
  return id;
}

int64_t TraceSink::add_thread(const schema::ThreadRow& row) {
  const auto id = static_cast<int64_t>(impl_->threads.size());
  impl_->threads.push_back(row);
  impl_->threads.back().id = id;
  return id;
}

schema::ThreadRow& TraceSink::thread(int64_t id) { return impl_->threads[static_cast<size_t>(id)]; }

int64_t TraceSink::stack(int64_t caller, std::string_view function, std::string_view file,
                         std::optional<int64_t> line) {
  const int64_t function_id = text(function);
  const int64_t file_id = text(file);
  const auto next = static_cast<int64_t>(impl_->stacks.size()) + 1;
  const auto [entry, is_new] =
      impl_->stack_ids.try_emplace({caller, function_id, file_id, packed(line)}, next);
  if (is_new) {
    impl_->stacks.push_back({.id = next, .function_id = function_id, .line = line});
    if (caller > 0) impl_->stacks.back().caller_id = caller;
    if (file_id > 0) impl_->stacks.back().file_id = file_id;
  }
  return entry->second;
}

void TraceSink::set_device(const schema::DeviceRow& row) {
  impl_->devices.insert_or_assign(row.id, row);
}

bool TraceSink::has_device(int64_t id) const { return impl_->devices.contains(id); }

int64_t TraceSink::stream(int64_t device_id, int64_t cuda_stream, int64_t context) {
  const auto next = static_cast<int64_t>(impl_->streams.size());
  const auto [entry, is_new] =
      impl_->stream_ids.try_emplace({device_id, cuda_stream, context}, next);
  if (is_new) {
    impl_->devices.try_emplace(device_id, schema::DeviceRow{.id = device_id});
    impl_->streams.push_back({.id = next, .device_id = device_id, .cuda_stream = cuda_stream});
  }
  return entry->second;
}

void TraceSink::name_stream(int64_t id, std::string_view name) {
  impl_->streams[static_cast<size_t>(id)].name_id = text(name);
}

int64_t TraceSink::add_communicator(const schema::CommunicatorRow& row,
                                    std::span<const int> members) {
  const auto id = static_cast<int64_t>(impl_->communicators.size());
  impl_->communicators.push_back(row);
  impl_->communicators.back().id = id;
  for (size_t i = 0; i < members.size(); ++i) {
    impl_->members.push_back(
        {.communicator_id = id, .member = static_cast<int64_t>(i), .rank = members[i]});
  }
  return id;
}

void TraceSink::Impl::add_range(const schema::HostRangeRow& row, bool has_detail) {
  ++rows;
  see(row.start_ns, end_of(row.start_ns, row.duration_ns));
  (void)note(ranges.add({.start = row.start_ns,
                         .duration = packed(row.duration_ns),
                         .order = 0,
                         .sequence = packed(row.sequence),
                         .correlation = packed(row.correlation),
                         .name = small(row.name_id),
                         .thread_and_category = small(row.thread_id * 32 + (has_detail ? 16 : 0) +
                                                      static_cast<int64_t>(row.category))}));
}

void TraceSink::add(const schema::HostRangeRow& row) { impl_->add_range(row, false); }

void TraceSink::add(const schema::HostRangeRow& row, const RangeDetail& detail) {
  if (detail == RangeDetail{}) return add(row);
  impl_->add_range(row, true);
  const bool has_payload = detail.payload_kind != schema::PayloadKind::kNone;
  (void)impl_->note(impl_->details.add(
      {.start = row.start_ns,
       .duration = packed(row.duration_ns),
       .order = 0,
       .domain = packed(detail.domain_id),
       .color = packed(detail.color),
       .category = packed(detail.nvtx_category),
       .schema = packed(detail.schema_id),
       .payload_at = static_cast<int64_t>(impl_->payloads.size()),
       .payload_size = has_payload ? static_cast<int32_t>(detail.payload.size()) : -1,
       .payload_kind = static_cast<int32_t>(detail.payload_kind)}));
  impl_->payloads += detail.payload;
}

void TraceSink::add(const schema::GpuActivityRow& row,
                    const std::optional<schema::KernelShapeRow>& shape) {
  ++impl_->rows;
  impl_->see(row.start_ns, end_of(row.start_ns, row.duration_ns));
  GpuRecord record{.start = row.start_ns,
                   .duration = packed(row.duration_ns),
                   .order = 0,
                   .bytes = packed(row.bytes),
                   .correlation = packed(row.correlation),
                   .graph_node = packed(row.graph_node),
                   .graph = packed(row.graph),
                   .name = small(row.name_id),
                   .stream = small(row.stream_id),
                   .device = small(row.device_id),
                   .kind = static_cast<int16_t>(row.kind),
                   .has_shape = shape ? int16_t{1} : int16_t{0},
                   .grid = {},
                   .block = {}};
  if (shape) {
    record.grid[0] = small(shape->grid_x);
    record.grid[1] = small(shape->grid_y);
    record.grid[2] = small(shape->grid_z);
    record.block[0] = small(shape->block_x);
    record.block[1] = small(shape->block_y);
    record.block[2] = small(shape->block_z);
    record.registers = small(shape->registers);
    record.static_shared = small(shape->static_shared_bytes);
    record.dynamic_shared = small(shape->dynamic_shared_bytes);
  }
  (void)impl_->note(impl_->activities.add(record));
}

void TraceSink::add(const schema::GpuDependencyRow& row) {
  ++impl_->rows;
  impl_->see(row.wait_ns);
  impl_->see(row.record_ns);
  (void)impl_->note(
      impl_->dependencies.add({.start = row.wait_ns.value_or(0),
                               .duration = 0,
                               .order = 0,
                               .event = row.event,
                               .record_ns = packed(row.record_ns),
                               .correlation = packed(row.correlation),
                               .record_stream = small(row.record_stream_id.value_or(-1)),
                               .wait_stream = small(row.wait_stream_id.value_or(-1))}));
}

void TraceSink::add(const schema::CollectiveRow& row) {
  ++impl_->rows;
  impl_->see(row.enqueue_ns);
  impl_->see(row.start_ns);
  impl_->see(row.end_ns);
  impl_->collectives.push_back(row);
}

void TraceSink::add(const schema::StepRow& row) {
  ++impl_->rows;
  impl_->see(row.start_ns);
  impl_->see(row.end_ns);
  impl_->steps.push_back(row);
}

void TraceSink::add(const schema::MemoryEventRow& row) {
  ++impl_->rows;
  impl_->see(row.time_ns);
  (void)impl_->note(impl_->memory.add(
      {.start = row.time_ns,
       .duration = 0,
       .order = 0,
       .address = row.address,
       .bytes = row.bytes,
       .allocated = packed(row.allocated_bytes),
       .reserved = packed(row.reserved_bytes),
       .requested = packed(row.requested_bytes),
       .stack = packed(row.stack_id),
       .thread = small(row.thread_id.value_or(-1)),
       .device = small(row.device_id),
       .stream = small(row.stream_id.value_or(-1)),
       .kind = static_cast<int16_t>(row.kind),
       .category = row.category ? static_cast<int16_t>(*row.category) : int16_t{-1}}));
}

void TraceSink::add(const schema::MemorySampleRow& row) {
  ++impl_->rows;
  impl_->see(row.time_ns);
  impl_->samples.push_back(row);
}

void TraceSink::add(const schema::NvtxSchemaRow& row) { impl_->nvtx_schemas.push_back(row); }

void TraceSink::skip(const Skip& cause, std::optional<int64_t> time_ns, int64_t count) {
  impl_->skipped += count;
  auto known = std::ranges::find_if(impl_->skips,
                                    [&](const SkipCount& s) { return s.cause.what == cause.what; });
  if (known == impl_->skips.end()) {
    impl_->skips.push_back({cause, 0, {}, {}});
    known = impl_->skips.end() - 1;
  }
  known->count += count;
  if (!time_ns) return;
  known->first = std::min(known->first.value_or(*time_ns), *time_ns);
  known->last = std::max(known->last.value_or(*time_ns), *time_ns);
}

void TraceSink::used(int64_t count) { impl_->used += count; }

void TraceSink::remark(std::string_view code, std::string_view text, int64_t count) {
  impl_->remarks.push_back({.code = std::string(code), .count = count});
  impl_->remark_texts.emplace_back(text);
}

Status TraceSink::status() const {
  if (impl_->failed) return fail(*impl_->failed);
  return Done{};
}

int64_t TraceSink::rows() const { return impl_->rows; }
int64_t TraceSink::skipped() const { return impl_->skipped; }

}  // namespace dprof::analyzer
