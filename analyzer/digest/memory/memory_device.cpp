// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/memory/memory_device.h"

#include <algorithm>
#include <cmath>

#include "analyzer/vocabulary/step_record.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using schema::MemoryEventKind;
using Change = MemoryLevels::Change;

// CUDA's caching allocator hands out blocks in multiples of this; its events have the requested
// sizes.
constexpr int64_t kDeviceBlockBytes = 512;
constexpr size_t kMostFlushes = 4096;
constexpr size_t kMostOom = 256;
constexpr int64_t kMostSum = int64_t{1} << 60;

}  // namespace

size_t DeviceReplay::phase_of(TraceNs at) {
  while (piece_ + 1 < pieces_.size() && pieces_[piece_ + 1].begin <= at) ++piece_;
  return pieces_.empty() ? 0 : static_cast<size_t>(pieces_[piece_].phase);
}

MemoryState DeviceReplay::state(const schema::MemoryEventRow& row) const {
  MemoryState state = now_;
  const auto allocated = credible(row.allocated_bytes);
  state.allocated = out_.own_totals && allocated ? *allocated : now_.allocated;
  if (!out_.own_totals) state.allocated = blocks_.level();
  const auto reserved = credible(row.reserved_bytes);
  if (own_reserved_ && reserved) state.reserved = *reserved;
  if (!own_reserved_ && segments_.any()) state.reserved = segments_.reserved();
  state.split = segments_.split().value_or(kUnknownLevel);
  return state;
}

// The first event implies the state before it, if it has totals.
void DeviceReplay::begin(const schema::MemoryEventRow& row, TraceNs at) {
  const auto allocated = credible(row.allocated_bytes);
  out_.own_totals = allocated.has_value();
  own_reserved_ = credible(row.reserved_bytes).has_value();
  MemoryState first;
  if (allocated) {
    const int64_t change = row.kind == MemoryEventKind::kAlloc  ? row.bytes
                           : row.kind == MemoryEventKind::kFree ? -row.bytes
                                                                : 0;
    first.allocated = std::max<int64_t>(0, *allocated - change);
  }
  now_ = first;
  levels_.emplace(steps_, first);
  curve_.emplace(first);
  last_at_ = at;
  out_.peak_at = at;
  out_.peak_phase = static_cast<schema::Marker>(phase_of(at));
  peak_ = first.allocated;
  (void)blocks_.reached(first.allocated);
  out_.phase_peaks[phase_of(at)] = first.allocated;
}

void DeviceReplay::change_block(const schema::MemoryEventRow& row, int64_t bytes) {
  ++out_.events;
  if (row.kind == MemoryEventKind::kAlloc) {
    blocks_.allocate(row.time_ns, row.address, bytes, row.thread_id.value_or(-1),
                     row.category.value_or(schema::MemoryCategory::kUnknown),
                     row.stack_id.value_or(0));
    segments_.use(row.address, bytes);
  } else {
    segments_.release(row.address, blocks_.free(row.time_ns, row.address, bytes));
  }
}

void DeviceReplay::change_segment(const schema::MemoryEventRow& row) {
  if (row.kind == MemoryEventKind::kSegmentFree) {
    segments_.free(row.address, row.bytes);
    giving_back_ = Flush{row.thread_id.value_or(-1), row.time_ns, 0};
    return;
  }
  segments_.allocate(row.address, row.bytes);
  if (giving_back_ && giving_back_->thread == row.thread_id.value_or(-1) &&
      flushes_.size() < kMostFlushes) {
    flushes_.push_back({giving_back_->thread, giving_back_->free_ns, row.time_ns});
  }
  giving_back_.reset();
}

void DeviceReplay::note_oom(const schema::MemoryEventRow& row, TraceNs at) {
  if (out_.out_of_memory.size() >= kMostOom) return;
  OomRecord oom{.at = at, .bytes = row.bytes, .free_bytes = {}};
  const auto allocated = credible(row.allocated_bytes);
  const auto reserved = credible(row.reserved_bytes);
  if (allocated && reserved) {
    oom.free_bytes = std::max<int64_t>(0, *reserved - *allocated);
  } else if (levels_ && now_.reserved != kUnknownLevel) {
    oom.free_bytes = std::max<int64_t>(
        0, now_.reserved + segments_.offset() - now_.allocated - blocks_.offset());
  }
  out_.out_of_memory.push_back(oom);
}

void DeviceReplay::compare_readings(TraceNs until) {
  if (out_.device < 0) return;  // those are for the whole process
  for (; next_reading_ < out_.readings.size() && out_.readings[next_reading_].at < until;
       ++next_reading_) {
    const MemoryReading& reading = out_.readings[next_reading_];
    if (reading.allocated)
      allocated_gaps_.push_back(static_cast<double>(*reading.allocated - now_.allocated));
    if (reading.reserved && now_.reserved != kUnknownLevel)
      reserved_gaps_.push_back(static_cast<double>(*reading.reserved - now_.reserved));
  }
}

void DeviceReplay::follow(TraceNs at, Change change) {
  levels_->add(at, now_, change);
  curve_->add(at, now_);
  if (blocks_.reached(now_.allocated)) {
    peak_ = now_.allocated;
    out_.peak_at = at;
    out_.peak_phase = static_cast<schema::Marker>(phase_of(at));
  }
  if (now_.reserved != kUnknownLevel)
    peak_reserved_ = std::max(peak_reserved_.value_or(now_.reserved), now_.reserved);
}

bool DeviceReplay::take(const schema::MemoryEventRow& row, TraceNs at) {
  const auto senseless = [](int64_t sum) { return sum > kMostSum || sum < -kMostSum; };
  if (senseless(blocks_.level()) || senseless(blocks_.offset()) ||
      senseless(segments_.reserved()) || senseless(segments_.offset())) {
    return false;
  }
  change(row, at);
  return true;
}

void DeviceReplay::change(const schema::MemoryEventRow& row, TraceNs at) {
  if (row.kind == MemoryEventKind::kOom) return note_oom(row, at);
  if (row.kind == MemoryEventKind::kRegistered) {
    const int64_t bytes =
        out_.device >= 0 ? row.bytes + (-row.bytes & (kDeviceBlockBytes - 1)) : row.bytes;
    return blocks_.name(row.address, bytes,
                        row.category.value_or(schema::MemoryCategory::kUnknown));
  }
  if (!levels_) begin(row, at);
  // Memory that a process frees as it ends says nothing about training.
  if (!at_end_ && !steps_.empty() && at >= steps_.back().window.end) at_end_ = blocks_.at_end();
  at = last_at_ = std::max(at, last_at_);
  compare_readings(at);
  // The previous level lasted until now, in this phase too.
  std::optional<int64_t>& phase_peak = out_.phase_peaks[phase_of(at)];
  phase_peak = std::max(phase_peak.value_or(now_.allocated), now_.allocated);
  Change change = Change::kLevel;
  if (row.kind == MemoryEventKind::kAlloc || row.kind == MemoryEventKind::kFree) {
    giving_back_.reset();
    const bool rounds = out_.device >= 0 && !out_.own_totals;
    change_block(row, rounds ? row.bytes + (-row.bytes & (kDeviceBlockBytes - 1)) : row.bytes);
  } else {
    change = row.kind == MemoryEventKind::kSegmentAlloc ? Change::kSegmentAlloc
             : giving_back_                             ? Change::kSegmentFree
                                                        : Change::kFirstSegmentFree;
    change_segment(row);
  }
  now_ = state(row);
  phase_peak = std::max(*phase_peak, now_.allocated);
  follow(at, change);
}

DeviceReplay::Outcome DeviceReplay::finish() {
  Outcome outcome;
  out_.unmatched_frees = blocks_.unmatched_frees();
  out_.reused = blocks_.reused();
  if (levels_ && out_.events > 0) {
    compare_readings({INT64_MAX});
    const auto offset_of = [](const std::vector<double>& gaps, int64_t counted) {
      return gaps.empty() ? counted
                          : std::max(counted, static_cast<int64_t>(std::llround(median(gaps))));
    };
    const int64_t offset = out_.own_totals ? 0 : offset_of(allocated_gaps_, blocks_.offset());
    const int64_t reserved_offset =
        own_reserved_ ? 0 : offset_of(reserved_gaps_, segments_.offset());
    out_.peak_allocated = peak_ + offset;
    if (peak_reserved_) out_.peak_reserved = *peak_reserved_ + reserved_offset;
    for (std::optional<int64_t>& peak : out_.phase_peaks) {
      if (peak) *peak += offset;
    }
    out_.cells = levels_->take(offset, reserved_offset);
    out_.curve = curve_->take(offset, reserved_offset);
    outcome.at_peak = blocks_.at_peak();
    outcome.at_end = at_end_ ? std::move(*at_end_) : blocks_.at_end();
    int64_t seen = 0;
    for (const LiveBlock& block : outcome.at_peak) seen += block.serial >= 0 ? block.bytes : 0;
    out_.before_at_peak = std::max<int64_t>(0, *out_.peak_allocated - seen);
  }
  outcome.flushes = std::move(flushes_);
  outcome.memory = std::move(out_);
  return outcome;
}

}  // namespace dprof::analyzer
