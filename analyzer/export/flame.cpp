// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/flame.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "analyzer/export/json_text.h"
#include "analyzer/import/sink/row_sorter.h"

namespace dprof::analyzer {
namespace {

using schema::RangeCategory;

struct FlameSlice {
  int64_t track = 0;
  int64_t start = 0;
  int64_t end = 0;
  int64_t order = 0;
  int64_t name = 0;

  friend bool operator<(const FlameSlice& a, const FlameSlice& b) {
    return std::tie(a.track, a.start, b.end, a.order) < std::tie(b.track, b.start, a.end, b.order);
  }
};

class StackWalk {
 public:
  StackWalk(const RankSource& source, FlameVisitor& visitor, ExportJob& job)
      : source_(source),
        reader_(source.reader()),
        visitor_(visitor),
        job_(job),
        slices_(spill_folder()) {}

  Status walk() {
    if (Status good = read(); !good.ok()) return good;
    Status visited = slices_.drain([&](const FlameSlice& slice) {
      visit(slice);
      return Status(Done{});
    });
    if (track_ >= 0) end_track();
    job_.left_out("slices that cross the one around them: cut off at its end", crossing_);
    return visited;
  }

 private:
  Status read() {
    std::unordered_map<int64_t, int64_t> track_of;
    Result<std::vector<schema::ThreadRow>> threads = reader_.read_all<schema::ThreadRow>();
    if (!threads.ok()) return fail(threads.error());
    for (const schema::ThreadRow& row : *threads) {
      std::string name = reader_.string(row.name_id.value_or(0));
      if (name.empty()) name = word_of(row.role);
      track_of.emplace(row.id, add_track(fmt::format("{} {}", name, row.os_tid)));
    }
    Status failed = Done{};
    const auto add = [&](int64_t track, int64_t start_ns, std::optional<int64_t> duration_ns,
                         int64_t name) {
      if (!source_.wants(start_ns, duration_ns)) return;
      if (!duration_ns) return job_.left_out("slices that never ended");
      const int64_t start = source_.on_axis(start_ns);
      const int64_t length = std::max<int64_t>(0, *duration_ns);
      const int64_t end = std::max(start, source_.on_axis(sum_within_reach(start_ns, length)));
      if (failed.ok())
        failed = slices_.add({.track = track, .start = start, .end = end, .name = name});
    };
    Status read = reader_.for_each<schema::HostRangeRow>([&](const schema::HostRangeRow& row) {
      if (row.category == RangeCategory::kNvtxMark) return;
      if (row.category == RangeCategory::kNvtxProcess)
        return job_.left_out("ranges that belong to no thread");
      const auto track = track_of.find(row.thread_id);
      if (track == track_of.end()) return job_.left_out("ranges of unknown threads");
      add(track->second, row.start_ns, row.duration_ns, row.name_id);
    });
    if (!read.ok()) return read;
    Result<std::vector<schema::StreamRow>> streams = reader_.read_all<schema::StreamRow>();
    if (!streams.ok()) return fail(streams.error());
    track_of.clear();
    for (const schema::StreamRow& row : *streams) {
      track_of.emplace(row.id,
                       add_track(fmt::format("GPU {} stream {}", row.device_id, row.cuda_stream)));
    }
    read = reader_.for_each<schema::GpuActivityRow>([&](const schema::GpuActivityRow& row) {
      if (row.kind == schema::GpuActivityKind::kSync) return;  // a wait, not work
      const auto track = track_of.find(row.stream_id);
      if (track == track_of.end()) return job_.left_out("GPU rows of unknown streams");
      add(track->second, row.start_ns, row.duration_ns, row.name_id);
    });
    return read.ok() ? failed : read;
  }

  int64_t add_track(std::string name) {
    tracks_.push_back(std::move(name));
    return static_cast<int64_t>(tracks_.size()) - 1;
  }

  void visit(const FlameSlice& slice) {
    if (slice.track != track_) {
      if (track_ >= 0) end_track();
      track_ = slice.track;
      visitor_.begin_track(tracks_[static_cast<size_t>(track_)]);
    }
    close_until(slice.start);
    int64_t end = slice.end;
    if (!open_.empty() && end > open_.back()) {
      ++crossing_;
      end = open_.back();
    }
    const std::string& name = reader_.string(slice.name);
    visitor_.open(name.empty() ? unnamed_ : name, slice.start);
    open_.push_back(end);
    job_.wrote();
  }

  void close_until(int64_t time_ns) {
    while (!open_.empty() && open_.back() <= time_ns) {
      visitor_.close(open_.back());
      open_.pop_back();
    }
  }

  void end_track() {
    close_until(std::numeric_limits<int64_t>::max());
    visitor_.end_track();
  }

  const RankSource& source_;
  const schema::TraceReader& reader_;
  FlameVisitor& visitor_;
  ExportJob& job_;
  RowSorter<FlameSlice> slices_;
  std::vector<std::string> tracks_;
  int64_t track_ = -1;
  std::vector<int64_t> open_;  // ends, the innermost last
  int64_t crossing_ = 0;
  const std::string unnamed_ = "(no name)";
};

}  // namespace

Status visit_stacks(const RankSource& source, FlameVisitor& visitor, ExportJob& job) {
  return StackWalk(source, visitor, job).walk();
}

// --- speedscope ---

SpeedscopeExport::SpeedscopeExport(OutFile& out, const std::string& run) : out_(out), run_(run) {
  out_.write(
      "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"dprof\","
      "\"name\":");
  append_json_text(text_, run_);
  text_ += ",\"profiles\":[";
}

Status SpeedscopeExport::rank(const RankSource& source, ExportJob& job) {
  rank_ = fmt::format("rank {}", source.file().rank);
  if (Status good = visit_stacks(source, *this, job); !good.ok()) return good;
  return out_.status();
}

void SpeedscopeExport::begin_track(const std::string& name) {
  track_ = fmt::format("{} {}", rank_, name);
  has_events_ = false;
}

void SpeedscopeExport::event(char type, int64_t at_ns, size_t frame) {
  if (!has_events_) {
    text_ += is_first_profile_ ? "\n" : ",\n";
    is_first_profile_ = false;
    text_ += R"({"type":"evented","unit":"nanoseconds","name":)";
    append_json_text(text_, track_);
    text_ += fmt::format(R"(,"startValue":{},"events":[)", at_ns);
  }
  text_ += fmt::format(R"({}{{"type":"{}","at":{},"frame":{}}})", has_events_ ? "," : "", type,
                       at_ns, frame);
  has_events_ = true;
  last_ns_ = at_ns;
  constexpr size_t kHeld = size_t{1} << 16;
  if (text_.size() < kHeld) return;
  out_.write(text_);
  text_.clear();
}

void SpeedscopeExport::open(const std::string& name, int64_t at_ns) {
  const auto [known, is_new] = frames_.try_emplace(name, frames_.size());
  if (is_new) names_.push_back(&known->first);
  event('O', at_ns, known->second);
  open_.push_back(known->second);
}

void SpeedscopeExport::close(int64_t at_ns) {
  event('C', at_ns, open_.back());
  open_.pop_back();
}

void SpeedscopeExport::end_track() {
  if (has_events_) text_ += fmt::format(R"(],"endValue":{}}})", last_ns_);
}

void SpeedscopeExport::finish() {
  text_ += "\n],\"shared\":{\"frames\":[";
  std::string_view comma;
  for (const std::string* name : names_) {
    text_ += fmt::format("{}\n{{\"name\":", comma);
    append_json_text(text_, *name);
    text_ += "}";
    comma = ",";
  }
  text_ += "\n]}}\n";
  out_.write(text_);
  text_.clear();
}

// --- folded ---

Status FoldedExport::rank(const RankSource& source, ExportJob& job) {
  rank_ = fmt::format("rank {}", source.file().rank);
  return visit_stacks(source, *this, job);
}

void FoldedExport::begin_track(const std::string& name) {
  stack_ = rank_;
  lengths_.clear();
  open(name, 0);
}

void FoldedExport::open(const std::string& name, int64_t at_ns) {
  if (lengths_.size() > 1 && at_ns > since_ns_) self_ns_[stack_] += at_ns - since_ns_;
  since_ns_ = at_ns;
  lengths_.push_back(stack_.size());
  stack_ += ';';
  // Separators of frames and lines become spaces in names.
  for (const char c : name) stack_ += c == ';' || static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
}

void FoldedExport::close(int64_t at_ns) {
  if (at_ns > since_ns_) self_ns_[stack_] += at_ns - since_ns_;
  since_ns_ = at_ns;
  stack_.resize(lengths_.back());
  lengths_.pop_back();
}

void FoldedExport::write(OutFile& out) const {
  for (const auto& [stack, ns] : self_ns_) {
    std::string line = stack;
    line += ' ';
    append_number(line, ns);
    line += '\n';
    out.write(line);
  }
}

}  // namespace dprof::analyzer
