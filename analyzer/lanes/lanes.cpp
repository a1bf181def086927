// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lanes/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "analyzer/digest/range_names.h"
#include "analyzer/vocabulary/category.h"
#include "analyzer/vocabulary/loss.h"
#include "base/format.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;
using schema::RangeCategory;
using schema::ThreadRole;
using schema::TraceReader;

constexpr int64_t kNoThread = 0;  // collectives without a known host thread

// A damaged trace can contain any time: with this bound, sums and differences do not overflow.
int64_t bounded(int64_t ns) {
  constexpr int64_t kBound = int64_t{1} << 61;
  return std::clamp(ns, -kBound, kBound);
}

// A row before it is assigned to a lane.
struct Slice {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t row = 0;
  int32_t name = 0;
  uint8_t phase = 0;              // Category
  bool open = false;              // end_ns is unknown
  bool is_phase = false;          // enclosed slices inherit its phase
  std::optional<int64_t> launch;  // for a stream's activity: its launch's correlation
};

enum class LaneSource : uint8_t { kRanges, kStream, kCollectives };

// Rows of one thread, or of one stream of a device, from one table.
struct TrackKey {
  LaneSource source{};
  int64_t device = 0;
  int64_t id = 0;  // of the thread or stream
  auto operator<=>(const TrackKey&) const = default;
};
struct Track {
  TrackKey key;
  std::vector<Slice> slices;
};

// Puts the slices of one thread into lanes.
//
// Invariant  a slice is in a lane below all slices that enclose it, and never shares a lane with a
//            slice that it overlaps.
// Cost       O(n * nesting depth); rows come sorted from the recorder, others are sorted first.
class LaneBuilder {
 public:
  explicit LaneBuilder(std::vector<Lane>& lanes) : lanes_(lanes) {}

  void add_all(std::vector<Slice>& slices) {
    const auto outer_first = [](const Slice& a, const Slice& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    };
    if (!std::ranges::is_sorted(slices, outer_first)) std::ranges::stable_sort(slices, outer_first);
    for (const Slice& slice : slices) add(slice);
  }

 private:
  struct Active {
    int64_t end_ns;
    size_t lane;
    uint8_t phase;
    bool is_phase;
  };

  void add(const Slice& slice) {
    std::erase_if(active_, [&](const Active& a) { return a.end_ns <= slice.start_ns; });
    size_t lane = 0;
    uint8_t phase = slice.phase;
    bool is_phase = slice.is_phase;
    for (const Active& a :
         active_) {  // in order of start: the last one that encloses is the innermost
      if (a.end_ns < slice.end_ns) continue;
      lane = std::max(lane, a.lane + 1);
      if (!slice.is_phase && a.is_phase) phase = a.phase, is_phase = true;
    }
    while (lane < busy_until_.size() && busy_until_[lane] > slice.start_ns) ++lane;
    if (lane >= busy_until_.size()) {
      busy_until_.resize(lane + 1, std::numeric_limits<int64_t>::min());
      lanes_.resize(lane + 1);
    }
    busy_until_[lane] = slice.end_ns;
    Lane& target = lanes_[lane];
    target.start_ns.push_back(slice.start_ns);
    target.duration_ns.push_back(slice.end_ns - slice.start_ns);
    target.name.push_back(slice.name);
    target.row.push_back(slice.row);
    target.phase.push_back(phase);
    active_.push_back({slice.end_ns, lane, phase, is_phase});
  }

  std::vector<Lane>& lanes_;
  std::vector<int64_t> busy_until_;  // per lane
  std::vector<Active> active_;
};

// A call that launched something.
struct Call {
  int64_t row = 0;
  int64_t correlation = 0;
  auto operator<=>(const Call&) const = default;
};

struct Phase {
  Category category;
  bool is_phase;
};

bool is_compute_phase(Category category) {
  return category == Category::kForward || category == Category::kBackward ||
         category == Category::kOptimizer;
}

Phase phase_of(Marker marker, RangeCategory category) {
  switch (marker) {
    case Marker::kInput:
      return {Category::kInputWait, true};
    case Marker::kForward:
      return {Category::kForward, true};
    case Marker::kBackward:
      return {Category::kBackward, true};
    case Marker::kOptimizer:
      return {Category::kOptimizer, true};
    case Marker::kCheckpoint:
      return {Category::kHost, true};
    case Marker::kStep:
    case Marker::kNone:
      break;
  }
  switch (category) {
    case RangeCategory::kAutograd:
      return {Category::kBackward, true};
    case RangeCategory::kOp:
      return {Category::kOtherCompute, false};
    case RangeCategory::kApi:
      return {Category::kLaunch, false};
    case RangeCategory::kUser:
    case RangeCategory::kNvtx:
    case RangeCategory::kNvtxProcess:
    case RangeCategory::kNvtxMark:
    case RangeCategory::kOverhead:
    case RangeCategory::kPython:
      break;
  }
  return {Category::kHost, false};
}

class Loader {
 public:
  Loader(const TraceReader& reader, int64_t shift_ns, const ClockMap& clock,
         std::optional<Interval> within, RankLanes& lanes)
      : reader_(reader),
        shift_ns_(bounded(shift_ns)),
        clock_(clock),
        within_(within),
        lanes_(lanes) {
    lanes_.names = reader.strings();
    if (lanes_.names.empty()) lanes_.names.emplace_back();
    for (const std::string& name : lanes_.names) markers_.push_back(schema::marker_of(name));
  }

  Status load() {
    for (const auto& read : {&Loader::read_ranges, &Loader::read_collectives,
                             &Loader::read_activities, &Loader::read_losses}) {
      const Status status = (this->*read)();
      if (!status.ok()) return fail(status.error());
    }
    close_open_slices();
    return name_and_sort_threads();
  }

 private:
  // A time of the trace on the run's axis.
  [[nodiscard]] int64_t on_axis(int64_t time_ns) const {
    return bounded(clock_.to_axis({bounded(bounded(time_ns) + shift_ns_)}).ns);
  }

  // Whether it is to be loaded.
  [[nodiscard]] bool is_wanted(int64_t start_ns, std::optional<int64_t> end_ns) const {
    return !within_ || (start_ns < within_->end.ns && (!end_ns || *end_ns > within_->begin.ns));
  }

  Track& track(const TrackKey& key) {
    const auto [at, is_new] = track_of_.try_emplace(key, tracks_.size());
    if (is_new) tracks_.push_back({key, {}});
    return tracks_[at->second];
  }

  void add(Track& track, int64_t start_ns, std::optional<int64_t> end_ns, Slice slice) {
    slice.start_ns = start_ns;
    slice.end_ns = end_ns.value_or(start_ns);
    slice.open = !end_ns.has_value();
    first_ns_ = std::min(first_ns_, start_ns);
    last_ns_ = std::max(last_ns_, slice.end_ns);
    lanes_.open_slices += slice.open ? 1 : 0;
    track.slices.push_back(slice);
  }

  Status read_losses() {
    Status read = reader_.for_each<schema::LossRow>([&](const schema::LossRow& row) {
      if (!row.first_ns || !is_lost(row.reason)) return;
      const TraceNs begin{on_axis(*row.first_ns)};
      const TraceNs end{on_axis(row.last_ns.value_or(*row.first_ns))};
      lanes_.losses.push_back(
          {{begin, std::max(begin, end)}, row.thread_id, row.reason, row.count});
    });
    std::ranges::stable_sort(lanes_.losses, {},
                             [](const LossSpan& loss) { return loss.span.begin; });
    return read;
  }

  Status read_ranges() {
    return reader_.for_each<schema::HostRangeRow>([&](const schema::HostRangeRow& row) {
      const bool named = row.name_id >= 0 && static_cast<size_t>(row.name_id) < markers_.size();
      const auto name = static_cast<int32_t>(named ? row.name_id : 0);
      const Phase phase = phase_of(markers_[static_cast<size_t>(name)], row.category);
      const int64_t start = on_axis(row.start_ns);
      std::optional<int64_t> end;
      if (row.duration_ns) {
        const int64_t length = std::max<int64_t>(0, bounded(*row.duration_ns));
        end = std::max(start, on_axis(bounded(row.start_ns) + length));
      }
      if (!is_wanted(start, end)) return;
      if (row.category == RangeCategory::kApi && row.correlation)
        calls_.push_back({row.id, *row.correlation});
      add(track({LaneSource::kRanges, 0, row.thread_id}), start, end,
          {.row = row.id,
           .name = name,
           .phase = static_cast<uint8_t>(phase.category),
           .is_phase = phase.is_phase});
    });
  }

  Status read_collectives() {
    return reader_.for_each<schema::CollectiveRow>([&](const schema::CollectiveRow& row) {
      if (row.correlation) collective_launches_.insert(*row.correlation);
      if (!row.start_ns)
        return;  // it never began here; its call is an operator on the calling thread
      const int64_t start = on_axis(*row.start_ns);
      std::optional<int64_t> end;
      if (row.end_ns) end = std::max(start, on_axis(*row.end_ns));
      if (!is_wanted(start, end)) return;
      add(track({LaneSource::kCollectives, 0, row.thread_id.value_or(kNoThread)}), start, end,
          {.row = row.id,
           .name = name_of(row),
           .phase = static_cast<uint8_t>(Category::kExposedTransfer),
           .is_phase = false});
    });
  }

  // A row that records a wait of the host for a stream is not an activity of the stream.
  Status read_activities() {
    return reader_.for_each<schema::GpuActivityRow>([&](const schema::GpuActivityRow& row) {
      if (row.kind == schema::GpuActivityKind::kSync) return;
      const bool named = row.name_id >= 0 && static_cast<size_t>(row.name_id) < markers_.size();
      const auto name = static_cast<int32_t>(named ? row.name_id : 0);
      const int64_t start = on_axis(row.start_ns);
      std::optional<int64_t> end;
      if (row.duration_ns) {
        const int64_t length = std::max<int64_t>(0, bounded(*row.duration_ns));
        end = std::max(start, on_axis(bounded(row.start_ns) + length));
      }
      if (!is_wanted(start, end)) return;
      add(track({LaneSource::kStream, row.device_id, row.stream_id}), start, end,
          {.row = row.id,
           .name = name,
           .phase = static_cast<uint8_t>(category_of(row, lanes_.names[static_cast<size_t>(name)])),
           .launch = row.correlation});
    });
  }

  // Without the phase of its launch, which is known only after the host's lanes.
  [[nodiscard]] Category category_of(const schema::GpuActivityRow& row,
                                     std::string_view name) const {
    const bool computes =
        row.kind == schema::GpuActivityKind::kKernel || row.kind == schema::GpuActivityKind::kGraph;
    if (!computes) return Category::kCopy;
    const bool communicates = row.correlation && !row.graph_node &&
                              row.kind == schema::GpuActivityKind::kKernel &&
                              collective_launches_.contains(*row.correlation);
    if (communicates || names_communication(name)) return Category::kExposedTransfer;
    return Category::kOtherCompute;
  }

  int32_t name_of(const schema::CollectiveRow& row) {
    const auto [at, is_new] = collective_names_.try_emplace(
        {row.function, row.bytes}, static_cast<int32_t>(lanes_.names.size()));
    if (is_new) {
      std::string name(word_of(row.function));
      if (row.bytes) name += " " + format_bytes(*row.bytes);
      lanes_.names.push_back(std::move(name));
    }
    return at->second;
  }

  void close_open_slices() {
    if (tracks_.empty()) return;
    if (const std::optional<int64_t> last = reader_.meta_int("last_event_ns"))
      last_ns_ = std::max(last_ns_, on_axis(*last));
    if (lanes_.open_slices > 0)
      ++last_ns_;  // so that one that began with the last event has a duration
    lanes_.span = {{first_ns_}, {last_ns_}};
    for (Track& track : tracks_) {
      for (Slice& slice : track.slices) {
        if (slice.open) slice.end_ns = last_ns_;
      }
    }
  }

  Status name_and_sort_threads() {
    Result<std::vector<schema::ThreadRow>> rows = reader_.read_all<schema::ThreadRow>();
    if (!rows.ok()) return fail(rows.error());
    const Result<std::vector<schema::StreamRow>> streams_known =
        reader_.read_all<schema::StreamRow>();
    if (!streams_known.ok()) return fail(streams_known.error());
    std::map<int64_t, schema::ThreadRow> threads;
    for (const schema::ThreadRow& row : *rows) threads.emplace(row.id, row);
    // Streams last: their computation has the phase of its launch.
    const auto streams = std::stable_partition(tracks_.begin(), tracks_.end(), [](const Track& t) {
      return t.key.source != LaneSource::kStream;
    });
    for (Track& track : tracks_) {
      if (&track == std::to_address(streams)) find_launch_phases();
      const bool collective = track.key.source == LaneSource::kCollectives;
      ThreadLanes lanes{.thread_id = track.key.id, .table = table_of(track.key.source)};
      if (track.key.source == LaneSource::kStream) {
        name_stream(track.key, *streams_known, lanes);
        take_over_phases(track.slices);
      } else {
        const auto known = threads.find(track.key.id);
        if (known != threads.end()) lanes.role = known->second.role;
        if (known == threads.end() && collective) lanes.role = ThreadRole::kCommunication;
        lanes.name = thread_name(known == threads.end() ? nullptr : &known->second, lanes.role);
      }
      LaneBuilder(lanes.depths).add_all(track.slices);
      track.slices = {};
      lanes_.threads.push_back(std::move(lanes));
    }
    std::ranges::stable_sort(lanes_.threads, {}, [](const ThreadLanes& t) {
      const int64_t number = t.table == "gpu_activity" ? t.thread_id : 0;
      return std::tuple(place_of(t), t.device, number);
    });
    number_equal_names();
    return Done{};
  }

  static std::string table_of(LaneSource source) {
    switch (source) {
      case LaneSource::kStream:
        return "gpu_activity";
      case LaneSource::kCollectives:
        return "collective";
      case LaneSource::kRanges:
        break;
    }
    return "host_range";
  }

  [[nodiscard]] bool uses_several_devices() const {
    std::optional<int64_t> first;
    return std::ranges::any_of(tracks_, [&](const Track& track) {
      if (track.key.source != LaneSource::kStream) return false;
      if (!first) first = track.key.device;
      return *first != track.key.device;
    });
  }

  // "stream 7", "stream 20 NCCL", "device 1 stream 7": CUDA's number, if it is known.
  void name_stream(const TrackKey& key, const std::vector<schema::StreamRow>& known,
                   ThreadLanes& lanes) const {
    const auto row = std::ranges::find(known, key.id, &schema::StreamRow::id);
    if (row != known.end()) lanes.thread_id = row->cuda_stream;
    if (uses_several_devices()) {
      lanes.device = key.device;
      lanes.name = fmt::format("device {} ", key.device);
    }
    lanes.name += fmt::format("stream {}", lanes.thread_id);
    if (row != known.end() && row->name_id && !reader_.string(*row->name_id).empty())
      lanes.name += " " + reader_.string(*row->name_id);
  }

  // The phase of each launch call, from the lanes of the host's threads.
  void find_launch_phases() {
    std::ranges::sort(calls_);
    for (const ThreadLanes& thread : lanes_.threads) {
      if (thread.table != "host_range") continue;
      for (const Lane& lane : thread.depths) {
        for (size_t i = 0; i < lane.row.size(); ++i) {
          const auto phase = static_cast<Category>(lane.phase[i]);
          if (!is_compute_phase(phase)) continue;
          const auto call = std::ranges::lower_bound(calls_, lane.row[i], {}, &Call::row);
          if (call != calls_.end() && call->row == lane.row[i])
            phase_of_launch_.try_emplace(call->correlation, phase);
        }
      }
    }
  }

  void take_over_phases(std::vector<Slice>& slices) const {
    for (Slice& slice : slices) {
      if (!slice.launch || slice.phase != static_cast<uint8_t>(Category::kOtherCompute)) continue;
      const auto phase = phase_of_launch_.find(*slice.launch);
      if (phase != phase_of_launch_.end()) slice.phase = static_cast<uint8_t>(phase->second);
    }
  }

  std::string thread_name(const schema::ThreadRow* row, ThreadRole role) const {
    if (role == ThreadRole::kMain) return "main";
    if (row != nullptr && row->name_id && !reader_.string(*row->name_id).empty())
      return reader_.string(*row->name_id);
    if (row != nullptr && role == ThreadRole::kOther) return fmt::format("thread {}", row->os_tid);
    return std::string(word_of(role));
  }

  static int place_of(const ThreadLanes& thread) {
    constexpr int kStreams = 2;  // below what launches, above the host's communication
    if (thread.table == "gpu_activity") return kStreams;
    switch (thread.role) {
      case ThreadRole::kMain:
        return 0;
      case ThreadRole::kAutograd:
        return 1;
      case ThreadRole::kCommunication:
        return kStreams + 1;
      case ThreadRole::kLoader:
        return kStreams + 2;
      case ThreadRole::kOther:
        break;
    }
    return kStreams + 3;
  }

  // "gloo worker", twice → "gloo worker 1", "gloo worker 2". The two tables of one thread share a
  // name.
  void number_equal_names() {
    std::map<std::string, std::vector<int64_t>> threads_of;
    for (const ThreadLanes& t : lanes_.threads) {
      std::vector<int64_t>& ids = threads_of[t.name];
      if (std::ranges::find(ids, t.thread_id) == ids.end()) ids.push_back(t.thread_id);
    }
    for (ThreadLanes& t : lanes_.threads) {
      const std::vector<int64_t>& ids = threads_of[t.name];
      if (ids.size() > 1)
        t.name += fmt::format(" {}", std::ranges::find(ids, t.thread_id) - ids.begin() + 1);
    }
  }

  const TraceReader& reader_;
  const int64_t shift_ns_;
  const ClockMap& clock_;
  const std::optional<Interval> within_;
  RankLanes& lanes_;
  std::vector<Marker> markers_;  // by string id
  std::vector<Track> tracks_;
  std::map<TrackKey, size_t> track_of_;
  std::vector<Call> calls_;
  std::unordered_set<int64_t> collective_launches_;        // correlations
  std::unordered_map<int64_t, Category> phase_of_launch_;  // by correlation; compute phases only
  std::map<std::pair<schema::Function, std::optional<int64_t>>, int32_t> collective_names_;
  int64_t first_ns_ = std::numeric_limits<int64_t>::max();
  int64_t last_ns_ = std::numeric_limits<int64_t>::min();
};

}  // namespace

Result<RankLanes> load_lanes(const TraceFile& trace, const ClockMap& clock,
                             std::optional<Interval> within) {
  const Result<TraceReader> reader = TraceReader::open(trace.path);
  if (!reader.ok()) return fail(reader.error());
  RankLanes lanes;
  lanes.rank = trace.rank;
  const Status loaded = Loader(*reader, trace.shift_ns, clock, within, lanes).load();
  if (!loaded.ok()) return fail(loaded.error());
  return lanes;
}

}  // namespace dprof::analyzer
