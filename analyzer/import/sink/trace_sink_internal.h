// SPDX-License-Identifier: Apache-2.0
// The part of TraceSink that FileSink needs.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/import/sink/row_sorter.h"
#include "analyzer/import/sink/trace_sink.h"
#include "schema/trace_writer.h"

namespace dprof::analyzer {

inline constexpr int64_t kNoValue = INT64_MIN;  // of an optional column, within a sorter

struct RangeRecord {
  int64_t start;
  int64_t duration;  // kNoValue = open, sorted as the longest
  int64_t order;
  int64_t sequence;
  int64_t correlation;
  int32_t name;
  int32_t thread_and_category;  // thread * 32 + (it has a detail ? 16 : 0) + category
};

// In the order of their ranges.
struct DetailRecord {
  int64_t start;
  int64_t duration;
  int64_t order;
  int64_t domain, color, category, schema;
  int64_t payload_at;    // in TraceSink::Impl::payloads
  int32_t payload_size;  // -1 = none
  int32_t payload_kind;
};

struct GpuRecord {
  int64_t start;
  int64_t duration;
  int64_t order;
  int64_t bytes;
  int64_t correlation;
  int64_t graph_node;
  int64_t graph;
  int32_t name;
  int32_t stream;
  int32_t device;
  int16_t kind;
  int16_t has_shape;
  int32_t grid[3];
  int32_t block[3];
  int32_t registers, static_shared, dynamic_shared;
};

struct MemoryRecord {
  int64_t start;
  int64_t duration;  // 0
  int64_t order;
  int64_t address, bytes, allocated, reserved, requested, stack;
  int32_t thread, device, stream;  // -1 = none; for `device`: host memory
  int16_t kind, category;
};

struct DependencyRecord {
  int64_t start;     // wait
  int64_t duration;  // 0
  int64_t order;
  int64_t event, record_ns, correlation;
  int32_t record_stream, wait_stream;  // -1 = none
};

// By start; of equal starts the longer first, an open one before all.
template <typename Record>
requires requires(Record r) { r.start, r.duration, r.order; }
bool operator<(const Record& a, const Record& b) {
  if (a.start != b.start) return a.start < b.start;
  if (a.duration != b.duration) {
    return a.duration == kNoValue || (b.duration != kNoValue && a.duration > b.duration);
  }
  return a.order < b.order;
}

struct SkipCount {
  Skip cause;
  int64_t count = 0;
  std::optional<int64_t> first, last;
};

struct TextHash {
  size_t operator()(std::string_view text) const;
};

struct TraceSink::Impl {
  explicit Impl(const std::filesystem::path& folder)
      : ranges(folder), details(folder), activities(folder), memory(folder), dependencies(folder) {}

  // Writes everything and closes the trace.
  Status finish(std::string_view run_id, const std::string& own_clock);

  Status note(Status status) {
    if (!status.ok() && !failed) failed = status.error();
    return status;
  }
  void see(int64_t begin, int64_t end) {
    first = std::min(first, begin);
    last = std::max(last, end);
  }
  void see(const std::optional<int64_t>& time) {
    if (time) see(*time, *time);
  }
  [[nodiscard]] std::optional<int64_t> on_axis(const std::optional<int64_t>& time) const {
    return time ? std::optional(*time - zero) : std::nullopt;
  }

  void add_range(const schema::HostRangeRow& row, bool has_detail);
  Status write_ranges();
  Status write_details();
  Status write_activities();
  Status write_memory();
  Status write_samples();
  Status write_dependencies();
  Status write_collectives();
  Status write_steps();
  Status write_dictionaries();
  Status write_losses();
  void write_meta(std::string_view run_id, const std::string& own_clock);

  std::unique_ptr<schema::TraceWriter> writer;
  std::optional<Error> failed;
  std::filesystem::path path;

  std::optional<int> rank;
  std::optional<int> world_size;
  int64_t place = 0;
  FileClock clock;
  std::string format;
  std::map<std::string, std::string> meta;
  bool cut = false;  // the file was not readable to its end

  std::deque<std::string> texts;
  std::unordered_map<std::string_view, int64_t, TextHash> text_ids;

  std::vector<schema::ThreadRow> threads;
  std::map<int64_t, schema::DeviceRow> devices;
  std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> stream_ids;
  std::vector<schema::StreamRow> streams;
  std::vector<schema::CommunicatorRow> communicators;
  std::vector<schema::CommunicatorMemberRow> members;
  std::vector<schema::NvtxSchemaRow> nvtx_schemas;

  RowSorter<RangeRecord> ranges;
  RowSorter<DetailRecord> details;
  std::string payloads;                  // of all details
  std::vector<int64_t> ranges_detailed;  // their ids, once they are written
  RowSorter<GpuRecord> activities;
  RowSorter<MemoryRecord> memory;
  RowSorter<DependencyRecord> dependencies;
  std::vector<schema::CollectiveRow> collectives;
  std::vector<schema::StepRow> steps;
  std::vector<schema::MemorySampleRow> samples;
  std::vector<schema::CallStackRow> stacks;
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, int64_t> stack_ids;

  std::vector<SkipCount> skips;
  std::vector<schema::DiagnosticRow> remarks;
  std::vector<std::string> remark_texts;
  std::shared_ptr<SecondLook> look;

  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  int64_t zero = 0;  // time in the file that becomes the trace's time 0
  int64_t rows = 0;
  int64_t skipped = 0;
  int64_t used = 0;
};

}  // namespace dprof::analyzer
