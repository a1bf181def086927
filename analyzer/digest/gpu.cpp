// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "analyzer/digest/gpu_activities.h"
#include "analyzer/digest/gpu_gaps.h"
#include "analyzer/digest/gpu_held_back.h"
#include "analyzer/digest/gpu_host.h"
#include "analyzer/digest/gpu_sweep.h"
#include "analyzer/run/sensible.h"
#include "base/free_memory.h"

namespace dprof::analyzer {
namespace {

// Reads everything but the activities themselves.
class Surroundings {
 public:
  Surroundings(const schema::TraceReader& reader, int64_t shift_ns)
      : reader_(reader), shift_ns_(shift_ns) {}

  Result<Missing> missing() {
    std::vector<Interval> gpu;
    std::vector<Interval> host;
    const Status losses = reader_.for_each<schema::LossRow>([&](const schema::LossRow& row) {
      if (!row.first_ns || !row.last_ns || !sensible(*row.first_ns) || !sensible(*row.last_ns))
        return;
      const Interval span{on_axis(*row.first_ns), {on_axis(*row.last_ns).ns + 1}};
      if (row.source == schema::Source::kCuda || row.source == schema::Source::kRecorder)
        gpu.push_back(span);
      if (row.source == schema::Source::kTorch || row.source == schema::Source::kNvtx)
        host.push_back(span);
    });
    if (!losses.ok()) return fail(losses.error());
    // While recording was off, missing rows mean nothing.
    std::optional<TraceNs> off_since;
    const Status captures =
        reader_.for_each<schema::CaptureRow>([&](const schema::CaptureRow& row) {
          if (!sensible(row.time_ns)) return;
          const TraceNs at = on_axis(row.time_ns);
          if (row.state != schema::CaptureState::kRecording) {
            if (!off_since) off_since = at;
          } else if (off_since) {
            gpu.push_back({*off_since, at});
            off_since.reset();
          }
        });
    if (!captures.ok()) return fail(captures.error());
    if (off_since) gpu.push_back({*off_since, {INT64_MAX}});
    return Missing{union_of(std::move(gpu)), union_of(std::move(host))};
  }

  Result<std::vector<std::vector<StreamWait>>> waits(DenseIndex& streams) {
    std::vector<std::vector<StreamWait>> waits;
    const Status read =
        reader_.for_each<schema::GpuDependencyRow>([&](const schema::GpuDependencyRow& row) {
          if (!row.wait_stream_id || !row.wait_ns) return;
          if (!sensible(*row.wait_ns) || !sensible(row.record_ns.value_or(0))) return;
          const size_t waiter = streams.of(*row.wait_stream_id);
          const size_t source =
              row.record_stream_id ? streams.of(*row.record_stream_id) : kUnknownStream;
          if (waiter >= waits.size()) waits.resize(waiter + 1);
          waits[waiter].push_back({on_axis(*row.wait_ns),
                                   on_axis(row.record_ns.value_or(*row.wait_ns)),
                                   static_cast<uint32_t>(source)});
        });
    if (!read.ok()) return fail(read.error());
    return waits;
  }

 private:
  [[nodiscard]] TraceNs on_axis(int64_t time) const { return {time + shift_ns_}; }

  const schema::TraceReader& reader_;
  int64_t shift_ns_;
};

DeviceDigest digest_device(int64_t number, std::span<const Activity> activities, Interval span,
                           std::span<const LaunchCall> launches, const GapClassifier& gaps,
                           const Dependencies& dependencies, LaunchGatherer& gatherer) {
  DeviceDigest device{.device = number, .span = {activities.front().begin, {INT64_MIN}}};
  for (const Activity& activity : activities) {
    device.span.end = std::max(device.span.end, activity.end);
    if (activity.launch == kNoRange) continue;
    const TraceNs launched = launches[static_cast<size_t>(activity.launch)].at;
    ++device.linked;
    if (activity.begin < launched) ++device.before_launch;
    gatherer.add(launched, activity.begin);
  }
  device.pieces = sweep_device(activities, span, launches, gaps);
  device.held_back = held_back_in(activities, launches, dependencies);
  device.end = span.end;
  return device;
}

// When the device communicated.
IntervalSet communication_of(std::span<const Activity> activities) {
  IntervalSet times;
  for (const Activity& activity : activities) {
    if (activity.what != ActivityClass::kCommunication || activity.end <= activity.begin) continue;
    if (!times.empty() && activity.begin <= times.back().end) {
      times.back().end = std::max(times.back().end, activity.end);
    } else {
      times.push_back({activity.begin, activity.end});
    }
  }
  return times;
}

// Kernels that began while others of the device ran show contention between kernels; left out.
void add_kernel_times(std::span<const Activity> list, const Activities& all,
                      const schema::TraceReader& reader, std::vector<OpTimes>& times) {
  OpTimesGatherer gatherer(communication_of(list), all.kernels.size());
  TraceNs covered_to{INT64_MIN};
  for (const Activity& activity : list) {
    if (activity.what == ActivityClass::kCompute)
      gatherer.add(covered_to, activity.subject, {activity.begin, activity.end});
  }
  std::vector<OpTimes> of_device = std::move(gatherer).take([&](int64_t kernel) {
    return reader.string(all.kernels[static_cast<size_t>(kernel)].name_id);
  });
  std::ranges::move(of_device, std::back_inserter(times));
}

// The filters' inputs besides the rows.
Result<RowCounting> counting_of(const schema::TraceReader& reader, int64_t shift_ns,
                                std::span<const LaunchCall> launches) {
  RowCounting how{.launches = launches, .last_step = {}};
  // HTA rounds the times in the file itself, where the trace's time 0 is origin_realtime_ns.
  how.to_file_ns = reader.meta_int("origin_realtime_ns").value_or(0) % kNsPerUs - shift_ns;
  std::set<int64_t> indices;
  std::optional<int64_t> last;
  const Status read = reader.for_each<schema::StepRow>([&](const schema::StepRow& row) {
    indices.insert(row.step_index);
    last = std::max(last.value_or(row.start_ns), row.start_ns);
  });
  if (!read.ok()) return fail(read.error());
  if (indices.size() >= 2 && sensible(*last)) how.last_step = TraceNs{*last + shift_ns};
  return how;
}

bool runs(const DevicePiece& piece, bool communication) {
  if (piece.category == Category::kOverlapped) return true;
  if (communication) return piece.category == Category::kExposedTransfer;
  return piece.category <= Category::kOtherCompute;
}

IntervalSet times_of(const std::vector<DeviceDigest>& devices, bool communication) {
  std::vector<Interval> times;
  for (const DeviceDigest& device : devices) {
    for (size_t p = 0; p < device.pieces.size(); ++p) {
      if (!runs(device.pieces[p], communication)) continue;
      const Interval span{device.pieces[p].begin, device.end_of(p)};
      if (!times.empty() && times.back().end == span.begin) {
        times.back().end = span.end;
      } else {
        times.push_back(span);
      }
    }
  }
  return devices.size() == 1 ? times : union_of(std::move(times));
}

void remark_on(const Activities& activities, std::vector<Diagnostic>& remarks) {
  const auto note = [&](std::string_view code, int64_t count, std::string text) {
    if (count > 0) remarks.push_back(make_diagnostic(code, std::move(text), count));
  };
  note("odd_gpu_times", activities.without_duration + activities.negative,
       fmt::format(
           "{} GPU rows have no duration and {} a negative one or a time that makes no sense; "
           "they are not in the breakdown",
           activities.without_duration, activities.negative));
  note("empty_gpu_rows", activities.zero,
       fmt::format("{} GPU rows have length 0", activities.zero));
  note("overlapping_gpu_rows", activities.overlapping,
       fmt::format("{} GPU rows begin before the one before them on their stream has ended",
                   activities.overlapping));
  note("communication_by_name", activities.named_only,
       fmt::format("{} kernels are taken for communication by their name", activities.named_only));
}

}  // namespace

Result<GpuDigest> digest_gpu(const schema::TraceReader& reader, int64_t shift_ns,
                             const HostSide& host, Activities activities,
                             std::optional<Interval> span, std::vector<Diagnostic>& remarks) {
  GpuDigest gpu;
  gpu.rows = activities.rows;
  gpu.without_time = activities.without_duration + activities.negative;
  remark_on(activities, remarks);
  const Result<RowCounting> counting = counting_of(reader, shift_ns, host.launches());
  if (!counting.ok()) return fail(counting.error());
  gpu.counted = count_rows(activities, *counting);
  if (activities.by_device.empty()) return gpu;

  Surroundings around(reader, shift_ns);
  Result<Missing> missing = around.missing();
  if (!missing.ok()) return fail(missing.error());
  auto waits = around.waits(activities.streams);
  if (!waits.ok()) return fail(waits.error());
  const Dependencies dependencies(*std::move(waits), activities, host.launches());
  const GapClassifier gaps(host, host.launches(), dependencies, *missing);

  for (const auto& [device, list] : activities.by_device) {
    if (!span) span = Interval{list.front().begin, list.front().end};
    span->begin = std::min(span->begin, list.front().begin);
    for (const Activity& activity : list) span->end = std::max(span->end, activity.end);
  }
  LaunchGatherer launches;
  for (auto& [device, list] : activities.by_device) {
    gpu.devices.push_back(
        digest_device(device, list, *span, host.launches(), gaps, dependencies, launches));
    add_kernel_times(list, activities, reader, gpu.kernel_times);
    free_memory(list);
  }
  gpu.launches = launches.take();
  gpu.tokens = activities.tokens.take();
  gpu.compute = times_of(gpu.devices, false);
  gpu.communication = times_of(gpu.devices, true);
  return gpu;
}

}  // namespace dprof::analyzer
