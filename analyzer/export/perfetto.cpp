// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analyzer/export/perfetto_packets.h"
#include "analyzer/import/sink/row_sorter.h"
#include "analyzer/render/layout.h"

namespace dprof::analyzer {
namespace {

using schema::GpuActivityKind;
using schema::RangeCategory;

constexpr size_t kMostDepth = 500;  // the reader's limit is 512
constexpr size_t kMostLanes = 200;
constexpr int64_t kOpenEndNs = std::numeric_limits<int64_t>::max();
constexpr uint64_t kAboutRun = 1;  // uuid of the process for data about the run
constexpr uint64_t kFindingsTrack = 2;
constexpr int64_t kMostCorrelation = int64_t{1} << 40;
constexpr uint64_t kFlowsBetweenRanks = uint64_t{1} << 63;
constexpr uint64_t kMessageFlows = kFlowsBetweenRanks | uint64_t{1} << 62;

enum class ItemKind : uint8_t {
  kRange,
  kMark,
  kGpu,
  kCollective,
  kCall,  // of a collective whose execution was not recorded
  kWait,
  kTransfer,
  kStep,
  kLoad,
  kCapture,
  kLoss,
  kCounter,
};

// A slice, instant or counter value, while it is sorted.
struct Item {
  int64_t start = 0;
  int64_t end = 0;  // kOpenEndNs: never closed
  int64_t order = 0;
  int64_t row = -1;
  int64_t correlation = -1;
  int64_t value = -1;  // bytes, sequence, step or count, depending on the kind
  int64_t graph = -1;
  int64_t graph_node = -1;
  int32_t name = 0;
  int32_t track = 0;
  ItemKind kind{};
  uint8_t category = 0;

  friend bool operator<(const Item& a, const Item& b) {
    return std::tie(a.start, b.end, a.order) < std::tie(b.start, a.end, b.order);
  }
};

// A track of a rank: kind and number.
enum class Subject : uint8_t {
  kSteps,
  kThread,
  kProcessRanges,
  kStream,
  kStreamWaits,
  kCommunicator,
  kLoading,
  kRecording,
  kCounter,
};
struct TrackKey {
  Subject subject{};
  int64_t first = 0;
  int64_t second = 0;
  auto operator<=>(const TrackKey&) const = default;
};

// Nested slices on their own track.
struct Lane {
  uint64_t uuid = 0;
  std::vector<int64_t> open;  // ends of the open slices, innermost last
};

struct Track {
  std::string name;
  uint64_t parent = 0;
  PerfettoMerge merge = PerfettoMerge::kNone;
  std::vector<Lane> lanes;  // the first is the track itself
};

// A rank's part of an operation of several ranks.
struct Part {
  int64_t row = 0;
  const CollectiveMember* member = nullptr;
  const MatchedCollective* collective = nullptr;  // nullptr: a message
  uint64_t flow = 0;                              // 0: no other rank's part is written
};

std::string stream_name(const schema::TraceReader& reader, const schema::StreamRow& row) {
  const std::string& name = reader.string(row.name_id.value_or(0));
  return name.empty() ? fmt::format("stream {}", row.cuda_stream)
                      : fmt::format("stream {} ({})", row.cuda_stream, name);
}

std::string thread_name(const schema::TraceReader& reader, const schema::ThreadRow& row) {
  std::string name = reader.string(row.name_id.value_or(0));
  if (name.empty()) name = row.role == schema::ThreadRole::kOther ? "thread" : word_of(row.role);
  return row.os_tid >= 0 ? fmt::format("{} {}", name, row.os_tid) : name;
}

std::string device_name(int64_t device) {
  return device < 0 ? "host" : fmt::format("GPU {}", device);
}

// --- one rank ---

class RankTracks {
 public:
  RankTracks(const ExportFindings& found, const RankSource& source, size_t position,
             const std::vector<Part>* parts, PerfettoPackets& packets, ExportJob& job)
      : found_(found),
        source_(source),
        reader_(source.reader()),
        position_(position),
        parts_(parts),
        packets_(packets),
        job_(job),
        uuid_((position + 1) << 32),
        pid_(static_cast<int64_t>(position) + 1),
        items_(spill_folder()) {}

  Status write() {
    packets_.process(uuid_, pid_, process_name(), static_cast<int64_t>(position_) + 1);
    packets_.begin_sequence(static_cast<uint32_t>(position_) + 2, reader_.strings().size());
    for (const auto read :
         {&RankTracks::read_steps, &RankTracks::read_ranges, &RankTracks::read_details,
          &RankTracks::read_activities, &RankTracks::read_collectives, &RankTracks::read_loading,
          &RankTracks::read_memory, &RankTracks::read_system, &RankTracks::read_recording}) {
      if (Status good = (this->*read)(); !good.ok()) return good;
    }
    if (const auto last = reader_.meta_int("last_event_ns"); last && !source_.window())
      last_ns_ = std::max(last_ns_, source_.on_axis(*last));
    Status written = items_.drain([&](const Item& item) { return emit(item); });
    for (Track& track : tracks_) {
      for (Lane& lane : track.lanes) close_until(lane, kOpenEndNs);
    }
    return written;
  }

 private:
  // --- reading ---

  [[nodiscard]] std::string process_name() const {
    std::string name = fmt::format("rank {}", source_.file().rank);
    const std::optional<int64_t> pid = reader_.meta_int("pid");
    const std::string& host = source_.file().host;
    if (!host.empty() && pid) return fmt::format("{} ({}, pid {})", name, host, *pid);
    if (host.empty() && !pid) return name;
    return pid ? fmt::format("{} (pid {})", name, *pid) : fmt::format("{} ({})", name, host);
  }

  void add(Item item) {
    if (item.start < -kPerfettoZeroNs) return job_.left_out("rows from before the recording");
    if (item.kind != ItemKind::kCounter) {
      last_ns_ = std::max(last_ns_, item.end == kOpenEndNs ? item.start : item.end);
    }
    if (failed_.ok()) failed_ = items_.add(item);
  }

  // [start, end) of a row on the axis.
  void place(Item& item, int64_t start_ns, std::optional<int64_t> duration_ns) const {
    item.start = source_.on_axis(start_ns);
    item.end = kOpenEndNs;
    if (!duration_ns) return;
    const int64_t length = std::max<int64_t>(0, *duration_ns);
    item.end = std::max(item.start, source_.on_axis(sum_within_reach(start_ns, length)));
  }

  Status read_steps() {
    if (source_.found() == nullptr) return Done{};
    for (const StepWindow& step : source_.found()->steps) {
      const auto chosen = source_.steps();
      if (chosen && (step.index < chosen->first || step.index >= chosen->second)) continue;
      add({.start = step.window.begin.ns,
           .end = std::max(step.window.begin.ns, step.window.end.ns),
           .value = step.index,
           .track = plain_track({Subject::kSteps}, "steps", uuid_),
           .kind = ItemKind::kStep});
    }
    return failed_;
  }

  Status read_ranges() {
    Result<std::vector<schema::ThreadRow>> threads = reader_.read_all<schema::ThreadRow>();
    if (!threads.ok()) return fail(threads.error());
    for (const schema::ThreadRow& row : *threads) threads_.emplace(row.id, row);
    const Status read =
        reader_.for_each<schema::HostRangeRow>([&](const schema::HostRangeRow& row) {
          if (!source_.wants(row.start_ns, row.duration_ns)) return;
          Item item{
              .row = row.id,
              .correlation = row.correlation.value_or(-1),
              .value = row.sequence.value_or(-1),
              .name = named(row.name_id),
              .kind = row.category == RangeCategory::kNvtxMark ? ItemKind::kMark : ItemKind::kRange,
              .category = static_cast<uint8_t>(row.category)};
          item.track =
              row.category == RangeCategory::kNvtxProcess
                  ? track({Subject::kProcessRanges}, "NVTX ranges", uuid_, PerfettoMerge::kByKey)
                  : thread_track(row.thread_id);
          place(item, row.start_ns, row.duration_ns);
          if (item.correlation >= 0) called_.add(item.correlation);
          add(item);
        });
    return read.ok() ? failed_ : read;
  }

  Status read_details() {
    return reader_.for_each<schema::RangeDetailRow>(
        [&](const schema::RangeDetailRow& row) { details_.emplace(row.range_id, row); });
  }

  Status read_activities() {
    Result<std::vector<schema::StreamRow>> streams = reader_.read_all<schema::StreamRow>();
    if (!streams.ok()) return fail(streams.error());
    for (const schema::StreamRow& row : *streams) streams_.emplace(row.id, row);
    if (Status shapes = shapes_.read(reader_); !shapes.ok()) return shapes;
    const Status read =
        reader_.for_each<schema::GpuActivityRow>([&](const schema::GpuActivityRow& row) {
          if (!source_.wants(row.start_ns, row.duration_ns)) return;
          Item item{.row = row.id,
                    .correlation = row.correlation.value_or(-1),
                    .value = row.bytes.value_or(-1),
                    .graph = row.graph.value_or(-1),
                    .graph_node = row.graph_node.value_or(-1),
                    .name = named(row.name_id),
                    .track = stream_track(row),
                    .kind = ItemKind::kGpu,
                    .category = static_cast<uint8_t>(row.kind)};
          place(item, row.start_ns, row.duration_ns);
          if (item.correlation >= 0) ran_.add(item.correlation);
          add(item);
        });
    return read.ok() ? failed_ : read;
  }

  Status read_collectives() {
    Result<std::vector<schema::CommunicatorRow>> all = reader_.read_all<schema::CommunicatorRow>();
    if (!all.ok()) return fail(all.error());
    for (const schema::CommunicatorRow& row : *all) communicators_.emplace(row.id, row);
    const Status read =
        reader_.for_each<schema::CollectiveRow>([&](const schema::CollectiveRow& row) {
          const std::optional<int64_t> begin = row.start_ns ? row.start_ns : row.enqueue_ns;
          if (!begin) return job_.left_out("collectives without a time");
          std::optional<int64_t> length;
          if (row.start_ns && row.end_ns)
            length = within_reach(*row.end_ns) - within_reach(*row.start_ns);
          if (!source_.wants(*begin, length)) return;
          Item item{.row = row.id,
                    .track = communicator_track(row.communicator_id.value_or(-1)),
                    .kind = row.start_ns ? ItemKind::kCollective : ItemKind::kCall};
          place(item, *begin, length);
          add(item);
          collectives_.emplace(row.id, row);
          if (row.start_ns && length) divide(item);
        });
    return read.ok() ? failed_ : read;
  }

  // Splits it into waiting for the last rank and transfer.
  void divide(const Item& whole) {
    const Part* part = part_of(whole.row);
    if (part == nullptr || !part->member->start || !part->member->end) return;
    const int64_t wait = std::clamp<int64_t>(part->member->wait_ns, 0, whole.end - whole.start);
    Item item = whole;
    item.kind = ItemKind::kWait;
    item.end = whole.start + wait;
    item.value = part->collective != nullptr ? part->collective->last_arriver.value_or(-1) : -1;
    if (wait > 0) add(item);
    item.kind = ItemKind::kTransfer;
    item.start = whole.start + wait;
    item.end = whole.end;
    if (item.end > item.start) add(item);
  }

  Status read_loading() {
    const Status read =
        reader_.for_each<schema::LoaderEventRow>([&](const schema::LoaderEventRow& row) {
          if (!source_.wants(row.start_ns, row.duration_ns)) return;
          Item item{
              .row = row.id,
              .track = track({Subject::kLoading}, "data loading", uuid_, PerfettoMerge::kByKey),
              .kind = ItemKind::kLoad};
          place(item, row.start_ns, row.duration_ns ? row.duration_ns : std::optional<int64_t>(0));
          add(item);
          if (row.queue_depth)
            count("batches ready", 0, PerfettoUnit::kCount, row.start_ns, *row.queue_depth);
        });
    return read.ok() ? failed_ : read;
  }

  Status read_memory() {
    const auto counters = [&](int64_t device, int64_t time, std::optional<int64_t> allocated,
                              std::optional<int64_t> reserved) {
      if (!source_.wants(time, {})) return;
      if (allocated) count("allocated", device, PerfettoUnit::kBytes, time, *allocated);
      if (reserved) count("reserved", device, PerfettoUnit::kBytes, time, *reserved);
    };
    Status read = reader_.for_each<schema::MemoryEventRow>([&](const schema::MemoryEventRow& row) {
      if (row.allocated_bytes || row.reserved_bytes) {
        counters(row.device_id, row.time_ns, row.allocated_bytes, row.reserved_bytes);
      } else if (source_.wants(row.time_ns, {})) {
        job_.left_out("memory events without a total");
      }
    });
    if (!read.ok()) return read;
    read = reader_.for_each<schema::MemorySampleRow>([&](const schema::MemorySampleRow& row) {
      counters(row.device_id, row.time_ns, row.allocated_bytes, row.reserved_bytes);
    });
    return read.ok() ? failed_ : read;
  }

  Status read_system() {
    const Status read =
        reader_.for_each<schema::SystemSampleRow>([&](const schema::SystemSampleRow& row) {
          if (!source_.wants(row.time_ns, {})) return;
          std::string name = reader_.string(row.kind_id);
          if (row.subject) name += fmt::format(" {}", *row.subject);
          const auto unit = name.find("bytes") != std::string::npos ? PerfettoUnit::kBytes
                            : name.find("_ns") != std::string::npos ? PerfettoUnit::kNanoseconds
                                                                    : PerfettoUnit::kCount;
          count(name, kOfProcess, unit, row.time_ns, row.value);
        });
    return read.ok() ? failed_ : read;
  }

  // States of the capture, each until the next one; losses.
  Status read_recording() {
    const Result<std::vector<schema::CaptureRow>> captures = reader_.read_all<schema::CaptureRow>();
    if (!captures.ok()) return fail(captures.error());
    captures_ = *captures;
    for (size_t i = 0; i < captures_.size(); ++i) {
      std::optional<int64_t> length;
      if (i + 1 < captures_.size())
        length = within_reach(captures_[i + 1].time_ns) - within_reach(captures_[i].time_ns);
      if (!source_.wants(captures_[i].time_ns, length)) continue;
      Item item{
          .row = static_cast<int64_t>(i), .track = recording_track(), .kind = ItemKind::kCapture};
      place(item, captures_[i].time_ns, length);
      add(item);
    }
    Result<std::vector<schema::LossRow>> losses = reader_.read_all<schema::LossRow>();
    if (!losses.ok()) return fail(losses.error());
    losses_ = *std::move(losses);
    for (size_t i = 0; i < losses_.size(); ++i) {
      if (!losses_[i].first_ns) {
        job_.left_out("losses without a time");
        continue;
      }
      if (!source_.wants(*losses_[i].first_ns, {})) continue;
      Item item{
          .row = static_cast<int64_t>(i), .track = recording_track(), .kind = ItemKind::kLoss};
      place(item, *losses_[i].first_ns, 0);
      add(item);
    }
    return failed_;
  }

  void count(std::string_view what, int64_t device, PerfettoUnit unit, int64_t time_ns,
             int64_t value) {
    const std::string name = device == kOfProcess || unit == PerfettoUnit::kCount
                                 ? std::string(what)
                                 : fmt::format("{} memory {}", device_name(device), what);
    auto [known, is_new] = counters_.try_emplace(name, static_cast<int32_t>(tracks_.size()));
    if (is_new) {
      tracks_.push_back({name, uuid_, PerfettoMerge::kNone, {{next_uuid(), {}}}});
      packets_.counter(tracks_.back().lanes[0].uuid, uuid_, name, unit);
    }
    Item item{.value = value, .track = known->second, .kind = ItemKind::kCounter};
    place(item, time_ns, 0);
    add(item);
  }

  // --- tracks ---

  uint64_t next_uuid() { return uuid_ + ++uuids_; }

  [[nodiscard]] int32_t named(int64_t id) const {
    const bool known = id > 0 && static_cast<size_t>(id) < reader_.strings().size();
    return static_cast<int32_t>(known ? id : 0);
  }

  int32_t track(const TrackKey& key, const std::string& name, uint64_t parent,
                PerfettoMerge merge) {
    const auto [known, is_new] = track_of_.try_emplace(key, static_cast<int32_t>(tracks_.size()));
    if (!is_new) return known->second;
    tracks_.push_back({name, parent, merge, {{next_uuid(), {}}}});
    packets_.track(tracks_.back().lanes[0].uuid, parent, name, merge,
                   static_cast<int64_t>(tracks_.size()));
    return known->second;
  }
  int32_t plain_track(const TrackKey& key, const std::string& name, uint64_t parent) {
    return track(key, name, parent, PerfettoMerge::kNone);
  }

  int32_t thread_track(int64_t id) {
    const auto [known, is_new] =
        track_of_.try_emplace({Subject::kThread, id}, static_cast<int32_t>(tracks_.size()));
    if (!is_new) return known->second;
    const auto row = threads_.find(id);
    const std::string name =
        row == threads_.end() ? fmt::format("thread {}", id) : thread_name(reader_, row->second);
    tracks_.push_back({name, uuid_, PerfettoMerge::kNone, {{next_uuid(), {}}}});
    // Thread numbers are per host; those written are per file.
    const int64_t tid = (pid_ << 20) + static_cast<int64_t>(tracks_.size());
    packets_.thread(tracks_.back().lanes[0].uuid, pid_, tid, name);
    return known->second;
  }

  // A group of related tracks: a track without events.
  uint64_t group(const std::string& name) {
    const auto [known, is_new] = groups_.try_emplace(name, 0);
    if (is_new) {
      known->second = next_uuid();
      packets_.track(known->second, uuid_, name);
    }
    return known->second;
  }

  int32_t stream_track(const schema::GpuActivityRow& row) {
    const bool waits = row.kind == GpuActivityKind::kSync;
    const TrackKey key{waits ? Subject::kStreamWaits : Subject::kStream, row.device_id,
                       row.stream_id};
    if (const auto known = track_of_.find(key); known != track_of_.end()) return known->second;
    const auto stream = streams_.find(row.stream_id);
    std::string name = stream == streams_.end() ? fmt::format("stream of row {}", row.stream_id)
                                                : stream_name(reader_, stream->second);
    if (waits) name += ": waits";
    return plain_track(key, name, group(device_name(row.device_id)));
  }

  int32_t communicator_track(int64_t id) {
    const TrackKey key{Subject::kCommunicator, id};
    if (const auto known = track_of_.find(key); known != track_of_.end()) return known->second;
    const auto row = communicators_.find(id);
    std::string name = "unknown group";
    if (row != communicators_.end()) {
      name = reader_.string(row->second.name_id.value_or(0));
      if (name.empty()) name = fmt::format("{:x}", row->second.hash);
      name = fmt::format("group {} ({})", name, word_of(row->second.backend));
    }
    return track(key, name, group("Communication"), PerfettoMerge::kByKey);
  }

  int32_t recording_track() {
    return track({Subject::kRecording}, "recording", uuid_, PerfettoMerge::kByKey);
  }

  // --- writing ---

  void close_until(Lane& lane, int64_t time_ns) {
    while (!lane.open.empty() && lane.open.back() <= time_ns) {
      packets_.event(PerfettoEvent::kEnd, lane.open.back(), lane.uuid);
      packets_.done();
      lane.open.pop_back();
    }
  }

  // The first lane in which the slice nests; nullptr: too many lanes.
  Lane* lane_for(Track& track, int64_t start, int64_t end) {
    for (Lane& lane : track.lanes) {
      close_until(lane, start);
      if (lane.open.empty() || (lane.open.back() >= end && lane.open.size() < kMostDepth))
        return &lane;
    }
    if (track.lanes.size() >= kMostLanes) return nullptr;
    track.lanes.push_back({next_uuid(), {}});
    const std::string name =
        track.merge == PerfettoMerge::kByKey ? track.name : track.name + ": crossing";
    packets_.track(track.lanes.back().uuid, track.parent, name, PerfettoMerge::kByKey);
    return &track.lanes.back();
  }

  Status emit(const Item& item) {
    if ((++emitted_ & 0xFFFF) == 0) {
      if (Status wanted = job_.go_on(); !wanted.ok()) return wanted;
      if (Status good = packets_.status(); !good.ok()) return good;
    }
    Track& track = tracks_[static_cast<size_t>(item.track)];
    if (item.kind == ItemKind::kCounter) {
      packets_.event(PerfettoEvent::kCounter, item.start, track.lanes[0].uuid);
      packets_.count(item.value);
      packets_.done();
      job_.wrote();
      return Done{};
    }
    const bool instant = item.kind == ItemKind::kMark || item.kind == ItemKind::kLoss ||
                         item.kind == ItemKind::kCall;
    if (instant) {
      packets_.event(PerfettoEvent::kInstant, item.start, track.lanes[0].uuid);
    } else {
      const int64_t end = item.end == kOpenEndNs ? std::max(item.start, last_ns_) : item.end;
      Lane* lane = lane_for(track, item.start, end);
      if (lane == nullptr) {
        job_.left_out(fmt::format("slices beyond {} that cross on one track", kMostLanes));
        return Done{};
      }
      packets_.event(PerfettoEvent::kBegin, item.start, lane->uuid);
      lane->open.push_back(end);
    }
    describe(item);
    packets_.done();
    if (item.kind != ItemKind::kWait && item.kind != ItemKind::kTransfer) job_.wrote();
    return Done{};
  }

  void describe(const Item& item) {
    if (item.end == kOpenEndNs && item.kind != ItemKind::kCall) packets_.note("open", "true");
    switch (item.kind) {
      case ItemKind::kRange:
      case ItemKind::kMark:
        return describe_range(item);
      case ItemKind::kGpu:
        return describe_activity(item);
      case ItemKind::kCollective:
      case ItemKind::kCall:
        return describe_collective(item);
      case ItemKind::kWait:
        packets_.category("wait");
        return packets_.name(item.value >= 0 ? fmt::format("wait for rank {}", item.value)
                                             : std::string("wait"));
      case ItemKind::kTransfer:
        packets_.category("transfer");
        return packets_.name("transfer");
      case ItemKind::kStep:
        packets_.category("step");
        return packets_.name(fmt::format("step {}", item.value));
      case ItemKind::kLoad:
        packets_.category("loading");
        return packets_.name("wait for a batch");
      case ItemKind::kCapture: {
        const schema::CaptureRow& row = captures_[static_cast<size_t>(item.row)];
        packets_.category("recording");
        packets_.note("detail", word_of(row.detail));
        packets_.note("cause", word_of(row.cause));
        return packets_.name(word_of(row.state));
      }
      case ItemKind::kLoss: {
        const schema::LossRow& row = losses_[static_cast<size_t>(item.row)];
        packets_.category("loss");
        packets_.note("count", row.count);
        packets_.note("source", word_of(row.source));
        return packets_.name(fmt::format("not recorded: {}", word_of(row.reason)));
      }
      case ItemKind::kCounter:
        break;
    }
  }

  void name(const Item& item) {
    const std::string& text = reader_.strings()[static_cast<size_t>(item.name)];
    if (text.empty()) return packets_.name("(no name)");
    packets_.name(item.name, text);
  }

  [[nodiscard]] uint64_t launch_flow(int64_t correlation) const {
    if (correlation < 0 || correlation >= kMostCorrelation) return 0;
    if (!called_.has(correlation) || !ran_.has(correlation)) return 0;
    return static_cast<uint64_t>(pid_) << 40 | static_cast<uint64_t>(correlation);
  }

  void describe_range(const Item& item) {
    packets_.category(word_of(static_cast<RangeCategory>(item.category)));
    name(item);
    if (item.value >= 0) packets_.note("sequence", item.value);
    if (item.correlation >= 0) packets_.note("correlation", item.correlation);
    if (const uint64_t flow = launch_flow(item.correlation); flow != 0) packets_.flow(flow);
    const auto detail = details_.find(item.row);
    if (detail == details_.end()) return;
    const schema::RangeDetailRow& row = detail->second;
    if (row.domain_id) packets_.note("domain", reader_.string(*row.domain_id));
    if (row.color) packets_.note("color", fmt::format("#{:08x}", *row.color & 0xFFFFFFFF));
    if (row.nvtx_category) packets_.note("nvtx_category", *row.nvtx_category);
    if (row.payload) note_payload(row.payload_kind, *row.payload);
  }

  // Numbers as numbers; other payloads as bytes.
  void note_payload(schema::PayloadKind kind, std::string_view bytes) {
    const auto as = [&](auto value) {
      if (bytes.size() < sizeof value) return false;
      std::memcpy(&value, bytes.data(), sizeof value);
      packets_.note("payload", fmt::format("{}", value));
      return true;
    };
    using schema::PayloadKind;
    const bool noted = (kind == PayloadKind::kUint64 && as(uint64_t{0})) ||
                       (kind == PayloadKind::kInt64 && as(int64_t{0})) ||
                       (kind == PayloadKind::kDouble && as(double{0})) ||
                       (kind == PayloadKind::kUint32 && as(uint32_t{0})) ||
                       (kind == PayloadKind::kInt32 && as(int32_t{0})) ||
                       (kind == PayloadKind::kFloat && as(float{0}));
    if (noted) return;
    std::string hex;
    for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    packets_.note("payload_bytes", hex);
  }

  void describe_activity(const Item& item) {
    packets_.category(word_of(static_cast<GpuActivityKind>(item.category)));
    name(item);
    if (item.correlation >= 0) packets_.note("correlation", item.correlation);
    if (item.value >= 0) packets_.note("bytes", item.value);
    if (item.graph >= 0) packets_.note("graph", item.graph);
    if (item.graph_node >= 0) packets_.note("graph_node", item.graph_node);
    if (const schema::KernelShapeRow* shape = shapes_.of(item.row); shape != nullptr) {
      packets_.note("grid",
                    fmt::format("{} x {} x {}", shape->grid_x, shape->grid_y, shape->grid_z));
      packets_.note("block",
                    fmt::format("{} x {} x {}", shape->block_x, shape->block_y, shape->block_z));
      packets_.note("registers", shape->registers);
      packets_.note("shared_bytes",
                    sum_within_reach(shape->static_shared_bytes, shape->dynamic_shared_bytes));
    }
    const uint64_t flow = launch_flow(item.correlation);
    if (flow == 0) return;
    // One graph launch runs many kernels: the flow continues from each to the next.
    if (item.graph_node >= 0) return packets_.flow(flow);
    packets_.flow_ends(flow);
  }

  void describe_collective(const Item& item) {
    const schema::CollectiveRow& row = collectives_.at(item.row);
    packets_.category("collective");
    packets_.name(word_of(row.function));
    packets_.note("state", word_of(row.state));
    const auto note = [&](std::string_view key, const std::optional<int64_t>& value) {
      if (value) packets_.note(key, *value);
    };
    note("bytes", row.bytes);
    note("count", row.count);
    if (row.dtype != schema::DataType::kUnknown) packets_.note("dtype", word_of(row.dtype));
    if (row.algorithm) packets_.note("algorithm", *row.algorithm);
    if (row.protocol) packets_.note("protocol", *row.protocol);
    note("channels", row.channels);
    note("sequence", row.sequence);
    note("group_sequence", row.group_sequence);
    note("root", row.root);
    note("peer", row.peer);
    note("bucket", row.bucket);
    note("correlation", row.correlation);
    const Part* part = part_of(item.row);
    if (part == nullptr) return;
    if (part->collective != nullptr) {
      note("transfer_ns", part->collective->transfer_ns);
      note_last_arriver(*part);
    }
    packets_.note("wait_ns", part->member->wait_ns);
    if (part->flow == 0) return;
    packets_.flow(part->flow);
    packets_.correlate(part->flow);
  }

  // The last arriver, and how well its times compare with these.
  void note_last_arriver(const Part& part) {
    const std::optional<int> last = part.collective->last_arriver;
    if (!last) return;
    packets_.note("last_rank", *last);
    const auto other = std::ranges::find(part.collective->members, *last, &CollectiveMember::rank);
    const auto place = std::ranges::find(found_.ranks, *last, &RankAnalysis::rank);
    if (other == part.collective->members.end() || place == found_.ranks.end()) return;
    if (!part.member->start || !other->start || found_.clocks == nullptr) return;
    const auto own = std::ranges::find(found_.ranks, part.member->rank, &RankAnalysis::rank);
    const auto index = [&](auto at) { return static_cast<size_t>(at - found_.ranks.begin()); };
    const std::optional<int64_t> bound =
        found_.clocks->bound_between(index(own), *part.member->start, index(place), *other->start);
    if (bound) {
      packets_.note("clock_bound_ns", *bound);
    } else {
      packets_.note("clock_bound_ns", "unknown");
    }
  }

  [[nodiscard]] const Part* part_of(int64_t row) const {
    if (parts_ == nullptr) return nullptr;
    const auto part = std::ranges::lower_bound(*parts_, row, {}, &Part::row);
    return part != parts_->end() && part->row == row ? &*part : nullptr;
  }

  static constexpr int64_t kOfProcess = std::numeric_limits<int64_t>::min();

  const ExportFindings& found_;
  const RankSource& source_;
  const schema::TraceReader& reader_;
  size_t position_;
  const std::vector<Part>* parts_;
  PerfettoPackets& packets_;
  ExportJob& job_;
  uint64_t uuid_;
  int64_t pid_;

  RowSorter<Item> items_;
  Status failed_ = Done{};
  int64_t last_ns_ = std::numeric_limits<int64_t>::min();
  int64_t emitted_ = 0;
  uint64_t uuids_ = 0;
  std::vector<Track> tracks_;
  std::map<TrackKey, int32_t> track_of_;
  std::map<std::string, int32_t, std::less<>> counters_;
  std::map<std::string, uint64_t> groups_;
  std::unordered_map<int64_t, schema::ThreadRow> threads_;
  std::unordered_map<int64_t, schema::StreamRow> streams_;
  std::unordered_map<int64_t, schema::CommunicatorRow> communicators_;
  std::unordered_map<int64_t, schema::CollectiveRow> collectives_;
  std::unordered_map<int64_t, schema::RangeDetailRow> details_;
  std::vector<schema::CaptureRow> captures_;
  std::vector<schema::LossRow> losses_;
  KernelShapes shapes_;
  NumberSet called_;  // correlations of calls and of device activities
  NumberSet ran_;
};

}  // namespace

// --- the run ---

struct PerfettoExport::Impl {
  Impl(const ExportFindings& findings, OutFile& out, ExportJob& its_job)
      : found(findings), packets(out), job(its_job) {}

  // Chooses the ranks and times whose parts are written.
  void choose(std::span<const TraceFile> traces,
              const std::optional<std::pair<int64_t, int64_t>>& steps) {
    for (const TraceFile& trace : traces) {
      const auto rank = std::ranges::find(found.ranks, trace.rank, &RankAnalysis::rank);
      Interval& window = windows[trace.rank];
      constexpr int64_t kAlways = std::numeric_limits<int64_t>::max();
      if (!steps || rank == found.ranks.end()) {
        window = {{-kAlways}, {kAlways}};
        continue;
      }
      window = {{kAlways}, {-kAlways}};
      for (const StepWindow& step : rank->steps) {
        if (step.index < steps->first || step.index >= steps->second) continue;
        window.begin = std::min(window.begin, step.window.begin);
        window.end = std::max(window.end, step.window.end);
      }
    }
  }

  [[nodiscard]] bool is_written(const CollectiveMember& member) const {
    const auto window = windows.find(member.rank);
    if (window == windows.end() || !member.start) return false;
    return *member.start < window->second.end &&
           member.end.value_or(*member.start) > window->second.begin;
  }

  void add_part(const CollectiveMember& member, const MatchedCollective* collective,
                uint64_t flow) {
    if (!windows.contains(member.rank)) return;
    parts[member.rank].push_back({member.row, &member, collective, is_written(member) ? flow : 0});
  }

  void match() {
    uint64_t number = 0;
    for (const MatchedCollective& collective : found.collectives) {
      ++number;
      const bool several = std::ranges::count_if(collective.members, [&](const auto& member) {
                             return is_written(member);
                           }) > 1;
      for (const CollectiveMember& member : collective.members)
        add_part(member, &collective, several ? kFlowsBetweenRanks | number : 0);
    }
    number = 0;
    for (const MatchedMessage& message : found.messages) {
      ++number;
      if (!message.send || !message.receive) continue;
      const bool both = is_written(*message.send) && is_written(*message.receive);
      add_part(*message.send, nullptr, both ? kMessageFlows | number : 0);
      add_part(*message.receive, nullptr, both ? kMessageFlows | number : 0);
    }
    for (auto& [rank, list] : parts) std::ranges::stable_sort(list, {}, &Part::row);
  }

  void write_findings() {
    if (found.findings.empty()) return;
    packets.process(kAboutRun, 1 << 30, "dprof", 0);
    packets.track(kFindingsTrack, kAboutRun, "dprof findings");
    packets.begin_sequence(1, 0);
    int64_t first_ns = 0;
    if (!found.ranks.empty() && !found.ranks[0].steps.empty())
      first_ns = found.ranks[0].steps[0].window.begin.ns;
    for (const Finding& finding : found.findings) {
      std::string evidence;
      int64_t time_ns = finding.evidence.empty() ? first_ns : finding.evidence[0].start_ns;
      for (const Evidence& one : finding.evidence) {
        time_ns = std::min(time_ns, one.start_ns);
        evidence += fmt::format("{}rank {}: {} {}", evidence.empty() ? "" : "; ", one.rank,
                                one.table, fmt::join(one.rows, ", "));
      }
      packets.event(PerfettoEvent::kInstant, std::max(time_ns, -kPerfettoZeroNs), kFindingsTrack);
      packets.category("finding");
      packets.name(finding.title);
      packets.note("rule", finding.rule);
      packets.note("severity", word_of(finding.severity));
      packets.note("detail", finding.detail);
      packets.note("advice", finding.advice);
      if (finding.cost_ns) packets.note("cost_per_step_ns", *finding.cost_ns);
      if (!finding.ranks.empty()) packets.note("ranks", rank_list(finding.ranks));
      if (!evidence.empty()) packets.note("evidence", evidence);
      packets.done();
      job.wrote();
    }
  }

  const ExportFindings& found;
  PerfettoPackets packets;
  ExportJob& job;
  std::map<int, Interval> windows;  // by rank: written ones
  std::map<int, std::vector<Part>> parts;
  size_t position = 0;
};

PerfettoExport::PerfettoExport(const ExportFindings& found, OutFile& out, ExportJob& job)
    : impl_(std::make_unique<Impl>(found, out, job)) {}
PerfettoExport::~PerfettoExport() = default;

void PerfettoExport::head(std::span<const TraceFile> traces,
                          const std::optional<std::pair<int64_t, int64_t>>& steps) {
  impl_->choose(traces, steps);
  impl_->match();
  for (const TraceFile& trace : traces) {
    const auto found = std::ranges::find(impl_->found.ranks, trace.rank, &RankAnalysis::rank);
    const Result<schema::TraceReader> reader = schema::TraceReader::open(trace.path);
    if (!reader.ok()) continue;
    const std::optional<int64_t> origin = reader->meta_int("origin_realtime_ns");
    if (!origin || *origin <= 0) continue;
    int64_t zero_ns = -trace.shift_ns;  // time 0 of the run on this trace's clock
    if (found != impl_->found.ranks.end()) zero_ns += found->clock.from_axis({0}).ns;
    impl_->packets.clock(*origin + zero_ns);
    break;
  }
  impl_->packets.order_processes();
  impl_->write_findings();
}

Status PerfettoExport::rank(const RankSource& source) {
  const auto parts = impl_->parts.find(source.file().rank);
  return RankTracks(impl_->found, source, impl_->position++,
                    parts == impl_->parts.end() ? nullptr : &parts->second, impl_->packets,
                    impl_->job)
      .write();
}

}  // namespace dprof::analyzer
