// SPDX-License-Identifier: Apache-2.0
// Rows held until it is known whether they belong to a window of the capture.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "schema/generated/rows.h"
#include "schema/packed_gpu_activity.h"

namespace dprof::recorder {

// When a row begins; empty = it is always kept.
inline std::optional<int64_t> begin_of(const schema::HostRangeRow& row) { return row.start_ns; }
inline std::optional<int64_t> begin_of(const schema::ShapedActivity& row) {
  return row.activity.start_ns;
}
inline std::optional<int64_t> begin_of(const schema::GpuDependencyRow& row) {
  return row.record_ns ? row.record_ns : row.wait_ns;
}
inline std::optional<int64_t> begin_of(const schema::CollectiveRow& row) {
  return row.enqueue_ns ? row.enqueue_ns : row.start_ns;
}
inline std::optional<int64_t> begin_of(const schema::StepRow& row) { return row.start_ns; }
inline std::optional<int64_t> begin_of(const schema::MemoryEventRow& row) { return row.time_ns; }
inline std::optional<int64_t> begin_of(const schema::MemorySampleRow& row) { return row.time_ns; }
inline std::optional<int64_t> begin_of(const schema::LoaderEventRow& row) { return row.start_ns; }
inline std::optional<int64_t> begin_of(const schema::SystemSampleRow& row) { return row.time_ns; }
inline std::optional<int64_t> begin_of(const schema::CaptureRow& row) { return row.time_ns; }
inline std::optional<int64_t> begin_of(const schema::NcclEventRow& row) { return row.start_ns; }

// A report counts rows of these tables as events.
template <typename Row>
inline constexpr bool kIsEvent =
    std::is_same_v<Row, schema::HostRangeRow> || std::is_same_v<Row, schema::ShapedActivity> ||
    std::is_same_v<Row, schema::GpuDependencyRow> || std::is_same_v<Row, schema::CollectiveRow> ||
    std::is_same_v<Row, schema::MemoryEventRow> || std::is_same_v<Row, schema::LoaderEventRow> ||
    std::is_same_v<Row, schema::NcclEventRow>;
// Rows that belong to another row: range_detail to its host_range.
template <typename Row>
inline constexpr bool kIsPartOfAnother = std::is_same_v<Row, schema::RangeDetailRow>;
template <typename Row>
inline constexpr bool kIsHeld = kIsPartOfAnother<Row> || requires(const Row& row) {
  begin_of(row);
};

// Threading  one thread.
// Cost       memory for the rows between two decisions, 0.4 s of them.
class RowHold {
 public:
  // keeps(begin_ns): whether rows that begin then are kept.
  explicit RowHold(std::function<bool(int64_t)> keeps) : keeps_(std::move(keeps)) {}

  template <typename Row>
  void put(const Row& row) {
    std::get<std::vector<Row>>(waiting_).push_back(row);
  }

  // A held row, by id; null once it has been decided on. Rows come in order of ids.
  template <typename Row>
  Row* find(int64_t id) {
    std::vector<Row>& rows = std::get<std::vector<Row>>(waiting_);
    const auto found = std::ranges::lower_bound(rows, id, {}, &Row::id);
    return found != rows.end() && found->id == id ? &*found : nullptr;
  }

  // Passes all kept rows that begin before `until_ns` to write(row). exists(id): whether the trace
  // has the range that a detail belongs to.
  template <typename Write, typename Exists>
  void decide(int64_t until_ns, Write&& write, Exists&& exists) {
    std::apply([&](auto&... rows) { (decide_timed(rows, until_ns, write), ...); }, waiting_);
    decide_details(until_ns == INT64_MAX, write, exists);
  }

  [[nodiscard]] int64_t left_out() const { return left_out_; }  // events

 private:
  template <typename Row, typename Write>
  void decide_timed(std::vector<Row>& rows, int64_t until_ns, Write& write) {
    if constexpr (!kIsPartOfAnother<Row>) {
      std::erase_if(rows, [&](Row& row) {
        const std::optional<int64_t> begin_ns = begin_of(row);
        if (begin_ns.value_or(INT64_MIN) >= until_ns) return false;
        const bool kept = !begin_ns || keeps_(*begin_ns);
        if constexpr (std::is_same_v<Row, schema::CaptureRow>) {
          // The process may record only to detect steps; its rows are left out.
          if (!kept && row.state == schema::CaptureState::kRecording) {
            row.state = schema::CaptureState::kArmed;
          }
          write(row);
        } else if (kept) {
          write(row);
        } else if constexpr (kIsEvent<Row>) {
          ++left_out_;
        }
        return true;
      });
    }
  }

  // The range that a detail belongs to may come only with the next flush. So a detail is decided on
  // only if it was already present at the last decision, or if these are `all`.
  template <typename Write, typename Exists>
  void decide_details(bool all, Write& write, Exists& exists) {
    std::vector<schema::RangeDetailRow>& details =
        std::get<std::vector<schema::RangeDetailRow>>(waiting_);
    const size_t ready = all ? details.size() : std::min(details_, details.size());
    std::unordered_set<int64_t> undecided;
    if (ready != 0) {
      for (const auto& range : std::get<std::vector<schema::HostRangeRow>>(waiting_))
        undecided.insert(range.id);
    }
    size_t at = 0;
    std::erase_if(details, [&](const schema::RangeDetailRow& detail) {
      if (at++ >= ready || undecided.contains(detail.range_id)) return false;
      if (exists(detail.range_id)) write(detail);
      return true;
    });
    if (!all) details_ = details.size();
  }

  std::function<bool(int64_t)> keeps_;
  std::tuple<std::vector<schema::HostRangeRow>, std::vector<schema::ShapedActivity>,
             std::vector<schema::GpuDependencyRow>, std::vector<schema::CollectiveRow>,
             std::vector<schema::StepRow>, std::vector<schema::MemoryEventRow>,
             std::vector<schema::MemorySampleRow>, std::vector<schema::LoaderEventRow>,
             std::vector<schema::SystemSampleRow>, std::vector<schema::CaptureRow>,
             std::vector<schema::NcclEventRow>, std::vector<schema::RangeDetailRow>>
      waiting_;
  size_t details_ = 0;  // present at the last decision
  int64_t left_out_ = 0;
};

}  // namespace dprof::recorder
