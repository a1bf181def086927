// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/gpu_row_counts.h"

#include <algorithm>
#include <map>

#include "analyzer/digest/gpu_activities.h"

namespace dprof::analyzer {
namespace {

int64_t floor_us(int64_t ns) {
  return ns >= 0 ? ns / kNsPerUs * kNsPerUs : -((-ns + kNsPerUs - 1) / kNsPerUs * kNsPerUs);
}
int64_t ceil_us(int64_t ns) { return -floor_us(-ns); }

// The length of a union of intervals in order of their begin.
class CoveredTime {
 public:
  void add(Interval interval) {
    const TraceNs begin = std::max(interval.begin, to_);
    if (interval.end <= begin) return;
    ns_ += (interval.end - begin).ns;
    to_ = interval.end;
  }
  [[nodiscard]] int64_t ns() const { return ns_; }

 private:
  TraceNs to_{INT64_MIN};
  int64_t ns_ = 0;
};

enum class Counted : uint8_t { kCompute, kCommunication, kMemory, kSync };

// The counted rows of one device. A row of length 0 counts only towards the span.
class DeviceCount {
 public:
  void add(Counted what, Interval interval) {
    ++rows_;
    first_ = std::min(first_, interval.begin);
    last_ = std::max(last_, interval.end);
    busy_.add(interval);
    if (what == Counted::kMemory) memory_.add(interval);
    if (what == Counted::kCompute) compute_.add(interval);
    if (what == Counted::kCommunication) communication_.add(interval);
    if (what == Counted::kCompute || what == Counted::kCommunication) either_.add(interval);
  }

  [[nodiscard]] CountedDevice done(int64_t device) const {
    return {.device = device,
            .rows = rows_,
            .span_ns = std::max<int64_t>(0, (last_ - first_).ns),
            .busy_ns = busy_.ns(),
            .compute_ns = compute_.ns(),
            .communication_ns = communication_.ns(),
            .memory_ns = memory_.ns(),
            .overlap_ns = compute_.ns() + communication_.ns() - either_.ns()};
  }
  [[nodiscard]] bool empty() const { return rows_ == 0; }

 private:
  int64_t rows_ = 0;
  TraceNs first_{INT64_MAX};
  TraceNs last_{INT64_MIN};
  CoveredTime compute_, communication_, memory_, either_, busy_;
};

class FilteredCount {
 public:
  FilteredCount(RowFilter filter, const Activities& activities, const RowCounting& how)
      : filter_(filter), activities_(activities), how_(how) {}

  CountedRows run() && {
    leave_out("no duration", activities_.without_duration);
    leave_out("negative duration, or a time that makes no sense", activities_.negative);
    for (const Activity& graph : activities_.dropped_graphs) {
      const std::string_view reason = reason_against(graph);
      leave_out(reason.empty() ? "graph whose nodes have rows" : reason, 1);
    }
    const SyncRows& syncs = activities_.syncs;
    if (filter_ == RowFilter::kStepsHta) {
      leave_out("no stream", syncs.without_stream);
      leave_out("no duration", syncs.without_duration);
      leave_out("negative duration, or a time that makes no sense", syncs.negative);
    } else {
      leave_out("synchronisation", syncs.rows);
    }
    CountedRows counted;
    for (const int64_t device : devices()) {
      const DeviceCount count = of_device(device);
      if (!count.empty()) counted.devices.push_back(count.done(device));
    }
    counted.left_out.assign(left_out_.begin(), left_out_.end());
    return counted;
  }

 private:
  static std::span<const Activity> list(const std::map<int64_t, std::vector<Activity>>& lists,
                                        int64_t device) {
    const auto found = lists.find(device);
    return found == lists.end() ? std::span<const Activity>() : found->second;
  }

  [[nodiscard]] std::vector<int64_t> devices() const {
    std::vector<int64_t> devices;
    for (const auto& [device, rows] : activities_.by_device) devices.push_back(device);
    for (const auto& [device, rows] : activities_.syncs.by_device) devices.push_back(device);
    std::ranges::sort(devices);
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    return devices;
  }

  DeviceCount of_device(int64_t device) {
    DeviceCount count;
    std::span<const Activity> syncs;
    if (filter_ == RowFilter::kStepsHta) syncs = list(activities_.syncs.by_device, device);
    size_t next = 0;
    const auto take_syncs_until = [&](TraceNs at) {
      for (; next < syncs.size() && syncs[next].begin <= at; ++next)
        take(count, syncs[next], Counted::kSync);
    };
    for (const Activity& activity : list(activities_.by_device, device)) {
      take_syncs_until(activity.begin);
      take(count, activity, class_of(activity));
    }
    take_syncs_until({INT64_MAX});
    return count;
  }

  void take(DeviceCount& count, const Activity& activity, Counted what) {
    const std::string_view reason = reason_against(activity);
    if (!reason.empty()) return leave_out(reason, 1);
    count.add(what, interval_of(activity));
  }

  // Copies within a collective are communication in the breakdown, and memory here.
  [[nodiscard]] Counted class_of(const Activity& activity) const {
    if (activity.copy == HostDetail::kMemset && filter_ == RowFilter::kLinked)
      return Counted::kCompute;
    if (activity.copy != HostDetail::kNone) return Counted::kMemory;
    return activity.what == ActivityClass::kCommunication ? Counted::kCommunication
                                                          : Counted::kCompute;
  }

  // Why the row does not count; "" = it counts.
  [[nodiscard]] std::string_view reason_against(const Activity& activity) const {
    if (filter_ == RowFilter::kAll || (filter_ == RowFilter::kStepsHta && !how_.last_step))
      return {};
    if (activity.launch == kNoRange) return "no launching row";
    if (filter_ == RowFilter::kStepsHta &&
        how_.launches[static_cast<size_t>(activity.launch)].at >= *how_.last_step)
      return "last step";
    return {};
  }

  [[nodiscard]] Interval interval_of(const Activity& activity) const {
    if (filter_ != RowFilter::kStepsHta) return {activity.begin, activity.end};
    return {{ceil_us(activity.begin.ns + how_.to_file_ns)},
            {floor_us(activity.end.ns + how_.to_file_ns)}};
  }

  void leave_out(std::string_view reason, int64_t rows) {
    if (rows > 0) left_out_[std::string(reason)] += rows;
  }

  const RowFilter filter_;
  const Activities& activities_;
  const RowCounting& how_;
  std::map<std::string, int64_t> left_out_;
};

}  // namespace

GpuRowCounts count_rows(const Activities& activities, const RowCounting& how) {
  GpuRowCounts counts;
  for (size_t f = 0; f < kRowFilters; ++f)
    counts[f] = FilteredCount(static_cast<RowFilter>(f), activities, how).run();
  return counts;
}

}  // namespace dprof::analyzer
