// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/format.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;
using schema::RangeCategory;
using schema::ThreadRole;
using schema::TraceReader;

constexpr int64_t kNoThread = 0;  // collectives of which no host thread is known

// A damaged trace may hold any time: with this bound sums and differences stay in range.
int64_t bounded(int64_t ns) {
  constexpr int64_t kBound = int64_t{1} << 61;
  return std::clamp(ns, -kBound, kBound);
}

// A row before it has a lane.
struct Slice {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t row = 0;
  int32_t name = 0;
  uint8_t phase = 0;      // Category
  bool open = false;      // end_ns is not known yet
  bool is_phase = false;  // slices inside it take over its phase
};

// Rows of one thread from one table.
struct Track {
  int64_t thread_id;
  bool collective;
  std::vector<Slice> slices;
};

// Puts the slices of one thread into lanes.
//
// Invariant  a slice lies in a lane below all slices that enclose it, and above nothing that it
// overlaps. Cost       O(n * nesting depth); rows come sorted from the recorder, others are sorted
// first.
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

struct Phase {
  Category category;
  bool is_phase;
};

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
  Loader(const TraceReader& reader, int64_t shift_ns, const ClockMap& clock, RankLanes& lanes)
      : reader_(reader), shift_ns_(bounded(shift_ns)), clock_(clock), lanes_(lanes) {
    lanes_.names = reader.strings();
    if (lanes_.names.empty()) lanes_.names.emplace_back();
    for (const std::string& name : lanes_.names) markers_.push_back(schema::marker_of(name));
  }

  Status load() {
    for (const auto& read : {&Loader::read_ranges, &Loader::read_collectives}) {
      const Status status = (this->*read)();
      if (!status.ok()) return fail(status.error());
    }
    close_open_slices();
    return name_and_sort_threads();
  }

 private:
  // A moment of the trace on the run's axis.
  [[nodiscard]] int64_t on_axis(int64_t time_ns) const {
    return bounded(clock_.to_axis({bounded(bounded(time_ns) + shift_ns_)}).ns);
  }

  Track& track(int64_t thread_id, bool collective) {
    const auto [at, is_new] = track_of_.try_emplace({thread_id, collective}, tracks_.size());
    if (is_new) tracks_.push_back({thread_id, collective, {}});
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
      add(track(row.thread_id, false), start, end,
          {.row = row.id,
           .name = name,
           .phase = static_cast<uint8_t>(phase.category),
           .is_phase = phase.is_phase});
    });
  }

  Status read_collectives() {
    return reader_.for_each<schema::CollectiveRow>([&](const schema::CollectiveRow& row) {
      if (!row.start_ns)
        return;  // it never began here; its call is an operator of the calling thread
      const int64_t start = on_axis(*row.start_ns);
      std::optional<int64_t> end;
      if (row.end_ns) end = std::max(start, on_axis(*row.end_ns));
      add(track(row.thread_id.value_or(kNoThread), true), start, end,
          {.row = row.id,
           .name = name_of(row),
           .phase = static_cast<uint8_t>(Category::kExposedTransfer),
           .is_phase = false});
    });
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
      ++last_ns_;  // so that one that began with the last event has a length
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
    std::map<int64_t, schema::ThreadRow> threads;
    for (const schema::ThreadRow& row : *rows) threads.emplace(row.id, row);
    for (Track& track : tracks_) {
      ThreadLanes lanes{.thread_id = track.thread_id,
                        .table = track.collective ? "collective" : "host_range"};
      const auto known = threads.find(track.thread_id);
      if (known != threads.end()) lanes.role = known->second.role;
      if (known == threads.end() && track.collective) lanes.role = ThreadRole::kCommunication;
      lanes.name = thread_name(known == threads.end() ? nullptr : &known->second, lanes.role);
      LaneBuilder(lanes.depths).add_all(track.slices);
      track.slices = {};
      lanes_.threads.push_back(std::move(lanes));
    }
    std::ranges::stable_sort(lanes_.threads, {},
                             [](const ThreadLanes& t) { return place_of(t.role); });
    number_equal_names();
    return Done{};
  }

  std::string thread_name(const schema::ThreadRow* row, ThreadRole role) const {
    if (role == ThreadRole::kMain) return "main";
    if (row != nullptr && row->name_id && !reader_.string(*row->name_id).empty())
      return reader_.string(*row->name_id);
    if (row != nullptr && role == ThreadRole::kOther) return fmt::format("thread {}", row->os_tid);
    return std::string(word_of(role));
  }

  static int place_of(ThreadRole role) {
    switch (role) {
      case ThreadRole::kMain:
        return 0;
      case ThreadRole::kAutograd:
        return 1;
      case ThreadRole::kCommunication:
        return 2;
      case ThreadRole::kLoader:
        return 3;
      case ThreadRole::kOther:
        break;
    }
    return 4;
  }

  // "gloo worker", twice → "gloo worker 1", "gloo worker 2". The two tables of one thread keep one
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
  RankLanes& lanes_;
  std::vector<Marker> markers_;  // by string id
  std::vector<Track> tracks_;
  std::map<std::pair<int64_t, bool>, size_t> track_of_;
  std::map<std::pair<schema::Function, std::optional<int64_t>>, int32_t> collective_names_;
  int64_t first_ns_ = std::numeric_limits<int64_t>::max();
  int64_t last_ns_ = std::numeric_limits<int64_t>::min();
};

}  // namespace

Result<RankLanes> load_lanes(const TraceFile& trace, const ClockMap& clock) {
  const Result<TraceReader> reader = TraceReader::open(trace.path);
  if (!reader.ok()) return fail(reader.error());
  RankLanes lanes;
  lanes.rank = trace.rank;
  const Status loaded = Loader(*reader, trace.shift_ns, clock, lanes).load();
  if (!loaded.ok()) return fail(loaded.error());
  return lanes;
}

}  // namespace dprof::analyzer
