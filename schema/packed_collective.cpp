// SPDX-License-Identifier: Apache-2.0
#include "schema/packed_collective.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <string_view>

#include "schema/traits.h"

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

constexpr int kDerivedBytesSince = std::rbegin(kCollectiveTraitsColumns)->since;
static_assert(std::rbegin(kCollectiveTraitsColumns)->name == "bytes_per_count");

// More than any element has.
constexpr int64_t kMostBytesPerCount = 64;

// Leaves out the bytes if they follow from the count: they are 4 of 51 bytes in a row of NCCL.
void derive_bytes(PackedCollectiveRow& row, CollectiveTraitsRow& traits) {
  if (!row.bytes || row.count.value_or(0) <= 0 || *row.bytes % *row.count != 0) return;
  const int64_t each = *row.bytes / *row.count;
  if (each < 1 || each > kMostBytesPerCount) return;
  traits.bytes_per_count = each;
  row.bytes.reset();
}

// The time that is stored as this; false if it overflows.
bool restore(const PackedCollectiveRow& packed, bool relative, const std::optional<int64_t>& stored,
             std::optional<int64_t>& time_ns) {
  time_ns = stored;
  if (!stored || !relative) return true;
  return packed.enqueue_ns &&
         !__builtin_add_overflow(*packed.enqueue_ns, *stored, &time_ns.emplace());
}

// Empty: the column as it is stored.
std::string expression(std::string_view column) {
  const auto relative = [](std::string_view stored) {
    return fmt::format("CASE t.relative WHEN 1 THEN r.enqueue_ns + r.{0} ELSE r.{0} END", stored);
  };
  if (column == "start_ns") return relative("start_after_ns");
  if (column == "end_ns") return relative("end_after_ns");
  if (column == "ready_ns") return relative("ready_after_ns");
  if (column == "bytes")
    return "CASE WHEN t.bytes_per_count IS NULL THEN r.bytes ELSE r.count * t.bytes_per_count END";
  return {};
}

}  // namespace

PackedCollective pack(const CollectiveRow& row, int64_t version) {
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
  if (version >= kDerivedBytesSince) derive_bytes(packed.row, packed.traits);
  if (make_relative(row, packed.row)) return packed;
  packed.traits.relative = 0;
  packed.row.start_after_ns = row.start_ns;
  packed.row.end_after_ns = row.end_ns;
  packed.row.ready_after_ns = row.ready_ns;
  return packed;
}

bool unpack(const PackedCollectiveRow& packed, const CollectiveTraitsRow& traits,
            CollectiveRow& row) {
  row.id = packed.id;
  row.communicator_id = traits.communicator_id;
  row.function = traits.function;
  row.sequence = packed.sequence;
  row.group_sequence = packed.group_sequence;
  row.bytes = packed.bytes;
  row.count = packed.count;
  row.dtype = traits.dtype;
  row.root = traits.root;
  row.peer = traits.peer;
  row.reduction = traits.reduction;
  row.enqueue_ns = packed.enqueue_ns;
  row.state = traits.state;
  row.algorithm = traits.algorithm;
  row.protocol = traits.protocol;
  row.channels = traits.channels;
  row.stream_id = traits.stream_id;
  row.bucket = traits.bucket;
  row.captured = traits.captured;
  row.thread_id = traits.thread_id;
  row.enqueue_thread_id = traits.enqueue_thread_id;
  row.correlation = packed.correlation;
  row.source = traits.source;
  if (traits.bytes_per_count) {
    if (!packed.count ||
        __builtin_mul_overflow(*packed.count, *traits.bytes_per_count, &row.bytes.emplace())) {
      return false;
    }
  }
  const bool relative = traits.relative == 1;
  return restore(packed, relative, packed.start_after_ns, row.start_ns) &&
         restore(packed, relative, packed.end_after_ns, row.end_ns) &&
         restore(packed, relative, packed.ready_after_ns, row.ready_ns);
}

// LEFT JOIN also fixes the order: the rows in order of their ids, each with its traits.
std::string create_collective_view() {
  return fmt::format(
      "CREATE VIEW \"collective\" AS SELECT {} FROM _collective AS r LEFT JOIN _collective_traits AS t ON t.id = r.traits_id;\n",
      view_columns(kCollectiveColumns, kPackedCollectiveColumns, expression));
}

}  // namespace dprof::schema
