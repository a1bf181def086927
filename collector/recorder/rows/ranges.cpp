// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/ranges.h"

#include <algorithm>

namespace dprof::recorder {

using schema::RangeCategory;

int64_t RangeTable::add(RangeStack& stack, int64_t thread_id, int64_t name_id,
                        RangeCategory category, int64_t start_ns, std::optional<int64_t> sequence,
                        std::optional<int64_t> duration_ns) {
  // Ticks of one thread do not go back; if they did, by a few across cores, the order of rows would
  // take precedence.
  stack.last_start_ns = std::max(stack.last_start_ns, start_ns);
  schema::HostRangeRow& row = pending_.emplace_back();
  row.id = next_id_++;
  row.thread_id = thread_id;
  row.start_ns = stack.last_start_ns;
  row.duration_ns = duration_ns;
  row.name_id = name_id;
  row.category = category;
  row.sequence = sequence;
  return row.id;
}

void RangeTable::add(schema::HostRangeRow row) {
  row.id = next_id_++;
  pending_.push_back(std::move(row));
}

int64_t RangeTable::begin(RangeStack& stack, int64_t thread_id, int64_t name_id, OpenRange range,
                          std::optional<int64_t> sequence) {
  range.id = add(stack, thread_id, name_id, range.category, range.start_ns, sequence, std::nullopt);
  range.start_ns = stack.last_start_ns;
  if (stack.open.size() >= kMaxOpenPerThread) stack.open.erase(stack.open.begin());
  stack.open.push_back(range);
  return range.id;
}

std::optional<OpenRange> RangeTable::end(RangeStack& stack, RangeCategory category, uint32_t domain,
                                         int64_t end_ns) {
  const auto found = std::find_if(
      stack.open.rbegin(), stack.open.rend(),
      [&](const OpenRange& open) { return open.category == category && open.domain == domain; });
  if (found == stack.open.rend()) return std::nullopt;
  const OpenRange range = *found;
  stack.open.erase(std::next(found).base());
  close(range, end_ns);
  return range;
}

bool RangeTable::open_keyed(uint64_t key, const OpenRange& range) {
  if (keyed_.size() >= kMaxOpenKeyed) keyed_.erase(keyed_.begin());
  return keyed_.insert_or_assign({key, range.category}, range).second;
}

std::optional<OpenRange> RangeTable::end_keyed(uint64_t key, RangeCategory category,
                                               int64_t end_ns) {
  const auto found = keyed_.find({key, category});
  if (found == keyed_.end()) return std::nullopt;
  const OpenRange range = found->second;
  keyed_.erase(found);
  close(range, end_ns);
  return range;
}

void RangeTable::close(const OpenRange& range, int64_t end_ns) {
  const int64_t duration_ns = std::max<int64_t>(0, end_ns - range.start_ns);
  if (range.id >= first_pending_id_) {
    pending_[static_cast<size_t>(range.id - first_pending_id_)].duration_ns = duration_ns;
  } else {
    closed_.push_back({range.id, duration_ns});
  }
}

void RangeTable::flush(TraceOutput& output) {
  for (const Closed& closed : closed_) output.close_range(closed.id, closed.duration_ns);
  closed_.clear();
  for (const schema::HostRangeRow& row : pending_) output.append(row);
  pending_.clear();
  first_pending_id_ = next_id_;
}

}  // namespace dprof::recorder
