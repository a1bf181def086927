// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/gpu_activities.h"

#include <algorithm>

#include "analyzer/run/sensible.h"

namespace dprof::analyzer {
namespace {

using schema::GpuActivityKind;

HostDetail direction_of(GpuActivityKind kind) {
  switch (kind) {
    case GpuActivityKind::kMemcpyH2d:
      return HostDetail::kHostToDevice;
    case GpuActivityKind::kMemcpyD2h:
      return HostDetail::kDeviceToHost;
    case GpuActivityKind::kMemset:
      return HostDetail::kMemset;
    default:
      return HostDetail::kDeviceToDevice;
  }
}

}  // namespace

void ActivityGatherer::see(const schema::GpuActivityRow& row) {
  ++result_.rows;
  const bool is_sync = row.kind == GpuActivityKind::kSync;
  if (is_sync) {
    ++result_.syncs.rows;
    if (no_stream_.contains(row.stream_id)) {
      ++result_.syncs.without_stream;
      return;
    }
  }
  if (!row.duration_ns) {
    ++(is_sync ? result_.syncs.without_duration : result_.without_duration);
    return;
  }
  if (!sensible(row.start_ns) || !sensible(*row.duration_ns) || *row.duration_ns < 0) {
    ++(is_sync ? result_.syncs.negative : result_.negative);
    return;
  }
  if (*row.duration_ns == 0 && !is_sync) ++result_.zero;
  const TraceNs begin{row.start_ns + shift_ns_};
  Activity activity{.begin = begin, .end = {begin.ns + *row.duration_ns}};
  if (row.correlation) activity.launch = launches_.find(*row.correlation);
  if (is_sync) {
    result_.syncs.by_device[row.device_id].push_back(activity);
    return;
  }
  activity.stream = static_cast<uint32_t>(result_.streams.of(row.stream_id));
  classify(row, activity);
  if (row.kind == GpuActivityKind::kKernel || row.kind == GpuActivityKind::kGraph)
    result_.tokens.add(row.name_id, begin);
  if (row.kind == GpuActivityKind::kGraph && row.correlation) {
    graphs_.push_back({row.device_id, {*row.correlation, activity}});
    return;
  }
  if (row.graph_node && row.correlation) nodes_.insert(*row.correlation);
  add(row.device_id, activity);
}

void ActivityGatherer::classify(const schema::GpuActivityRow& row, Activity& activity) {
  const int32_t collective = kernels_.find(row);
  const bool is_kernel = row.kind == GpuActivityKind::kKernel;
  const bool is_copy = !is_kernel && row.kind != GpuActivityKind::kGraph;
  if (is_copy) activity.copy = direction_of(row.kind);
  if (collective != kNoCollective) {
    activity.what = ActivityClass::kCommunication;
    activity.subject = static_cast<int32_t>(collectives_[static_cast<size_t>(collective)].row);
    widen(static_cast<size_t>(collective), {activity.begin, activity.end});
  } else if (is_kernel && is_named(row.name_id)) {
    activity.what = ActivityClass::kCommunication;
    ++result_.named_only;
  } else if (is_copy) {
    activity.what = ActivityClass::kCopy;
    activity.phase = is_of_checkpoint(activity.launch) ? Category::kHost : Category::kCopy;
  } else {
    activity.what = ActivityClass::kCompute;
    activity.phase = phase_of(activity.launch);
    activity.subject = kernel_of(row.name_id, activity.phase);
  }
}

int32_t ActivityGatherer::kernel_of(int64_t name_id, Category phase) {
  const size_t number =
      kernel_numbers_.of(name_id * static_cast<int64_t>(kCategories) + static_cast<int64_t>(phase));
  if (number == result_.kernels.size()) result_.kernels.push_back({name_id, phase});
  return static_cast<int32_t>(number);
}

bool ActivityGatherer::is_named(int64_t name_id) {
  if (name_id < 0 || static_cast<size_t>(name_id) >= reader_.strings().size()) return false;
  const auto index = static_cast<size_t>(name_id);
  if (named_.empty()) named_.resize(reader_.strings().size());
  if (!named_[index]) named_[index] = names_communication(reader_.string(name_id));
  return *named_[index];
}

bool ActivityGatherer::is_of_checkpoint(int32_t launch) const {
  return launch != kNoRange && host_.phase_of(host_.launches()[static_cast<size_t>(launch)]) ==
                                   schema::Marker::kCheckpoint;
}

Category ActivityGatherer::phase_of(int32_t launch) {
  if (launch == kNoRange) return Category::kOtherCompute;
  if (launch != last_launch_) {  // the nodes of a graph share one
    last_launch_ = launch;
    last_phase_ = compute_in(host_.phase_of(host_.launches()[static_cast<size_t>(launch)]));
  }
  return last_phase_;
}

void ActivityGatherer::add(int64_t device, const Activity& activity) {
  if (device != last_device_ || device_ == nullptr) {
    last_device_ = device;
    device_ = &result_.by_device[device];
  }
  device_->push_back(activity);
}

void ActivityGatherer::widen(size_t collective, Interval span) {
  if (collectives_[collective].start) return;
  const auto [at, is_new] = found_.try_emplace(collective, span);
  at->second.begin = std::min(at->second.begin, span.begin);
  at->second.end = std::max(at->second.end, span.end);
}

void ActivityGatherer::give_times() {
  for (const auto& [collective, span] : found_) {
    CollectiveRecords::Edited record = collectives_.edit(collective);
    record.start = span.begin;
    record.end = span.end;
  }
}

void ActivityGatherer::count_overlaps(const std::vector<Activity>& activities) {
  std::vector<TraceNs> ends(result_.streams.size(), TraceNs{INT64_MIN});
  for (const Activity& activity : activities) {
    if (activity.begin < ends[activity.stream]) ++result_.overlapping;
    ends[activity.stream] = std::max(ends[activity.stream], activity.end);
  }
}

Activities ActivityGatherer::finish() && {
  for (auto& [device, graph] : graphs_) {
    if (nodes_.contains(graph.correlation)) {
      result_.dropped_graphs.push_back(graph.activity);
    } else {
      add(device, graph.activity);
    }
  }
  for (auto& [device, syncs] : result_.syncs.by_device)
    std::ranges::stable_sort(syncs, {}, &Activity::begin);
  for (auto& [device, activities] : result_.by_device) {
    if (!std::ranges::is_sorted(activities, {}, &Activity::begin))
      std::ranges::stable_sort(activities, {}, &Activity::begin);
    count_overlaps(activities);
  }
  give_times();
  return std::move(result_);
}

CollectiveKernels::CollectiveKernels(const CollectiveRecords& collectives) {
  for (size_t i = 0; i < collectives.size(); ++i) {
    const CollectiveRecord& record = collectives[i];
    if (record.correlation && !record.captured)
      by_correlation_.try_emplace(*record.correlation, static_cast<int32_t>(i));
  }
}

int32_t CollectiveKernels::find(const schema::GpuActivityRow& row) const {
  if (!row.correlation || row.graph_node || row.kind == GpuActivityKind::kGraph ||
      by_correlation_.empty())
    return kNoCollective;
  const auto known = by_correlation_.find(*row.correlation);
  return known == by_correlation_.end() ? kNoCollective : known->second;
}

}  // namespace dprof::analyzer
