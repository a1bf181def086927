// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/event_edges.h"

#include <algorithm>

namespace dprof::recorder {

int64_t EventEdges::write_until(int64_t before_ns, TraceOutput& output) {
  std::ranges::stable_sort(calls_, {}, &Call::time_ns);
  const auto end = std::ranges::lower_bound(calls_, before_ns, {}, &Call::time_ns);
  int64_t written = 0;
  for (auto call = calls_.begin(); call != end; ++call) {
    if (call->kind == wire::GpuEventKind::kRecord) {
      remember(*call);
    } else {
      write(*call, output);
      ++written;
    }
  }
  calls_.erase(calls_.begin(), end);
  return written;
}

void EventEdges::times(std::vector<int64_t>& times) const {
  for (const Call& call : calls_) times.push_back(call.time_ns);
}

void EventEdges::remember(const Call& call) {
  if (recorded_.size() >= kMostEvents && !recorded_.contains(call.event)) {
    // Most events are waited for soon: the older half is discarded.
    std::vector<int64_t> times;
    for (const auto& [event, recording] : recorded_) times.push_back(recording.time_ns);
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    std::erase_if(recorded_, [&](const auto& one) { return one.second.time_ns <= *middle; });
  }
  recorded_[call.event] = {call.time_ns, call.stream_id};
}

void EventEdges::write(const Call& call, TraceOutput& output) {
  schema::GpuDependencyRow row;
  row.event = static_cast<int64_t>(call.event);
  row.wait_ns = call.time_ns;
  if (call.correlation != 0) row.correlation = call.correlation;
  const auto recording = call.event != 0 ? recorded_.find(call.event) : recorded_.end();
  if (recording != recorded_.end()) {
    row.record_stream_id = recording->second.stream_id;
    row.record_ns = recording->second.time_ns;
  }
  if (call.kind == wire::GpuEventKind::kStreamWait) {
    row.wait_stream_id = call.stream_id;
  } else if (call.event == 0) {
    row.record_stream_id = call.stream_id;  // the host waited for all work of this stream
  }
  output.append_numbered(row);
}

}  // namespace dprof::recorder
