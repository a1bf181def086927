// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include "analyzer/import/format.h"
#include "analyzer/import/input.h"
#include "analyzer/import/memory_snapshot/replay.h"
#include "analyzer/import/memory_snapshot/snapshot.h"
#include "base/format.h"

namespace dprof::analyzer::memory_snapshot {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestFile = size_t{4} << 30U;
constexpr size_t kMostFrames = 512;  // of a stack, the innermost ones
constexpr std::string_view kStepPrefix = "ProfilerStep#";
constexpr int64_t kTimesResolutionNs = 1000;

constexpr Skip kFreeRequests{"requests to free a block (the moment it became free is kept)", true};
constexpr Skip kOtherHistories{"events that cannot have led to the final state"};
constexpr Skip kEndsWithoutBegin{"ends of annotations without a beginning"};

bool recognises(std::string_view head) {
  const bool pickle =
      head.size() > 2 && static_cast<uint8_t>(head[0]) == 0x80 && head[1] >= 2 && head[1] <= 5;
  const auto says = [&](std::string_view word) {
    return head.find(word) != std::string_view::npos;
  };
  return pickle && says("segments") && (says("total_size") || says("device_traces"));
}

// Fills one trace from one snapshot.
class SnapshotFiller {
 public:
  SnapshotFiller(const PlainData& data, const Snapshot& snapshot, std::string file, TraceSink& sink)
      : data_(data), snapshot_(snapshot), file_(std::move(file)), sink_(sink) {}

  Status run() {
    for (const auto& [number, device] : snapshot_.devices) {
      if (Status done = add_device(number, device); !done.ok()) return done;
    }
    add_annotations();
    for (const auto& [why, count] : snapshot_.skipped) sink_.skip({.what = why}, {}, count);
    FileClock clock{.resolution_ns = kTimesResolutionNs};
    if (dated_) clock.realtime_at_zero_ns = 0;
    sink_.set_clock(std::move(clock));
    if (!snapshot_.settings.empty())
      sink_.set_meta("imported_version", "PYTORCH_CUDA_ALLOC_CONF=" + snapshot_.settings);
    return sink_.status();
  }

 private:
  Status add_device(int number, const DeviceState& device) {
    const Result<Replay> replay = replay_of(device);
    if (!replay.ok()) return fail(replay.error());
    if (!sink_.has_device(number)) sink_.set_device({.id = number});
    dated_ = dated_ || (!device.events.empty() && !device.undated);
    now_ = {.device_id = number,
            .time_ns = device.events.empty() ? 0 : device.events.front().time_ns,
            .allocated_bytes = 0,
            .reserved_bytes = 0};
    add_base(*replay);
    for (size_t i = 0; i < device.events.size(); ++i) add_event(device.events[i], replay->bytes[i]);
    sink_.add(schema::MemorySampleRow{.time_ns = now_.time_ns,
                                      .device_id = number,
                                      .allocated_bytes = replay->active_bytes,
                                      .reserved_bytes = replay->reserved_bytes,
                                      .largest_free_bytes = device.largest_free});
    say(number, device, *replay);
    return Done{};
  }

  // A row that follows the previous one.
  void add(schema::MemoryEventKind kind, uint64_t address, int64_t bytes,
           std::optional<int64_t> requested = {}, std::optional<int64_t> stack = {}) {
    schema::MemoryEventRow row = now_;
    row.kind = kind;
    row.address = static_cast<int64_t>(address);
    row.bytes = bytes;
    row.requested_bytes = requested;
    row.stack_id = stack;
    sink_.add(row);
  }
  void allocated(int64_t change) { *now_.allocated_bytes += change; }
  void reserved(int64_t change) { *now_.reserved_bytes += change; }

  void add_base(const Replay& replay) {
    for (const Segment& segment : replay.segments) {
      reserved(segment.bytes);
      add(schema::MemoryEventKind::kSegmentAlloc, segment.address, segment.bytes);
    }
    for (const Block& block : replay.blocks) {
      allocated(block.bytes);
      add(schema::MemoryEventKind::kAlloc, block.address, block.bytes, block.requested,
          stack(block.frames));
    }
  }

  void add_event(const Event& event, int64_t bytes) {
    using schema::MemoryEventKind;
    now_.time_ns = event.time_ns;
    if (bytes == kDoesNotFit) return sink_.skip(kOtherHistories, event.time_ns);
    switch (event.action) {
      case Action::kAlloc:
        allocated(bytes);
        return add(MemoryEventKind::kAlloc, event.address, bytes, event.bytes, stack(event.frames));
      case Action::kFree:
        allocated(-bytes);
        return add(MemoryEventKind::kFree, event.address, bytes, event.bytes);
      case Action::kSegmentAlloc:
        reserved(bytes);
        return add(MemoryEventKind::kSegmentAlloc, event.address, bytes, {}, stack(event.frames));
      case Action::kSegmentFree:
        reserved(-bytes);
        return add(MemoryEventKind::kSegmentFree, event.address, bytes);
      case Action::kOutOfMemory:
        add(MemoryEventKind::kOom, 0, event.bytes, {}, stack(event.frames));
        if (event.device_free) {
          sink_.remark("import_warning",
                       fmt::format("{}: device {} had {} free when an allocation of {} failed",
                                   file_, now_.device_id, format_bytes(*event.device_free),
                                   format_bytes(event.bytes)));
        }
        return;
      case Action::kFreeRequested:
        return sink_.skip(kFreeRequests, event.time_ns);
      case Action::kSnapshot:
        return sink_.used();
    }
  }

  void say(int number, const DeviceState& device, const Replay& replay) {
    std::string state = fmt::format("{}: device {} holds {} in {} blocks", file_, number,
                                    format_bytes(replay.active_bytes),
                                    format_count(static_cast<int64_t>(device.active.size())));
    if (device.waiting_bytes > 0)
      state += fmt::format(" ({} of that freed, but still in use by a stream)",
                           format_bytes(device.waiting_bytes));
    state +=
        fmt::format(" and reserves {}; {} of that are free in {} pieces, the largest {}",
                    format_bytes(replay.reserved_bytes),
                    format_bytes(std::max<int64_t>(0, replay.reserved_bytes - replay.active_bytes)),
                    format_count(device.free_pieces), format_bytes(device.largest_free));
    sink_.remark("memory_snapshot", state);
    if (replay.repeated > 0)
      sink_.skip({"blocks and segments that overlap others"}, {}, replay.repeated);
    if (device.undated)
      sink_.remark("import_warning", fmt::format("{}: events of device {} have no times: they "
                                                 "are known only by their order",
                                                 file_, number));
    if (replay.blocks.empty()) return;
    int64_t bytes = 0;
    for (const Block& block : replay.blocks) bytes += block.bytes;
    const auto blocks = static_cast<int64_t>(replay.blocks.size());
    sink_.remark(
        "memory_history_late",
        device.events.empty()
            ? fmt::format("{}: device {} has no history: only its {} blocks with {} are known",
                          file_, number, format_count(blocks), format_bytes(bytes))
            : fmt::format("{}: device {} held {} blocks with {} before the first event "
                          "that was kept; {} of them were freed later",
                          file_, number, format_count(blocks), format_bytes(bytes),
                          format_count(replay.freed_blocks)),
        blocks);
  }

  // Frames come innermost first. A list of frames is in the file only once, however many refer to
  // it.
  std::optional<int64_t> stack(PlainData::Id frames) {
    if (data_.size(frames) == 0) return std::nullopt;
    const auto [entry, is_new] = stacks_.try_emplace(frames, 0);
    if (is_new) {
      for (size_t i = std::min(kMostFrames, data_.size(frames)); i > 0; --i) {
        const PlainData::Id frame = data_.item(frames, i - 1);
        const auto function = data_.text(data_.find(frame, "name"));
        const auto file = data_.text(data_.find(frame, "filename"));
        if (!function && !file) continue;
        const bool known = file && *file != "??";
        const auto line = data_.integer(data_.find(frame, "line"));
        entry->second = sink_.stack(entry->second, function.value_or(""), known ? *file : "",
                                    known && line.value_or(0) > 0 ? line : std::nullopt);
      }
    }
    return entry->second > 0 ? std::optional(entry->second) : std::nullopt;
  }

  // Annotations with the same name and device nest; the latest one begun ends first.
  void add_annotations() {
    if (snapshot_.annotations.empty()) return;
    const int64_t thread =
        sink_.add_thread({.name_id = sink_.text("annotations"), .role = schema::ThreadRole::kMain});
    std::map<std::pair<int64_t, std::string_view>, std::vector<int64_t>> open;
    const auto add_range = [&](std::string_view name, int64_t start,
                               std::optional<int64_t> length) {
      sink_.add(schema::HostRangeRow{.thread_id = thread,
                                     .start_ns = start,
                                     .duration_ns = length,
                                     .name_id = sink_.text(name),
                                     .category = schema::RangeCategory::kUser});
    };
    for (const Annotation& annotation : snapshot_.annotations) {
      std::vector<int64_t>& begun = open[{annotation.device, annotation.name}];
      if (annotation.begins) {
        begun.push_back(annotation.time_ns);
      } else if (begun.empty() || annotation.time_ns < begun.back()) {
        sink_.skip(kEndsWithoutBegin, annotation.time_ns);
      } else {
        const int64_t start = begun.back();
        begun.pop_back();
        add_range(annotation.name, start, annotation.time_ns - start);
        add_step(annotation, start);
      }
    }
    for (const auto& [key, begun] : open)
      for (const int64_t start : begun) add_range(key.second, start, std::nullopt);
    dated_ = true;
  }

  void add_step(const Annotation& annotation, int64_t start) {
    std::string_view number = annotation.name;
    if (!number.starts_with(kStepPrefix)) return;
    number.remove_prefix(kStepPrefix.size());
    int64_t index = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (error != std::errc() || end != number.data() + number.size() || index < 0) return;
    sink_.add(schema::StepRow{.step_index = index,
                              .start_ns = start,
                              .end_ns = annotation.time_ns,
                              .source = schema::StepSource::kMarker});
  }

  const PlainData& data_;
  const Snapshot& snapshot_;
  std::string file_;
  TraceSink& sink_;
  schema::MemoryEventRow now_;  // of the device being read: its time and totals
  std::unordered_map<PlainData::Id, int64_t> stacks_;
  bool dated_ = false;
};

Status read(const fs::path& path, FileSink& sink) {
  const auto named = [&](const Error& error) {
    return fail(error.code, fmt::format("{}: {}", path.string(), error.what), error.hint);
  };
  PlainData data;
  {
    const Result<std::string> content = read_whole(path, kLargestFile);
    if (!content.ok()) return fail(content.error());
    Result<PlainData> read = read_pickle(*content);
    if (!read.ok()) return named(read.error());
    data = *std::move(read);
  }
  if (!sink.progress(0.5)) return FileSink::cancelled();
  const Result<Snapshot> snapshot = snapshot_of(data);
  if (!snapshot.ok()) return named(snapshot.error());
  if (snapshot->devices.empty()) {
    return fail(Code::kNotATrace,
                fmt::format("{}: a snapshot without a segment or an event", path.string()),
                "was GPU memory used before torch.cuda.memory._dump_snapshot()?");
  }
  Result<TraceSink*> trace = sink.open_trace();
  if (!trace.ok()) return fail(trace.error());
  if (const Status filled =
          SnapshotFiller(data, *snapshot, path.filename().string(), **trace).run();
      !filled.ok())
    return named(filled.error());
  return sink.progress(1) ? Status(Done{}) : FileSink::cancelled();
}

}  // namespace

const Format kFormat{.name = "memory_snapshot", .recognises = recognises, .read = read};

}  // namespace dprof::analyzer::memory_snapshot
