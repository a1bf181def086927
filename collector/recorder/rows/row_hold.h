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

namespace dprof::recorder {

// When a row begins; empty = it is always kept.
inline std::optional<int64_t> begin_of(const schema::HostRangeRow& row) { return row.start_ns; }
inline std::optional<int64_t> begin_of(const schema::GpuActivityRow& row) { return row.start_ns; }
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
    std::is_same_v<Row, schema::HostRangeRow> || std::is_same_v<Row, schema::GpuActivityRow> ||
    std::is_same_v<Row, schema::GpuDependencyRow> || std::is_same_v<Row, schema::CollectiveRow> ||
    std::is_same_v<Row, schema::MemoryEventRow> || std::is_same_v<Row, schema::LoaderEventRow> ||
    std::is_same_v<Row, schema::NcclEventRow>;
// Rows that belong to another row: range_detail to its host_range, kernel_shape to its kernel.
template <typename Row>
inline constexpr bool kIsPartOfAnother =
    std::is_same_v<Row, schema::RangeDetailRow> || std::is_same_v<Row, schema::KernelShapeRow>;
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

  // Passes all kept rows that begin before `until_ns` to write(row). `exists` says whether the
  // trace has the row that a part belongs to.
  template <typename Write, typename Exists>
  void decide(int64_t until_ns, Write&& write, Exists&& exists) {
    std::apply([&](auto&... rows) { (decide_timed(rows, until_ns, write), ...); }, waiting_);
    const bool all = until_ns == INT64_MAX;
    decide_parts(std::get<std::vector<schema::RangeDetailRow>>(waiting_), all ? nullptr : &details_,
                 std::get<std::vector<schema::HostRangeRow>>(waiting_),
                 &schema::RangeDetailRow::range_id, write, exists);
    decide_parts(std::get<std::vector<schema::KernelShapeRow>>(waiting_), all ? nullptr : &shapes_,
                 std::get<std::vector<schema::GpuActivityRow>>(waiting_),
                 &schema::KernelShapeRow::activity_id, write, exists);
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

  // The row that a part belongs to may come only with the next flush. So a part is decided on only
  // if it was already present at the last decision; `known` is their number (null: all).
  template <typename Part, typename Whole, typename Write, typename Exists>
  void decide_parts(std::vector<Part>& parts, size_t* known, const std::vector<Whole>& wholes,
                    int64_t Part::*id, Write& write, Exists& exists) {
    const size_t ready = known != nullptr ? std::min(*known, parts.size()) : parts.size();
    std::unordered_set<int64_t> undecided;
    if (ready != 0) {
      for (const Whole& whole : wholes) undecided.insert(whole.id);
    }
    size_t at = 0;
    std::erase_if(parts, [&](const Part& part) {
      if (at++ >= ready || undecided.contains(part.*id)) return false;
      if (exists(Whole::kTable.name, part.*id)) write(part);
      return true;
    });
    if (known != nullptr) *known = parts.size();
  }

  std::function<bool(int64_t)> keeps_;
  std::tuple<std::vector<schema::HostRangeRow>, std::vector<schema::GpuActivityRow>,
             std::vector<schema::GpuDependencyRow>, std::vector<schema::CollectiveRow>,
             std::vector<schema::StepRow>, std::vector<schema::MemoryEventRow>,
             std::vector<schema::MemorySampleRow>, std::vector<schema::LoaderEventRow>,
             std::vector<schema::SystemSampleRow>, std::vector<schema::CaptureRow>,
             std::vector<schema::NcclEventRow>, std::vector<schema::RangeDetailRow>,
             std::vector<schema::KernelShapeRow>>
      waiting_;
  size_t details_ = 0, shapes_ = 0;  // parts present at the last decision
  int64_t left_out_ = 0;
};

}  // namespace dprof::recorder
