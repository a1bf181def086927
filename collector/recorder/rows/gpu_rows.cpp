// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/gpu_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "collector/recorder/rows/inbox.h"

namespace dprof::recorder {

using schema::GpuActivityKind;
using schema::RangeCategory;
using wire::Kind;

namespace {

// CUPTI interpolates device times: they may stray this far outside the times that enclose them.
constexpr int64_t kSlackNs = kNsPerSecond;
constexpr uint64_t kMostBytes = uint64_t{1} << 60;
constexpr uint32_t kHostStream = ~uint32_t{0};  // instead of a stream
constexpr uint64_t kLongestFlushNs = 3600u * static_cast<uint64_t>(kNsPerSecond);

std::optional<int64_t> unless_zero(uint64_t value) {
  return value == 0 ? std::nullopt : std::optional(static_cast<int64_t>(value));
}

}  // namespace

bool GpuRows::on_record(const wire::ReadRecord& read, const ThreadRef& thread, int64_t time_ns) {
  const wire::Record& record = read.record;
  switch (record.kind) {
    case Kind::kDevice:
      return places_.describe_device(body_of<wire::Device>(record),
                                     context_.names.find(record.string).id);
    case Kind::kStreamName:
      return places_.name_stream(body_of<wire::StreamName>(record),
                                 context_.names.find(record.string).id);
    case Kind::kGpuActivity:
      return on_activity(read, time_ns);
    case Kind::kApiCall:
      return on_call(record, time_ns);
    case Kind::kExternalCorrelation:
      return on_external(record);
    case Kind::kGpuEvent:
      return on_event(record, time_ns);
    case Kind::kCuptiOverhead:
      return on_overhead(record, thread, time_ns);
    case Kind::kGpuFlush:
      return on_flush(record, time_ns);
    default:
      return false;
  }
}

// A time on the trace's axis, if plausible: after the recorder's start, not after `time_ns`, when
// the record was written.
std::optional<int64_t> GpuRows::host_time(int64_t said_ns, uint8_t flags, int64_t time_ns) const {
  if ((flags & wire::gpu_flag::kRealtimeBase) != 0) {
    if (said_ns < 0) return std::nullopt;
    said_ns -= context_.clock.origin().realtime_ns;
  }
  if (said_ns < -kSlackNs || said_ns > time_ns + kSlackNs) return std::nullopt;
  return said_ns;
}

// A row without a timestamp gets the time of its delivery, and no duration.
std::optional<GpuRows::Times> GpuRows::times(int64_t start_ns, int64_t end_ns, uint8_t flags,
                                             int64_t time_ns) {
  if ((flags & wire::gpu_flag::kNoTimestamp) != 0) {
    ++without_time_;
    return Times{time_ns, std::nullopt};
  }
  const std::optional<int64_t> start = host_time(start_ns, flags, time_ns);
  const std::optional<int64_t> end = host_time(end_ns, flags, time_ns);
  if (!start || !end || *end < *start) return std::nullopt;
  return Times{*start, *end - *start};
}

bool GpuRows::on_flush(const wire::Record& record, int64_t time_ns) {
  ready_before_ns_ = last_flush_ns_;
  last_flush_ns_ = std::max(time_ns, last_flush_ns_.value_or(time_ns));
  context_.output.set_meta("last_gpu_flush_ns", std::to_string(*last_flush_ns_));
  const uint64_t cost_ns = body_of<wire::GpuFlush>(record).cost_ns;
  if (cost_ns > kLongestFlushNs) return true;
  ++flushes_;
  flush_ns_ += static_cast<int64_t>(cost_ns);
  longest_flush_ns_ = std::max(longest_flush_ns_, static_cast<int64_t>(cost_ns));
  context_.output.set_meta("gpu_flushes", std::to_string(flushes_));
  context_.output.set_meta("gpu_flush_ns", std::to_string(flush_ns_));
  context_.output.set_meta("gpu_flush_longest_ns", std::to_string(longest_flush_ns_));
  return true;
}

bool GpuRows::on_activity(const wire::ReadRecord& read, int64_t time_ns) {
  const auto body = body_of<wire::GpuActivity>(read.record);
  if (body.kind > static_cast<uint8_t>(GpuActivityKind::kGraph) || body.bytes > kMostBytes) {
    return false;
  }
  const std::optional<Times> when = times(body.start_ns, body.end_ns, body.flags, time_ns);
  if (!when) return false;
  const std::optional<int64_t> stream_id = places_.stream(body.device, body.stream);
  if (!stream_id) return false;
  Activity& activity = activities_.emplace_back(Activity{
      .start_ns = when->start_ns,
      .duration_ns = when->duration_ns,
      .bytes = static_cast<int64_t>(body.bytes),
      .name_id = context_.names.find(read.record.string).id,
      .stream_id = *stream_id,
      .graph_node = body.graph_node,
      .correlation = body.correlation,
      .graph = body.graph,
      .device = body.device,
      .kind = static_cast<GpuActivityKind>(body.kind),
      .shape = std::nullopt,
  });
  if (read.more_bytes >= sizeof(wire::KernelShape) && activity.kind == GpuActivityKind::kKernel) {
    std::memcpy(&activity.shape.emplace(), read.more, sizeof(Shape));
  }
  bound();
  return true;
}

bool GpuRows::on_call(const wire::Record& record, int64_t time_ns) {
  const auto body = body_of<wire::ApiCall>(record);
  const std::optional<Times> when = times(body.start_ns, body.end_ns, body.flags, time_ns);
  if (!when || body.os_tid == 0) return false;
  calls_.push_back({when->start_ns, when->duration_ns, context_.names.find(record.string).id,
                    context_.thread_id(body.os_tid), body.correlation, RangeCategory::kApi});
  bound();
  return true;
}

bool GpuRows::on_overhead(const wire::Record& record, const ThreadRef& thread, int64_t time_ns) {
  const auto body = body_of<wire::CuptiOverhead>(record);
  const std::optional<Times> when = times(body.start_ns, body.end_ns, body.flags, time_ns);
  if (!when) return false;
  const uint32_t os_tid = body.os_tid != 0 ? body.os_tid : thread.os_tid;
  calls_.push_back({when->start_ns, when->duration_ns, context_.names.find(record.string).id,
                    context_.thread_id(os_tid), 0, RangeCategory::kOverhead});
  bound();
  return true;
}

bool GpuRows::on_event(const wire::Record& record, int64_t time_ns) {
  const auto body = body_of<wire::GpuEvent>(record);
  if (body.kind < wire::GpuEventKind::kRecord || body.kind > wire::GpuEventKind::kSynchronize) {
    return false;
  }
  const std::optional<Times> when = times(body.time_ns, body.time_ns, body.flags, time_ns);
  if (!when) return false;
  std::optional<int64_t> stream_id;
  if (body.stream != kHostStream) {
    stream_id = places_.stream(body.device, body.stream);
    if (!stream_id) return false;
  } else if (body.kind != wire::GpuEventKind::kSynchronize) {
    return false;  // the host records nothing, and waits by synchronising
  }
  edges_.add({when->start_ns, body.event, stream_id, body.correlation, body.kind});
  bound();
  return true;
}

bool GpuRows::on_external(const wire::Record& record) {
  const auto body = body_of<wire::ExternalCorrelation>(record);
  if (body.correlation == 0 || body.external == 0) return false;
  const auto [at, is_new] = external_.insert_or_assign(body.correlation, body.external);
  if (is_new) external_order_.push_back(body.correlation);
  if (external_order_.size() <= kMostExternal) return true;
  external_.erase(external_order_.front());
  external_order_.pop_front();
  return true;
}

void GpuRows::bound() {
  if (held() <= kMostHeld) return;
  std::vector<int64_t> starts;
  starts.reserve(held());
  for (const Activity& one : activities_) starts.push_back(one.start_ns);
  for (const Call& one : calls_) starts.push_back(one.start_ns);
  edges_.times(starts);
  const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
  std::ranges::nth_element(starts, middle);
  write_until(*middle + 1);
}

void GpuRows::flush() {
  if (!ready_before_ns_) return;
  write_until(*ready_before_ns_);
  ready_before_ns_.reset();
}

void GpuRows::write_until(int64_t before_ns) {
  const auto write_sorted = [&](auto& held) {
    using Row = typename std::decay_t<decltype(held)>::value_type;
    std::ranges::stable_sort(held, {}, &Row::start_ns);
    const auto end = std::ranges::lower_bound(held, before_ns, {}, &Row::start_ns);
    for (auto one = held.begin(); one != end; ++one) write(*one);
    held.erase(held.begin(), end);
  };
  write_sorted(activities_);
  write_sorted(calls_);
  rows_ += edges_.write_until(before_ns, context_.output);
}

void GpuRows::note_order(std::unordered_map<int64_t, int64_t>& lanes, int64_t lane,
                         int64_t start_ns) {
  if (lanes.size() >= kMostLanes && !lanes.contains(lane)) lanes.clear();
  const auto [last, is_new] = lanes.try_emplace(lane, start_ns);
  if (start_ns < last->second) ++late_;
  last->second = std::max(last->second, start_ns);
}

void GpuRows::write(const Activity& activity) {
  note_order(stream_starts_, activity.stream_id, activity.start_ns);
  const int64_t id = next_activity_++;
  const bool moves = activity.bytes != 0 || (activity.kind >= GpuActivityKind::kMemcpyH2d &&
                                             activity.kind <= GpuActivityKind::kMemset);
  schema::ShapedActivity row{
      .activity = {.id = id,
                   .device_id = activity.device,
                   .stream_id = activity.stream_id,
                   .start_ns = activity.start_ns,
                   .duration_ns = activity.duration_ns,
                   .name_id = activity.name_id,
                   .kind = activity.kind,
                   .bytes = moves ? std::optional(activity.bytes) : std::nullopt,
                   .correlation = unless_zero(activity.correlation),
                   .graph_node = unless_zero(activity.graph_node),
                   .graph = unless_zero(activity.graph)}};
  if (activity.shape) {
    const std::array<uint32_t, 9>& numbers = activity.shape->numbers;
    row.shape = {id,         numbers[0], numbers[1], numbers[2], numbers[3],
                 numbers[4], numbers[5], numbers[6], numbers[7], numbers[8]};
  }
  context_.output.append(row);
  ++rows_;
  const auto launch = external_.find(activity.correlation);
  if (launch == external_.end() || activity.kind != GpuActivityKind::kKernel) return;
  if (!activity.duration_ns) return;  // its start is not known either
  on_kernel_({launch->second, activity.correlation, activity.stream_id, activity.start_ns,
              activity.start_ns + *activity.duration_ns});
}

void GpuRows::write(const Call& call) {
  note_order(thread_starts_, call.thread_id, call.start_ns);
  schema::HostRangeRow row;
  row.thread_id = call.thread_id;
  row.start_ns = call.start_ns;
  row.duration_ns = call.duration_ns;
  row.name_id = call.name_id;
  row.category = call.category;
  row.correlation = unless_zero(call.correlation);
  context_.ranges.add(row);
}

void GpuRows::finish() {
  write_until(std::numeric_limits<int64_t>::max());
  if (late_ != 0) {
    append_diagnostic(
        context_.output, "late_gpu_rows", late_,
        fmt::format("{} rows of CUPTI came after later ones of their lane had been written",
                    late_));
  }
  if (without_time_ != 0) {
    append_diagnostic(context_.output, "gpu_without_time", without_time_,
                      fmt::format("{} of CUPTI's records had no time", without_time_));
  }
}

}  // namespace dprof::recorder
