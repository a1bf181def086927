// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/memory/memory_levels.h"

#include <algorithm>
#include <utility>

#include "analyzer/vocabulary/step_record.h"

namespace dprof::analyzer {

void join(MemoryCell& all, const MemoryCell& one) {
  all.low = std::min(all.low, one.low);
  if (one.high > all.high) {
    all.high = one.high;
    all.reserved_at_high = one.reserved_at_high;
    all.split_at_high = one.split_at_high;
  }
  all.reserved_high = std::max(all.reserved_high, one.reserved_high);
  all.segment_allocs += one.segment_allocs;
  all.segment_frees += one.segment_frees;
  all.flushes += one.flushes;
}

MemoryLevels::MemoryLevels(std::span<const StepRecord> steps, const MemoryState& first)
    : state_(first) {
  for (const StepRecord& step : steps) {
    cuts_.push_back(step.window.begin);
    cuts_.push_back(step.window.end);
  }
  std::ranges::sort(cuts_);
  cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
}

void MemoryLevels::open(TraceNs begin) {
  cells_.push_back({.begin = begin,
                    .low = state_.allocated,
                    .high = state_.allocated,
                    .reserved_at_high = state_.reserved,
                    .split_at_high = state_.split,
                    .reserved_high = state_.reserved});
}

void MemoryLevels::halve() {
  std::vector<MemoryCell> joined;
  for (size_t i = 0; i < cells_.size(); i += 2) {
    MemoryCell cell = cells_[i];
    if (i + 1 < cells_.size()) join(cell, cells_[i + 1]);
    joined.push_back(cell);
  }
  cells_ = std::move(joined);
  width_ns_ *= 2;
}

void MemoryLevels::go_to(TraceNs at) {
  if (!cuts_.empty()) {
    while (next_cut_ < cuts_.size() && cuts_[next_cut_] <= at) {
      if (cells_.empty() || cells_.back().begin < cuts_[next_cut_]) open(cuts_[next_cut_]);
      ++next_cut_;
    }
    if (cells_.empty()) open(at);
    return;
  }
  if (cells_.empty()) return open(at);
  // Empty stretches of the grid need no cell: the previous one extends over them.
  while (true) {
    const int64_t past = (at - cells_.back().begin).ns;
    if (past < width_ns_) return;
    if (cells_.size() < kMost) return open({cells_.back().begin.ns + past / width_ns_ * width_ns_});
    halve();
  }
}

void MemoryLevels::add(TraceNs at, const MemoryState& state, Change change) {
  go_to(at);
  state_ = state;
  MemoryCell& cell = cells_.back();
  cell.low = std::min(cell.low, state.allocated);
  if (state.allocated > cell.high) {
    cell.high = state.allocated;
    cell.reserved_at_high = state.reserved;
    cell.split_at_high = state.split;
  }
  cell.reserved_high = std::max(cell.reserved_high, state.reserved);
  switch (change) {
    case Change::kLevel:
      break;
    case Change::kSegmentAlloc:
      ++cell.segment_allocs;
      break;
    case Change::kFirstSegmentFree:
      ++cell.flushes;
      [[fallthrough]];
    case Change::kSegmentFree:
      ++cell.segment_frees;
      break;
  }
}

std::vector<MemoryCell> MemoryLevels::take(int64_t offset, int64_t reserved_offset) {
  if (!cuts_.empty()) go_to(cuts_.back());
  for (MemoryCell& cell : cells_) {
    cell.low += offset;
    cell.high += offset;
    for (int64_t* reserved : {&cell.reserved_at_high, &cell.reserved_high}) {
      if (*reserved != kUnknownLevel) *reserved += reserved_offset;
    }
  }
  cells_.shrink_to_fit();
  return std::move(cells_);
}

}  // namespace dprof::analyzer
