// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/control/flight.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/time.h"

namespace dprof::recorder {
namespace {

constexpr int64_t kLongestSegmentNs = kNsPerSecond;
constexpr int64_t kSegments = 8;  // in the kept span, unless they would be longer

struct Rolling {
  std::string_view table;
  std::string_view over;  // SQL: true when a row ended before the horizon
  bool events;
};

// Parts come after the rows they belong to.
constexpr Rolling kRolling[] = {
    {"host_range", "start_ns + duration_ns < {0}", true},
    {"_gpu_activity", "start_ns + duration_ns < {0}", true},
    {"gpu_dependency", "coalesce(wait_ns, record_ns) < {0}", true},
    {"_collective", "(SELECT end_ns FROM collective WHERE id = _collective.id) < {0}", true},
    {"nccl_event", "start_ns + coalesce(duration_ns, 0) < {0}", true},
    {"step", "end_ns < {0}", false},
    {"memory_event", "time_ns < {0}", true},
    {"memory_sample", "time_ns < {0}", false},
    {"loader_event", "start_ns + duration_ns < {0}", true},
    {"system_sample", "time_ns < {0}", false},
    {"range_detail", "NOT EXISTS (SELECT 1 FROM host_range WHERE id = range_id)", false},
};

}  // namespace

FlightRecorder::FlightRecorder(int64_t keep_ns, TraceOutput& output)
    : keep_ns_(keep_ns),
      segment_ns_(std::clamp<int64_t>(keep_ns / kSegments, 1, kLongestSegmentNs)),
      output_(output) {
  static_assert(std::size(kRolling) == kTables);
  pinned_.fill(-1);
}

std::array<int64_t, FlightRecorder::kTables> FlightRecorder::last_rows() {
  std::array<int64_t, kTables> rows{};
  for (size_t i = 0; i < kTables; ++i) {
    rows[i] = output_.query_int(
        fmt::format("SELECT coalesce(max(rowid), -1) FROM {}", kRolling[i].table));
  }
  return rows;
}

void FlightRecorder::delete_before(int64_t horizon_ns,
                                   const std::array<int64_t, kTables>& last_rows) {
  for (size_t i = 0; i < kTables; ++i) {
    if (last_rows[i] <= pinned_[i]) continue;
    const int64_t deleted = output_.change(fmt::format(
        "DELETE FROM {} WHERE rowid > {} AND rowid <= {} AND {}", kRolling[i].table, pinned_[i],
        last_rows[i], fmt::format(fmt::runtime(kRolling[i].over), horizon_ns)));
    if (kRolling[i].events) output_.count_deleted(deleted);
  }
  output_.delete_unused_traits();
  kept_from_ns_ = std::max(kept_from_ns_, horizon_ns);
}

void FlightRecorder::on_time(int64_t now_ns) {
  if (!next_segment_ns_) next_segment_ns_ = now_ns + segment_ns_;
  if (now_ns < *next_segment_ns_) return;
  next_segment_ns_ = now_ns + segment_ns_;
  segments_.push_back({now_ns, last_rows()});
  std::optional<Segment> over;
  while (!segments_.empty() && segments_.front().end_ns <= now_ns - keep_ns_) {
    over = segments_.front();
    segments_.pop_front();
  }
  if (over) delete_before(over->end_ns, over->last_rows);
}

void FlightRecorder::pin(int64_t now_ns) {
  pinned_ = last_rows();
  segments_.clear();
  const bool joined = !spans_.empty() && *spans_.back().end_ns >= kept_from_ns_;
  if (joined) {
    spans_.back().end_ns = now_ns;
  } else {
    spans_.push_back({kept_from_ns_, now_ns});
  }
  kept_from_ns_ = now_ns;
}

void FlightRecorder::finish(int64_t last_ns, bool whole) {
  if (!whole) delete_before(last_ns - keep_ns_, last_rows());
  if (kept_from_ns_ < last_ns || spans_.empty()) pin(last_ns);
}

int64_t HangWatch::limit_of(int64_t keep_ns) {
  return std::max<int64_t>(keep_ns / 2, 5 * kNsPerSecond);
}

void HangWatch::on_step_end(int64_t end_ns) {
  last_step_end_ns_ = std::max(last_step_end_ns_, end_ns);
  reported_ = false;
}

bool HangWatch::on_time(int64_t now_ns, std::optional<int64_t> oldest_open_collective_ns) {
  if (!oldest_open_collective_ns || reported_ || hangs_ == kMostHangs) return false;
  const int64_t since_ns = std::max(last_step_end_ns_, *oldest_open_collective_ns);
  if (now_ns - since_ns < limit_ns_) return false;
  reported_ = true;
  ++hangs_;
  return true;
}

}  // namespace dprof::recorder
