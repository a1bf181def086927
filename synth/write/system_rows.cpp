// SPDX-License-Identifier: Apache-2.0
#include "synth/write/system_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace dprof::synth {
namespace {

constexpr int64_t kEveryNs = 500'000'000;
constexpr int64_t kShortNs = 1'000'000;  // longer pieces of the host's own are sleep
constexpr int64_t kFullClockMhz = 1980;
constexpr int64_t kThermal = 0x40;
constexpr int64_t kTimeSliceNs = 4'000'000;  // after which the scheduler gives the core to another
constexpr int64_t kBlockBytes = 512;
constexpr int64_t kSegmentBytes = int64_t{2} << 20;

int64_t rounded_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

struct Counters {
  int64_t cpu_ns = 0;
  int64_t queue_ns = 0;
};

// How much of a piece of the training thread was spent on a CPU, and how much runnable without one.
Counters counters_of(const HostPiece& piece, int64_t length, double contention) {
  const bool computes = piece.busy <= Busy::kOther;
  if (computes) {
    const auto on = std::llround(static_cast<double>(length) / contention);
    return {on, length - on};
  }
  const bool sleeps = piece.busy != Busy::kHost || piece.end - piece.begin > kShortNs;
  return {sleeps ? 0 : length, 0};
}

class CachingAllocator {
 public:
  explicit CachingAllocator(bool gpu) : gpu_(gpu) {}

  void take(const MemoryDone& done) {
    if (done.call.allocate) {
      allocate(done, rounded_up(done.call.bytes, kBlockBytes));
    } else if (const auto found = blocks_.find(done.call.block); found != blocks_.end()) {
      allocated_ -= found->second.bytes;
      push(done, schema::MemoryEventKind::kFree, found->second.address, found->second.bytes);
      free_.emplace(found->second.segment, found->second.address);
      blocks_.erase(found);
    }
  }

  std::vector<schema::MemoryEventRow> rows;

 private:
  struct Block {
    int64_t address = 0;
    int64_t segment = 0;
    int64_t bytes = 0;
  };

  void allocate(const MemoryDone& done, int64_t bytes) {
    Block block{.segment = rounded_up(bytes, kSegmentBytes)};
    const auto fits = free_.lower_bound(bytes);
    if (fits != free_.end() && fits->first <= 2 * block.segment) {
      block = {fits->second, fits->first, 0};
      free_.erase(fits);
    } else {
      block.address = next_address_;
      next_address_ += block.segment;
      reserved_ += block.segment;
      push(done, schema::MemoryEventKind::kSegmentAlloc, block.address, block.segment);
    }
    block.bytes = bytes;
    allocated_ += bytes;
    push(done, schema::MemoryEventKind::kAlloc, block.address, bytes);
    blocks_[done.call.block] = block;
  }

  void push(const MemoryDone& done, schema::MemoryEventKind kind, int64_t address, int64_t bytes) {
    schema::MemoryEventRow row{.device_id = gpu_ ? 0 : -1,
                               .time_ns = done.time,
                               .kind = kind,
                               .address = address,
                               .bytes = bytes,
                               .allocated_bytes = allocated_,
                               .reserved_bytes = reserved_};
    if (kind == schema::MemoryEventKind::kAlloc) {
      row.requested_bytes = done.call.bytes;
      row.category = done.call.category;
    }
    rows.push_back(row);
  }

  bool gpu_;
  int64_t allocated_ = 0;
  int64_t reserved_ = 0;
  int64_t next_address_ = 0x7f00'0000'0000;
  std::map<int64_t, Block> blocks_;
  std::multimap<int64_t, int64_t> free_;  // by size of the segment
};

// NVML's figures of all devices of the host, as the recorder writes them: by NVML's index, and once
// the index of each UUID.
void add_devices(const SystemOrder& order, int64_t at, int64_t step,
                 std::vector<SystemValue>& values) {
  const Spec& spec = order.model->spec();
  const FaultPlan& plan = order.model->plan();
  const int host = host_of(spec, order.rank);
  const bool first = std::ranges::none_of(
      values, [](const SystemValue& value) { return value.kind.starts_with("gpu."); });
  for (int r = order.rank; r < spec.ranks && host_of(spec, r) == host; ++r) {
    const int64_t index = r - order.rank;
    if (first) values.push_back({at, fmt::format("gpu.uuid.GPU-{:08x}", r), {}, index});
    double factor = 1;
    for (const Fault& fault : plan.faults()) {
      const bool throttles = fault.kind->name == "gpu-throttle" && fault.at_work(spec.seed, step) &&
                             plan.touches(fault, r, step);
      if (throttles) factor *= fault.factor_in(step);
    }
    const bool throttled = factor > 1;
    values.push_back(
        {at, "gpu.sm_clock_mhz", index, std::llround(static_cast<double>(kFullClockMhz) / factor)});
    values.push_back({at, "gpu.throttle_reasons_mask", index, throttled ? kThermal : 0});
    values.push_back({at, "gpu.temperature_c", index, throttled ? 88 : 61});
    values.push_back({at, "gpu.power_mw", index, std::llround(520'000 / factor)});
  }
}

}  // namespace

std::vector<SystemValue> system_values(const SystemOrder& order, const Trail& trail) {
  std::vector<SystemValue> values;
  const Spec& spec = order.model->spec();
  const FaultPlan& plan = order.model->plan();
  Counters sum;
  size_t piece = 0;
  size_t step = 0;
  int64_t at = trail.pieces.empty() ? order.until : trail.pieces.front().begin;
  for (; at <= order.until; at += kEveryNs) {
    while (step + 1 < trail.steps.size() && trail.steps[step + 1].begin <= at) ++step;
    Effects now;
    if (!trail.steps.empty()) now = plan.effects(order.rank, trail.steps[step].index);
    const double contention = now.jitter > 0 ? now.host_factor : 1;
    for (; piece < trail.pieces.size() && trail.pieces[piece].end <= at; ++piece) {
      const HostPiece& p = trail.pieces[piece];
      const Counters more = counters_of(p, p.end - p.begin, contention);
      sum.cpu_ns += more.cpu_ns;
      sum.queue_ns += more.queue_ns;
    }
    values.push_back({at, "thread.cpu_ns", order.os_tid, sum.cpu_ns});
    values.push_back({at, "thread.run_queue_ns", order.os_tid, sum.queue_ns});
    values.push_back(
        {at, "thread.involuntary_switches", order.os_tid, sum.queue_ns / kTimeSliceNs});
    if (spec.shape == Shape::kGpu && order.first_of_host && !trail.steps.empty())
      add_devices(order, at, trail.steps[step].index, values);
  }
  return values;
}

std::vector<schema::MemoryEventRow> memory_rows(const Trail& trail, bool gpu) {
  CachingAllocator allocator(gpu);
  for (const MemoryDone& done : trail.memory) allocator.take(done);
  return std::move(allocator.rows);
}

}  // namespace dprof::synth
