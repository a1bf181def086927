// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/gpu_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "analyzer/digest/attribution.h"
#include "analyzer/digest/range_names.h"
#include "analyzer/digest/sensible.h"
#include "base/interval.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {
namespace {

using schema::GpuActivityKind;

int64_t floor_us(int64_t ns) {
  return ns >= 0 ? ns / kNsPerUs * kNsPerUs : -((-ns + kNsPerUs - 1) / kNsPerUs * kNsPerUs);
}
int64_t ceil_us(int64_t ns) { return -floor_us(-ns); }

// The counted rows of one device. A row of length 0 counts in `span`, and nowhere else.
struct DeviceRows {
  std::vector<Interval> compute, communication, memory, sync;
  TraceNs first{INT64_MAX};
  TraceNs last{INT64_MIN};

  void add(std::vector<Interval>& list, Interval interval) {
    first = std::min(first, interval.begin);
    last = std::max(last, interval.end);
    if (!interval.empty()) list.push_back(interval);
  }

  void add_to(RankGpuRows& sums) {
    const IntervalSet computed = union_of(std::move(compute));
    const IntervalSet communicated = union_of(std::move(communication));
    const IntervalSet moved = union_of(std::move(memory));
    const IntervalSet busy =
        union_of(union_of(union_of(computed, communicated), moved), union_of(std::move(sync)));
    const int64_t span = std::max<int64_t>(0, (last - first).ns);
    sums.span_ns += span;
    sums.busy_ns += measure(busy).ns;
    sums.idle_ns += span - measure(busy).ns;
    sums.compute_ns += measure(computed).ns;
    sums.communication_ns += measure(communicated).ns;
    sums.memory_ns += measure(moved).ns;
    sums.overlap_ns += measure(intersection_of(computed, communicated)).ns;
  }
};

class RowCounter {
 public:
  RowCounter(const schema::TraceReader& reader, RowFilter filter)
      : reader_(reader), filter_(filter) {}

  Status run() {
    for (const auto stage : {&RowCounter::read_launches, &RowCounter::read_steps,
                             &RowCounter::read_collectives, &RowCounter::read_streams}) {
      if (const Status good = (this->*stage)(); !good.ok()) return fail(good.error());
    }
    const LaunchIndex launches(launches_);
    const Status read = reader_.for_each<schema::GpuActivityRow>(
        [&](const schema::GpuActivityRow& row) { take(row, launches); });
    if (!read.ok()) return fail(read.error());
    for (const Graph& graph : graphs_) {
      if (nodes_.contains(graph.correlation)) {
        ++left_out_["graph whose nodes have rows"];
      } else {
        count(devices_[graph.device].compute, graph.device, graph.interval);
      }
    }
    return Done{};
  }

  [[nodiscard]] bool any() const { return any_; }

  RankGpuRows sums(int rank) && {
    RankGpuRows sums{.rank = rank, .rows = rows_, .left_out = {}};
    for (auto& [number, device] : devices_) {
      if (device.first <= device.last) device.add_to(sums);
    }
    sums.left_out.assign(left_out_.begin(), left_out_.end());
    return sums;
  }

 private:
  struct Graph {
    int64_t correlation;
    int64_t device;
    Interval interval;
  };

  Status read_launches() {
    if (filter_ == RowFilter::kAll) return Done{};
    return reader_.for_each<schema::HostRangeRow>(
        [&](const schema::HostRangeRow& row) {
          if (row.category == schema::RangeCategory::kApi && row.correlation)
            launches_.push_back({{row.start_ns}, *row.correlation, 0});
        },
        "category = 6 AND correlation IS NOT NULL");
  }

  Status read_steps() {
    if (filter_ != RowFilter::kStepsHta) return Done{};
    // HTA rounds the times of the file itself, of which the trace's time 0 is one.
    if (const auto origin = reader_.meta_int("origin_realtime_ns"))
      origin_part_ns_ = *origin - floor_us(*origin);
    std::set<int64_t> indices;
    std::optional<int64_t> last;
    const Status read = reader_.for_each<schema::StepRow>([&](const schema::StepRow& row) {
      indices.insert(row.step_index);
      last = std::max(last.value_or(row.start_ns), row.start_ns);
    });
    if (!read.ok()) return fail(read.error());
    if (indices.size() >= 2) last_step_ns_ = last;
    return Done{};
  }

  Status read_collectives() {
    return reader_.for_each<schema::CollectiveRow>([&](const schema::CollectiveRow& row) {
      if (row.correlation && row.captured == 0) collectives_.insert(*row.correlation);
    });
  }

  Status read_streams() {
    return reader_.for_each<schema::StreamRow>([&](const schema::StreamRow& row) {
      // What CUPTI writes where there is no stream: -1, of 32 bits.
      if (row.cuda_stream < 0 || row.cuda_stream == UINT32_MAX) no_stream_.insert(row.id);
    });
  }

  // Why the row does not count; "" = it does.
  std::string_view reason_against(const schema::GpuActivityRow& row,
                                  const LaunchIndex& launches) const {
    if (row.kind == GpuActivityKind::kSync) {
      if (filter_ != RowFilter::kStepsHta) return "synchronisation";
      if (no_stream_.contains(row.stream_id)) return "no stream";
    }
    if (!row.duration_ns) return "no duration";
    if (!sensible(row.start_ns) || !sensible(*row.duration_ns) || *row.duration_ns < 0)
      return "negative duration, or a time that makes no sense";
    if (filter_ == RowFilter::kAll || (filter_ == RowFilter::kStepsHta && !last_step_ns_))
      return {};
    const int32_t launch = row.correlation ? launches.find(*row.correlation) : kNoRange;
    if (launch == kNoRange) return "no launching row";
    if (filter_ == RowFilter::kStepsHta &&
        launches_[static_cast<size_t>(launch)].at.ns >= *last_step_ns_)
      return "last step";
    return {};
  }

  [[nodiscard]] Interval interval_of(const schema::GpuActivityRow& row) const {
    const Interval exact{{row.start_ns}, {row.start_ns + *row.duration_ns}};
    if (filter_ != RowFilter::kStepsHta) return exact;
    return {{ceil_us(exact.begin.ns + origin_part_ns_)},
            {floor_us(exact.end.ns + origin_part_ns_)}};
  }

  void take(const schema::GpuActivityRow& row, const LaunchIndex& launches) {
    any_ = true;
    if (row.graph_node && row.correlation) nodes_.insert(*row.correlation);
    if (const std::string_view reason = reason_against(row, launches); !reason.empty()) {
      ++left_out_[std::string(reason)];
      return;
    }
    const Interval interval = interval_of(row);
    if (row.kind == GpuActivityKind::kGraph && row.correlation) {
      graphs_.push_back({*row.correlation, row.device_id, interval});
      return;
    }
    DeviceRows& device = devices_[row.device_id];
    count(list_of(device, row), row.device_id, interval);
  }

  std::vector<Interval>& list_of(DeviceRows& device, const schema::GpuActivityRow& row) {
    switch (row.kind) {
      case GpuActivityKind::kSync:
        return device.sync;
      case GpuActivityKind::kMemset:
        return filter_ == RowFilter::kLinked ? device.compute : device.memory;
      case GpuActivityKind::kMemcpyH2d:
      case GpuActivityKind::kMemcpyD2h:
      case GpuActivityKind::kMemcpyD2d:
        return device.memory;
      case GpuActivityKind::kGraph:
      case GpuActivityKind::kKernel:
        break;
    }
    return communicates(row) ? device.communication : device.compute;
  }

  bool communicates(const schema::GpuActivityRow& row) {
    if (row.kind != GpuActivityKind::kKernel) return false;
    if (row.correlation && !row.graph_node && collectives_.contains(*row.correlation)) return true;
    const auto [known, is_new] = named_.try_emplace(row.name_id, false);
    if (is_new) known->second = names_communication(reader_.string(row.name_id));
    return known->second;
  }

  void count(std::vector<Interval>& list, int64_t device, Interval interval) {
    ++rows_;
    devices_[device].add(list, interval);
  }

  const schema::TraceReader& reader_;
  const RowFilter filter_;
  bool any_ = false;
  int64_t rows_ = 0;
  int64_t origin_part_ns_ = 0;
  std::optional<int64_t> last_step_ns_;  // where the rows of the last step do not count
  std::vector<LaunchCall> launches_;
  std::unordered_set<int64_t> collectives_;  // correlations
  std::unordered_set<int64_t> no_stream_;
  std::unordered_set<int64_t> nodes_;  // correlations of graphs whose nodes have rows
  std::vector<Graph> graphs_;
  std::unordered_map<int64_t, bool> named_;
  std::map<int64_t, DeviceRows> devices_;
  std::map<std::string, int64_t> left_out_;
};

std::string_view word_of(RowFilter filter) {
  switch (filter) {
    case RowFilter::kLinked:
      return "linked";
    case RowFilter::kStepsHta:
      return "steps-hta";
    case RowFilter::kAll:
      break;
  }
  return "all";
}

}  // namespace

Result<std::optional<GpuRows>> gpu_rows_of(std::span<const TraceFile> traces, RowFilter filter) {
  GpuRows rows{.filter = std::string(word_of(filter)), .per_rank = {}};
  for (const TraceFile& trace : traces) {
    const Result<schema::TraceReader> reader = schema::TraceReader::open(trace.path);
    if (!reader.ok()) return fail(reader.error());
    const Result<int64_t> count = reader->count("gpu_activity");
    if (!count.ok()) return fail(count.error());
    if (*count == 0) continue;
    RowCounter counter(*reader, filter);
    if (const Status good = counter.run(); !good.ok()) return fail(good.error());
    if (counter.any()) rows.per_rank.push_back(std::move(counter).sums(trace.rank));
  }
  if (rows.per_rank.empty()) return std::optional<GpuRows>();
  return std::optional(std::move(rows));
}

}  // namespace dprof::analyzer
