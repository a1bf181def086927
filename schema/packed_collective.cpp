// SPDX-License-Identifier: Apache-2.0
#include "schema/packed_collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace dprof::schema {
namespace {

// The time since the row's call; false if it overflows.
bool after_call(const CollectiveRow& row, const std::optional<int64_t>& time_ns,
                std::optional<int64_t>& distance) {
  if (!time_ns) return true;
  return !__builtin_sub_overflow(*time_ns, *row.enqueue_ns, &distance.emplace());
}

// Stores the row's times relative to its call. False: not possible.
bool make_relative(const CollectiveRow& row, PackedCollectiveRow& packed) {
  return row.enqueue_ns && after_call(row, row.start_ns, packed.start_after_ns) &&
         after_call(row, row.end_ns, packed.end_after_ns) &&
         after_call(row, row.ready_ns, packed.ready_after_ns);
}

void add_to_key(std::string& key, int64_t value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void add_to_key(std::string& key, const std::string& text) {
  add_to_key(key, static_cast<int64_t>(text.size()));
  key += text;
}
template <typename Enum>
requires std::is_enum_v<Enum>
void add_to_key(std::string& key, Enum value) { add_to_key(key, static_cast<int64_t>(value)); }
template <typename Value>
void add_to_key(std::string& key, const std::optional<Value>& value) {
  key += value ? '+' : '-';
  if (value) add_to_key(key, *value);
}

std::string expression(std::string_view column) {
  const auto relative = [](std::string_view stored) {
    return fmt::format("CASE t.relative WHEN 1 THEN c.enqueue_ns + c.{0} ELSE c.{0} END", stored);
  };
  if (column == "start_ns") return relative("start_after_ns");
  if (column == "end_ns") return relative("end_after_ns");
  if (column == "ready_ns") return relative("ready_after_ns");
  const bool in_row = std::ranges::any_of(kPackedCollectiveColumns,
                                          [&](const Column& one) { return one.name == column; });
  return fmt::format("{}.{}", in_row ? "c" : "t", column);
}

}  // namespace

PackedCollective pack(const CollectiveRow& row) {
  PackedCollective packed{
      .row = {.id = row.id,
              .sequence = row.sequence,
              .group_sequence = row.group_sequence,
              .bytes = row.bytes,
              .count = row.count,
              .enqueue_ns = row.enqueue_ns,
              .correlation = row.correlation},
      .traits = {.communicator_id = row.communicator_id,
                 .function = row.function,
                 .dtype = row.dtype,
                 .root = row.root,
                 .peer = row.peer,
                 .reduction = row.reduction,
                 .state = row.state,
                 .algorithm = row.algorithm,
                 .protocol = row.protocol,
                 .channels = row.channels,
                 .stream_id = row.stream_id,
                 .bucket = row.bucket,
                 .captured = row.captured,
                 .thread_id = row.thread_id,
                 .enqueue_thread_id = row.enqueue_thread_id,
                 .source = row.source,
                 .relative = 1},
  };
  if (make_relative(row, packed.row)) return packed;
  packed.traits.relative = 0;
  packed.row.start_after_ns = row.start_ns;
  packed.row.end_after_ns = row.end_ns;
  packed.row.ready_after_ns = row.ready_ns;
  return packed;
}

// LEFT JOIN also fixes the order: the rows in order of their ids, each with its traits.
std::string create_collective_view() {
  std::string columns;
  for (const Column& column : kCollectiveColumns) {
    columns += fmt::format("{}{} AS \"{}\"", columns.empty() ? "" : ", ", expression(column.name),
                           column.name);
  }
  return fmt::format(
      "CREATE VIEW \"collective\" AS SELECT {} FROM _collective AS c LEFT JOIN _collective_traits AS t ON t.id = c.traits_id;\n",
      columns);
}

std::pair<int64_t, bool> CollectiveTraits::id_of(const CollectiveTraitsRow& traits) {
  std::string key;
  key.reserve(160);
  bool first = true;  // the id
  for_each_field(traits, [&](const auto& field) {
    if (!std::exchange(first, false)) add_to_key(key, field);
  });
  if (ids_.size() >= kMost && !ids_.contains(key)) ids_.clear();
  const auto [at, is_new] = ids_.try_emplace(std::move(key), next_id_);
  if (is_new) ++next_id_;
  return {at->second, is_new};
}

}  // namespace dprof::schema
