// SPDX-License-Identifier: Apache-2.0
// The second half of TraceSink: writes the gathered rows in order.
#include <fmt/format.h>

#include <tuple>

#include "analyzer/import/sink/trace_sink_internal.h"
#include "schema/diagnostics.h"

namespace dprof::analyzer {
namespace {

std::optional<int64_t> unpacked(int64_t value) {
  return value == kNoValue ? std::nullopt : std::optional(value);
}

std::optional<int64_t> reference(int32_t id) {
  return id < 0 ? std::nullopt : std::optional<int64_t>(id);
}

// Counts ranges of a thread that begin within another range and end after it.
class NestingCheck {
 public:
  void see(const RangeRecord& row, schema::RangeCategory category) {
    using schema::RangeCategory;
    const bool nests = category != RangeCategory::kNvtxProcess &&
                       category != RangeCategory::kOverhead && row.duration != kNoValue;
    if (!nests) return;
    const auto thread = static_cast<size_t>(row.thread_and_category >> 5);
    if (thread >= open_.size()) open_.resize(thread + 1);
    std::vector<int64_t>& ends = open_[thread];
    const int64_t end = row.start + row.duration;
    while (!ends.empty() && ends.back() <= row.start) ends.pop_back();
    crossings_ += !ends.empty() && end > ends.back() ? 1 : 0;
    ends.push_back(end);
  }
  [[nodiscard]] int64_t crossings() const { return crossings_; }

 private:
  std::vector<std::vector<int64_t>> open_;  // by thread: ends of the open ranges
  int64_t crossings_ = 0;
};

template <typename Rows>
Status append_all(schema::TraceWriter& writer, const Rows& rows) {
  for (const auto& row : rows) {
    if (Status done = writer.append(row); !done.ok()) return done;
  }
  return Done{};
}

}  // namespace

Status TraceSink::Impl::write_ranges() {
  int64_t id = 0;
  NestingCheck nesting;
  schema::HostRangeRow row;
  Status done = ranges.drain([&](const RangeRecord& record) -> Status {
    row.id = ++id;
    row.thread_id = record.thread_and_category >> 5;
    row.category = static_cast<schema::RangeCategory>(record.thread_and_category & 15);
    row.start_ns = record.start;
    row.duration_ns = unpacked(record.duration);
    row.name_id = record.name;
    row.sequence = unpacked(record.sequence);
    row.correlation = unpacked(record.correlation);
    if ((record.thread_and_category & 16) != 0) ranges_detailed.push_back(id);
    nesting.see(record, row.category);
    if (look != nullptr) look->range(row);
    row.start_ns -= zero;
    return writer->append(row);
  });
  if (nesting.crossings() > 0) {
    remarks.push_back({.code = "import_overlaps", .count = nesting.crossings()});
    remark_texts.push_back(fmt::format("{}: {} ranges end after the range in which they began",
                                       path.filename().string(), nesting.crossings()));
  }
  return done;
}

Status TraceSink::Impl::write_details() {
  size_t next = 0;
  return details.drain([&](const DetailRecord& record) -> Status {
    schema::RangeDetailRow row{
        .range_id = ranges_detailed[next++],
        .domain_id = unpacked(record.domain),
        .color = unpacked(record.color),
        .nvtx_category = unpacked(record.category),
        .payload_kind = static_cast<schema::PayloadKind>(record.payload_kind),
        .schema_id = unpacked(record.schema)};
    if (record.payload_size >= 0)
      row.payload = payloads.substr(static_cast<size_t>(record.payload_at),
                                    static_cast<size_t>(record.payload_size));
    return writer->append(row);
  });
}

Status TraceSink::Impl::write_activities() {
  int64_t id = 0;
  int64_t overlaps = 0;
  std::vector<int64_t> ends(streams.size(), std::numeric_limits<int64_t>::min());
  Status done = activities.drain([&](const GpuRecord& record) -> Status {
    const auto kind = static_cast<schema::GpuActivityKind>(record.kind);
    if (kind != schema::GpuActivityKind::kSync && record.duration != kNoValue) {
      int64_t& end = ends[static_cast<size_t>(record.stream)];
      overlaps += record.start < end ? 1 : 0;
      end = std::max(end, record.start + record.duration);
    }
    schema::ShapedActivity row{.activity = {.id = ++id,
                                            .device_id = record.device,
                                            .stream_id = record.stream,
                                            .start_ns = record.start - zero,
                                            .duration_ns = unpacked(record.duration),
                                            .name_id = record.name,
                                            .kind = kind,
                                            .bytes = unpacked(record.bytes),
                                            .correlation = unpacked(record.correlation),
                                            .graph_node = unpacked(record.graph_node),
                                            .graph = unpacked(record.graph)}};
    if (record.has_shape != 0) {
      row.shape = {.activity_id = id,
                   .grid_x = record.grid[0],
                   .grid_y = record.grid[1],
                   .grid_z = record.grid[2],
                   .block_x = record.block[0],
                   .block_y = record.block[1],
                   .block_z = record.block[2],
                   .registers = record.registers,
                   .static_shared_bytes = record.static_shared,
                   .dynamic_shared_bytes = record.dynamic_shared};
    }
    return writer->append(row);
  });
  if (overlaps > 0) {
    remarks.push_back({.code = "import_overlaps", .count = overlaps});
    remark_texts.push_back(
        fmt::format("{}: {} rows of a stream begin before the previous row has ended",
                    path.filename().string(), overlaps));
  }
  return done;
}

Status TraceSink::Impl::write_memory() {
  int64_t id = 0;
  return memory.drain([&](const MemoryRecord& record) -> Status {
    return writer->append(schema::MemoryEventRow{
        .id = ++id,
        .thread_id = reference(record.thread),
        .device_id = record.device,
        .time_ns = record.start - zero,
        .kind = static_cast<schema::MemoryEventKind>(record.kind),
        .address = record.address,
        .bytes = record.bytes,
        .stream_id = reference(record.stream),
        .allocated_bytes = unpacked(record.allocated),
        .reserved_bytes = unpacked(record.reserved),
        .requested_bytes = unpacked(record.requested),
        .category = record.category < 0
                        ? std::nullopt
                        : std::optional(static_cast<schema::MemoryCategory>(record.category)),
        .stack_id = unpacked(record.stack)});
  });
}

Status TraceSink::Impl::write_samples() {
  std::ranges::stable_sort(samples, {}, &schema::MemorySampleRow::time_ns);
  int64_t id = 0;
  for (schema::MemorySampleRow& row : samples) {
    row.id = ++id;
    row.time_ns -= zero;
  }
  return append_all(*writer, samples);
}

Status TraceSink::Impl::write_dependencies() {
  int64_t id = 0;
  return dependencies.drain([&](const DependencyRecord& record) -> Status {
    return writer->append(
        schema::GpuDependencyRow{.id = ++id,
                                 .event = record.event,
                                 .record_stream_id = reference(record.record_stream),
                                 .wait_stream_id = reference(record.wait_stream),
                                 .record_ns = on_axis(unpacked(record.record_ns)),
                                 .wait_ns = record.start - zero,
                                 .correlation = unpacked(record.correlation)});
  });
}

Status TraceSink::Impl::write_collectives() {
  const auto place = [](const schema::CollectiveRow& row) {
    const int64_t arrival =
        row.enqueue_ns.value_or(row.start_ns.value_or(std::numeric_limits<int64_t>::max()));
    return std::make_tuple(row.communicator_id.value_or(-1), arrival,
                           row.start_ns.value_or(arrival));
  };
  std::ranges::stable_sort(collectives, {}, place);
  int64_t id = 0;
  for (schema::CollectiveRow& row : collectives) {
    row.id = ++id;
    row.enqueue_ns = on_axis(row.enqueue_ns);
    row.start_ns = on_axis(row.start_ns);
    row.end_ns = on_axis(row.end_ns);
    row.ready_ns = on_axis(row.ready_ns);
  }
  return append_all(*writer, collectives);
}

// The table's rows never overlap: a step that begins within the previous one is left out.
Status TraceSink::Impl::write_steps() {
  std::ranges::stable_sort(steps, {}, &schema::StepRow::start_ns);
  int64_t last_end = std::numeric_limits<int64_t>::min();
  int64_t left_out = 0;
  for (schema::StepRow row : steps) {
    if (row.start_ns < last_end) {
      ++left_out;
      continue;
    }
    last_end = row.end_ns.value_or(row.start_ns);
    row.start_ns -= zero;
    row.end_ns = on_axis(row.end_ns);
    if (Status done = writer->append(row); !done.ok()) return done;
  }
  rows -= left_out;
  if (left_out > 0) {
    remarks.push_back({.code = "import_overlaps", .count = left_out});
    remark_texts.push_back(fmt::format(
        "{}: {} steps begin within another step and have no row in `step`; their ranges are in host_range",
        path.filename().string(), left_out));
  }
  return Done{};
}

Status TraceSink::Impl::write_dictionaries() {
  if (Status done = append_all(*writer, threads); !done.ok()) return done;
  for (const schema::StreamRow& row : streams) {
    if (Status done = writer->append(row); !done.ok()) return done;
  }
  for (const auto& [id, row] : devices) {
    if (Status done = writer->append(row); !done.ok()) return done;
  }
  if (Status done = append_all(*writer, stacks); !done.ok()) return done;
  if (Status done = append_all(*writer, nvtx_schemas); !done.ok()) return done;
  if (Status done = append_all(*writer, communicators); !done.ok()) return done;
  return append_all(*writer, members);
}

Status TraceSink::Impl::write_losses() {
  for (const SkipCount& skip : skips) {
    if (Status done = writer->append(schema::LossRow{.source = schema::Source::kImport,
                                                     .reason = schema::LossReason::kSkippedRow,
                                                     .count = skip.count,
                                                     .first_ns = on_axis(skip.first),
                                                     .last_ns = on_axis(skip.last)});
        !done.ok()) {
      return done;
    }
    remarks.push_back(
        {.code = skip.cause.repeats ? "import_repeats" : "import_skipped", .count = skip.count});
    remark_texts.push_back(
        fmt::format("{}: {} {}", path.filename().string(), skip.count, skip.cause.what));
  }
  for (size_t i = 0; i < remarks.size(); ++i) {
    schema::DiagnosticRow& row = remarks[i];
    row.severity = schema::diagnostic_kind(row.code).severity;
    row.text_id = writer->intern(remark_texts[i]);
    if (Status done = writer->append(row); !done.ok()) return done;
  }
  return Done{};
}

void TraceSink::Impl::write_meta(std::string_view run_id, const std::string& own_clock) {
  const auto set = [&](std::string_view key, int64_t value) {
    writer->set_meta(key, std::to_string(value));
  };
  writer->set_meta("dprof_version", DPROF_VERSION);
  writer->set_meta("run_id", run_id);
  writer->set_meta("imported_from", path.filename().string());
  writer->set_meta("imported_format", format);
  writer->set_meta("ended", cut ? "recovered" : "complete");
  set("time_resolution_ns", clock.resolution_ns);
  std::string shared = clock.host;
  if (!clock.session.empty()) shared += "/" + clock.session;
  writer->set_meta("clock_id", shared.empty() ? own_clock : "import:" + shared);
  if (!clock.host.empty()) writer->set_meta("host", clock.host);
  if (!shared.empty()) set("origin_monotonic_raw_ns", clock.realtime_at_zero_ns.value_or(0) + zero);
  if (clock.realtime_at_zero_ns) set("origin_realtime_ns", *clock.realtime_at_zero_ns + zero);
  if (rank) set("rank", *rank);
  if (world_size) set("world_size", *world_size);
  if (last >= first) {
    set("first_event_ns", first - zero);
    set("last_event_ns", last - zero);
  }
  set("records", rows);
  for (const auto& [key, value] : meta) writer->set_meta(key, value);
}

Status TraceSink::Impl::finish(std::string_view run_id, const std::string& own_clock) {
  if (failed) return fail(*failed);
  zero = last >= first ? first : 0;
  if (Status done = note(write_ranges()); !done.ok()) return done;
  if (look != nullptr) look->all_seen();
  for (const auto part : {&Impl::write_details, &Impl::write_activities, &Impl::write_memory,
                          &Impl::write_samples, &Impl::write_dependencies, &Impl::write_collectives,
                          &Impl::write_steps, &Impl::write_dictionaries, &Impl::write_losses}) {
    if (Status done = note((this->*part)()); !done.ok()) return done;
  }
  if (failed) return fail(*failed);
  write_meta(run_id, own_clock);
  const Result<bool> finished = writer->finish();
  if (!finished.ok()) return fail(finished.error());
  writer.reset();
  return Done{};
}

}  // namespace dprof::analyzer
