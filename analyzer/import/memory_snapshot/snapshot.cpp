// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/memory_snapshot/snapshot.h"

#include <algorithm>
#include <string_view>

namespace dprof::analyzer::memory_snapshot {
namespace {

using Id = PlainData::Id;
using Kind = PlainData::Kind;

constexpr int64_t kMostBytes = int64_t{1} << 48;  // of a block or segment
constexpr int64_t kMostInAll = int64_t{1} << 60;
constexpr int kMostDevices = 64;
constexpr int64_t kTimeLimitUs = int64_t{1} << 52;  // some 140 years

struct ActionName {
  std::string_view name;
  Action action;
};
constexpr ActionName kActions[] = {
    {"alloc", Action::kAlloc},
    {"free_requested", Action::kFreeRequested},
    {"free_completed", Action::kFree},
    {"segment_alloc", Action::kSegmentAlloc},
    {"segment_map", Action::kSegmentAlloc},
    {"segment_free", Action::kSegmentFree},
    {"segment_unmap", Action::kSegmentFree},
    {"oom", Action::kOutOfMemory},
    {"snapshot", Action::kSnapshot},
};

class SnapshotReader {
 public:
  explicit SnapshotReader(const PlainData& data) : data_(data) {}

  Result<Snapshot> run() {
    const Id segments = data_.find(data_.root(), "segments");
    const Id traces = data_.find(data_.root(), "device_traces");
    if (data_.kind(segments) != Kind::kList)
      return fail(Code::kNotATrace, "it has no list of segments");
    for (size_t i = 0; i < data_.size(segments); ++i) read_segment(data_.item(segments, i));
    for (size_t device = 0; device < data_.size(traces); ++device)
      read_events(device, data_.item(traces, device));
    read_annotations(data_.find(data_.root(), "external_annotations"));
    const Id settings = data_.find(data_.root(), "allocator_settings");
    if (const auto text = data_.text(data_.find(settings, "PYTORCH_CUDA_ALLOC_CONF")))
      snapshot_.settings = *text;
    for (const auto& [number, device] : snapshot_.devices) {
      if (device.active_bytes > kMostInAll || device.reserved_bytes > kMostInAll)
        return fail(Code::kDamaged, "the sizes of its blocks are impossible");
    }
    return std::move(snapshot_);
  }

 private:
  void skip(const char* why) { ++snapshot_.skipped[why]; }

  [[nodiscard]] std::optional<int64_t> integer(Id dict, std::string_view key) const {
    return data_.integer(data_.find(dict, key));
  }
  [[nodiscard]] std::optional<int64_t> bytes(Id dict, std::string_view key) const {
    const auto value = integer(dict, key);
    return value && *value >= 0 && *value <= kMostBytes ? value : std::nullopt;
  }
  [[nodiscard]] std::optional<uint64_t> address(Id dict, std::string_view key) const {
    const auto value = integer(dict, key);
    return value && *value > 0 ? std::optional(static_cast<uint64_t>(*value)) : std::nullopt;
  }

  void read_segment(Id dict) {
    const auto number = integer(dict, "device");
    const auto begin = address(dict, "address");
    const auto size = bytes(dict, "total_size");
    if (!number || *number < 0 || *number >= kMostDevices || !begin || !size)
      return skip("segments without a device, an address or a size");
    DeviceState& device = snapshot_.devices[static_cast<int>(*number)];
    device.segments.push_back({*begin, *size});
    device.reserved_bytes = std::min(device.reserved_bytes + *size, kMostInAll + 1);
    const Id blocks = data_.find(dict, "blocks");
    uint64_t at = *begin;  // old files have no block addresses: blocks are adjacent
    for (size_t i = 0; i < data_.size(blocks); ++i) {
      const Id block = data_.item(blocks, i);
      const auto length = bytes(block, "size");
      if (!length) {
        skip("blocks without a size");
        continue;
      }
      at = address(block, "address").value_or(at);
      read_block(device, block, at, *length);
      at += static_cast<uint64_t>(*length);
    }
  }

  void read_block(DeviceState& device, Id dict, uint64_t at, int64_t length) {
    const std::string_view state = data_.text(data_.find(dict, "state")).value_or("");
    if (state == "inactive") {
      ++device.free_pieces;
      device.largest_free = std::max(device.largest_free, length);
      return;
    }
    const bool waits = state == "active_pending_free" || state == "active_awaiting_free";
    if (!waits && state != "active_allocated") return skip("blocks of an unknown state");
    if (waits) device.waiting_bytes = std::min(device.waiting_bytes + length, kMostInAll);
    // Before PyTorch 2.1 a block's data was in its history.
    const Id history = data_.item(data_.find(dict, "history"), 0);
    const Id own = data_.find(dict, "frames");
    const auto requested = bytes(dict, "requested_size");
    device.active.push_back(
        {.address = at,
         .bytes = length,
         .requested = requested ? requested : bytes(history, "real_size"),
         .frames = own != PlainData::kNothing ? own : data_.find(history, "frames")});
    device.active_bytes = std::min(device.active_bytes + length, kMostInAll + 1);
  }

  void read_events(size_t number, Id list) {
    if (data_.size(list) == 0) return;
    if (number >= kMostDevices) return skip("histories of devices beyond the first 64");
    DeviceState& device = snapshot_.devices[static_cast<int>(number)];
    int64_t now = 0;
    for (size_t i = 0; i < data_.size(list); ++i) {
      const Id dict = data_.item(list, i);
      const auto name = data_.text(data_.find(dict, "action"));
      const auto* const known = std::ranges::find(kActions, name.value_or(""), &ActionName::name);
      if (known == std::end(kActions)) {
        skip("events of an unknown kind");
        continue;
      }
      Event event{.action = known->action, .frames = data_.find(dict, "frames")};
      const auto time_us = integer(dict, "time_us");
      if (time_us && *time_us > 0 && *time_us < kTimeLimitUs) {
        now = std::max(now, *time_us * 1000);
      } else {
        device.undated = true;
      }
      event.time_ns = now;
      if (event.action == Action::kOutOfMemory)
        event.device_free =
            bytes(dict, "device_free") ? bytes(dict, "device_free") : bytes(dict, "addr");
      const auto size = bytes(dict, "size");
      const auto where = address(dict, "addr");
      if (event.action != Action::kSnapshot && !size) {
        skip("events without a size");
        continue;
      }
      event.bytes = size.value_or(0);
      if (event.action != Action::kSnapshot && event.action != Action::kOutOfMemory) {
        if (!where) {
          skip("events without an address");
          continue;
        }
        event.address = *where;
      }
      device.events.push_back(event);
    }
  }

  void read_annotations(Id list) {
    for (size_t i = 0; i < data_.size(list); ++i) {
      const Id dict = data_.item(list, i);
      const auto stage = data_.text(data_.find(dict, "stage"));
      const auto name = data_.text(data_.find(dict, "name"));
      const auto time_us = integer(dict, "time_us");
      const bool begins = stage == "START";
      if ((!begins && stage != "END") || !name || !time_us || *time_us <= 0 ||
          *time_us >= kTimeLimitUs) {
        skip("annotations without a name, a stage or a time");
        continue;
      }
      snapshot_.annotations.push_back({.begins = begins,
                                       .name = std::string(*name),
                                       .device = integer(dict, "device").value_or(0),
                                       .time_ns = *time_us * 1000});
    }
  }

  const PlainData& data_;
  Snapshot snapshot_;
};

}  // namespace

Result<Snapshot> snapshot_of(const PlainData& data) { return SnapshotReader(data).run(); }

}  // namespace dprof::analyzer::memory_snapshot
