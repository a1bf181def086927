// SPDX-License-Identifier: Apache-2.0
// The result of one pass over a rank's GPU rows, for the merge: each device's time by activity, the
// cause of each idle stretch, and where a host step's work began on the device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/digest/detail.h"
#include "analyzer/digest/gpu_row_counts.h"
#include "analyzer/digest/launches.h"
#include "analyzer/digest/op_times.h"
#include "analyzer/vocabulary/category.h"
#include "analyzer/vocabulary/diagnostic.h"
#include "base/interval.h"
#include "base/result.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {

struct Activities;  // gpu_activities.h
class HostSide;     // gpu_host.h

inline constexpr int32_t kNoCollective = -1;

// A stretch of a device's time in one category; ends where the next one begins. 16 bytes.
struct DevicePiece {
  TraceNs begin;
  int32_t collective = kNoCollective;  // row id in `collective`, of the running communication
  // Exposed communication is kExposedTransfer until the arrival of the last peer is known;
  // kExposedWait is the host waiting for a collective while the device is idle.
  Category category = Category::kIdle;
  // For kOverlapped the compute phase, for copies of a checkpoint kHost; else the same as category.
  Category phase = Category::kIdle;
  HostDetail detail = HostDetail::kNone;

  [[nodiscard]] bool same_but_begin(const DevicePiece& other) const {
    return collective == other.collective && category == other.category && phase == other.phase &&
           detail == other.detail;
  }
};
static_assert(sizeof(DevicePiece) == 16);

// Computation that was ready to run, but began only after the end of a collective that was launched
// before it on another stream, although no recorded event ordered them.
struct HeldBack {
  TraceNs from;  // the device computed nothing from then on
  TraceNs until;
  int32_t collective = kNoCollective;  // row id in `collective`
};

struct DeviceDigest {
  int64_t device = 0;
  Interval span;  // first begin to last end of its activities
  // Partition of [pieces.front().begin, end): the rank's whole span. Before the first and after the
  // last activity it shows what the host did. Neighbours differ.
  std::vector<DevicePiece> pieces;
  TraceNs end;
  int64_t linked = 0;         // activities whose launch call was recorded
  int64_t before_launch = 0;  // of these, begun before their call
  // In order of time, disjoint; also empty if events that order streams were not recorded.
  std::vector<HeldBack> held_back;

  [[nodiscard]] TraceNs end_of(size_t piece) const {
    return piece + 1 < pieces.size() ? pieces[piece + 1].begin : end;
  }
};

struct GpuDigest {
  int64_t rows = 0;     // of gpu_activity
  IntervalSet compute;  // kernels other than communication, over all devices
  IntervalSet communication;
  std::vector<DeviceDigest> devices;  // by number
  std::vector<Launch> launches;       // over all devices
  // Kernels and graphs, in order of their begin, to find unmarked steps; empty if there are steps.
  std::vector<HostToken> tokens;
  int64_t without_time = 0;  // rows whose times are unknown or end before their begin
  GpuRowCounts counted{};    // as other tools count the rows
  // Computation by kernel name and phase, beside the device's communication and without it.
  std::vector<OpTimes> kernel_times;

  [[nodiscard]] bool empty() const { return devices.empty(); }
};

// Calls f(TraceNs&) for each time in it; f must preserve the order of times.
template <typename F>
void for_each_time(GpuDigest& gpu, F&& f) {
  for (IntervalSet* set : {&gpu.compute, &gpu.communication}) {
    for (Interval& interval : *set) {
      f(interval.begin);
      f(interval.end);
    }
  }
  for (DeviceDigest& device : gpu.devices) {
    f(device.span.begin);
    f(device.span.end);
    f(device.end);
    for (DevicePiece& piece : device.pieces) f(piece.begin);
    for (HeldBack& held : device.held_back) {
      f(held.from);
      f(held.until);
    }
  }
  for (Launch& launch : gpu.launches) {
    f(launch.launch);
    f(launch.start);
  }
  for (HostToken& token : gpu.tokens) f(token.at);
}

// `host` and `activities` come from the same trace, `span` from its first to its last moment so
// far. Appends to `remarks`.
//
// Cost    about 0.8 us per row of gpu_activity.
// Memory  32 bytes per such row while running; at most 32 remain, for a kernel and the gap before
//         it, if they cannot be merged with their neighbours.
Result<GpuDigest> digest_gpu(const schema::TraceReader& reader, int64_t shift_ns,
                             const HostSide& host, Activities activities,
                             std::optional<Interval> span, std::vector<Diagnostic>& remarks);

}  // namespace dprof::analyzer
