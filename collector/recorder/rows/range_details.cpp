// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/range_details.h"

#include <algorithm>

namespace dprof::recorder {
namespace {

std::optional<std::string> payload_bytes(uint8_t kind, uint64_t payload,
                                         const wire::ReadRecord& read) {
  using schema::PayloadKind;
  switch (static_cast<PayloadKind>(kind)) {
    case PayloadKind::kNone:
      return std::nullopt;
    case PayloadKind::kSchema: {
      const size_t bytes = std::min<uint64_t>(payload, read.more_bytes);
      return std::string(reinterpret_cast<const char*>(read.more), bytes);
    }
    case PayloadKind::kUint32:
    case PayloadKind::kInt32:
    case PayloadKind::kFloat:
      return std::string(reinterpret_cast<const char*>(&payload), sizeof(uint32_t));
    case PayloadKind::kUint64:
    case PayloadKind::kInt64:
    case PayloadKind::kDouble:
      break;
  }
  return std::string(reinterpret_cast<const char*>(&payload), sizeof payload);
}

}  // namespace

bool RangeDetails::on_schema_entry(const wire::Record& record) {
  const wire::SchemaEntry& entry = record.schema_entry;
  const auto text = [&](uint32_t arena_id) -> std::optional<int64_t> {
    return arena_id == 0 ? std::nullopt : std::optional(names_.find(arena_id).id);
  };
  output_.append(schema::NvtxSchemaRow{
      .domain_id = text(entry.domain),
      .schema_id = static_cast<int64_t>(entry.schema_id),
      .name_id = text(entry.schema_name),
      .entry_index = entry.index,
      .entry_name_id = text(record.string),
      .entry_type = static_cast<int64_t>(entry.type),
      .entry_offset = static_cast<int64_t>(entry.offset),
      .entry_flags = entry.flags,
      .entry_detail = static_cast<int64_t>(entry.detail),
  });
  return schemas_.add(entry, names_.text(entry.schema_name), names_.text(record.string));
}

void RangeDetails::on_begin(RangePayload about, const wire::ReadRecord& read) {
  const wire::RangeBegin& begin = read.record.range_begin;
  if (begin.domain == 0 && begin.has == 0 && begin.payload_kind == 0) return;
  about.domain = begin.domain;
  about.name = read.record.string;
  about.schema_id = begin.schema_id;
  write(about, begin, read);
}

void RangeDetails::write(const RangePayload& about, const wire::RangeBegin& begin,
                         const wire::ReadRecord& read) {
  schema::RangeDetailRow row;
  row.range_id = about.range_id;
  if (begin.domain != 0) row.domain_id = names_.find(begin.domain).id;
  if ((begin.has & wire::kHasColor) != 0) row.color = begin.color;
  if ((begin.has & wire::kHasNvtxCategory) != 0) row.nvtx_category = begin.nvtx_category;
  row.payload_kind = static_cast<schema::PayloadKind>(begin.payload_kind);
  row.payload = payload_bytes(begin.payload_kind, begin.payload, read);
  if (row.payload_kind == schema::PayloadKind::kSchema) {
    row.schema_id = static_cast<int64_t>(begin.schema_id);
  }
  if ((begin.has & wire::kPayloadCut) != 0) {
    losses_.add(schema::Source::kNvtx, std::nullopt, schema::LossReason::kTextCut, 1,
                clock_.to_host(read.record.ticks).ns, clock_.to_host(read.record.ticks).ns);
  }
  output_.append(row);
  if (row.payload_kind != schema::PayloadKind::kSchema || !row.payload) return;
  RangePayload payload = about;
  payload.bytes = *row.payload;
  on_payload_(payload);
}

void RangeDetails::on_end(const OpenRange& range, const ThreadRef& thread, int64_t end_ns,
                          const wire::ReadRecord& read) {
  const wire::RangeEnd& end = read.record.range_end;
  wire::RangeBegin as_begin{};
  as_begin.domain = range.domain;
  as_begin.payload_kind = end.payload_kind;
  as_begin.payload = end.payload;
  as_begin.schema_id = end.schema_id;
  as_begin.has = end.has & wire::kPayloadCut;
  write({.range_id = range.id,
         .thread = thread,
         .start_ns = range.start_ns,
         .end_ns = end_ns,
         .domain = range.domain,
         .name = range.name,
         .schema_id = end.schema_id},
        as_begin, read);
}

}  // namespace dprof::recorder
