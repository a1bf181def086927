// SPDX-License-Identifier: Apache-2.0
// Adds imported traces to recorded ones: `dprof import FILES --into RUN`.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "analyzer/import/import.h"
#include "base/format.h"
#include "schema/diagnostics.h"
#include "schema/trace_reader.h"
#include "schema/trace_writer.h"

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;
using schema::TraceReader;
using schema::TraceWriter;

constexpr std::string_view kAddable[] = {"memory_snapshot", "flight_recorder", "nccl_inspector"};

// A temporary folder, deleted with this object.
class Workshop {
 public:
  explicit Workshop(const fs::path& run) : path_(run / fmt::format(".adding-{}", ::getpid())) {}
  ~Workshop() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// "rank-00003.dprof", "rank-00003.1.dprof": only a rank's latest trace counts.
std::map<int, fs::path> traces_by_rank(const fs::path& run) {
  std::map<int, std::pair<int, fs::path>> latest;
  std::error_code error;
  for (fs::directory_iterator entry(run, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    constexpr std::string_view kBegin = "rank-";
    if (!name.starts_with(kBegin) || entry->path().extension() != ".dprof") continue;
    int rank = 0;
    int again = 0;
    const char* const last = name.data() + name.size();
    const auto [after, bad] = std::from_chars(name.data() + kBegin.size(), last, rank);
    if (bad != std::errc()) continue;
    if (after != last) (void)std::from_chars(after + 1, last, again);
    std::pair<int, fs::path>& one = latest[rank];
    if (one.second.empty() || again > one.first) one = {again, entry->path()};
  }
  std::map<int, fs::path> traces;
  for (auto& [rank, one] : latest) traces[rank] = std::move(one.second);
  return traces;
}

std::string clock_text(int64_t realtime_ns) {
  return fmt::format("{:%F %T} UTC",
                     fmt::gmtime(static_cast<std::time_t>(realtime_ns / 1'000'000'000)));
}

// The conversion of a file's times to the trace's.
struct Alignment {
  int64_t shift_ns = 0;
  std::string words;
};

// Largest drift between the wall clock and the trace's own clock during the recording; nullopt =
// unknown.
Result<std::optional<int64_t>> drift_of(const TraceReader& trace, int64_t origin_realtime_ns) {
  const std::optional<int64_t> origin = trace.meta_int("origin_monotonic_raw_ns");
  std::optional<int64_t> most;
  const Status read =
      trace.for_each<schema::ClockSampleRow>([&](const schema::ClockSampleRow& row) {
        if (row.device_id || !origin) return;
        int64_t apart = 0;
        if (__builtin_sub_overflow(row.realtime_ns - origin_realtime_ns,
                                   row.monotonic_raw_ns - *origin, &apart) ||
            apart == INT64_MIN)
          return;
        most = std::max(most.value_or(0), std::abs(apart) + std::max<int64_t>(0, row.width_ns));
      });
  if (!read.ok()) return fail(read.error());
  return most;
}

class Adder {
 public:
  Adder(const TraceReader& from, const TraceReader& into, fs::path copy)
      : from_(from), into_(into), copy_(std::move(copy)) {}

  // Returns a description of what was done.
  Result<std::string> run() {
    format_ = from_.meta("imported_format").value_or("");
    file_ = from_.meta("imported_from").value_or("");
    for (const auto stage :
         {&Adder::check, &Adder::align, &Adder::open, &Adder::add_dictionaries,
          &Adder::add_collectives, &Adder::add_ranges, &Adder::add_memory, &Adder::finish}) {
      if (Status done = (this->*stage)(); !done.ok()) return fail(done.error());
    }
    return words_;
  }

 private:
  [[nodiscard]] Status refuse(std::string why, std::string hint = {}) const {
    return fail(
        Code::kUsage,
        fmt::format("{} cannot be added to {}: {}", file_, into_.path().filename().string(), why),
        std::move(hint));
  }

  Status check() {
    if (std::ranges::find(kAddable, format_) == std::end(kAddable)) {
      return refuse(
          fmt::format("it is {}", format_),
          "only memory snapshots, flight-recorder dumps and NCCL Inspector files can be added; "
          "import others as a run of their own: -o RUN");
    }
    if (!into_.meta("ended")) {
      return refuse("the trace is unfinished: it is being recorded, or its recorder was killed",
                    "wait for the recorder, or run `dprof recover RUN`");
    }
    const std::string host = from_.meta("host").value_or("");
    const std::string own = into_.meta("host").value_or("");
    if (!host.empty() && !own.empty() && host != own)
      return refuse(fmt::format("it comes from host {}, but the rank ran on {}", host, own),
                    "--ranks assigns the files to ranks");
    return Done{};
  }

  // The recorded process also wrote the file, so both have the same wall clock.
  Status align() {
    const auto file = from_.meta_int("origin_realtime_ns");
    const auto own = into_.meta_int("origin_realtime_ns");
    if (!file) return refuse("its times have no date");
    if (!own) return refuse("the trace's times have no date: the two share no clock");
    if (__builtin_sub_overflow(*file, *own, &shift_)) return refuse("its times are impossible");
    const int64_t begin = from_.meta_int("first_event_ns").value_or(0) + shift_;
    const int64_t end = from_.meta_int("last_event_ns").value_or(0) + shift_;
    const int64_t own_begin = into_.meta_int("first_event_ns").value_or(0);
    const int64_t own_end = into_.meta_int("last_event_ns").value_or(0);
    if (end < own_begin || begin > own_end) {
      return refuse(fmt::format("it covers {} to {}, but the recording covers {} to {}",
                                clock_text(*own + begin), clock_text(*own + end),
                                clock_text(*own + own_begin), clock_text(*own + own_end)),
                    "does it come from another job or another rank?");
    }
    first_ = std::min(begin, own_begin);
    last_ = std::max(end, own_end);
    const Result<std::optional<int64_t>> drift = drift_of(into_, *own);
    if (!drift.ok()) return fail(drift.error());
    const int64_t resolution = from_.meta_int("time_resolution_ns").value_or(0);
    clock_ = *drift ? fmt::format("by the wall clock, to ± {}",
                                  format_duration(DurationNs{**drift + resolution}))
                    : std::string("by the wall clock, with unknown error");
    return Done{};
  }

  Status open() {
    std::error_code error;
    if (!fs::copy_file(into_.path(), copy_, error))
      return fail(Code::kIo, fmt::format("{}: {}", copy_.string(), error.message()));
    Result<std::unique_ptr<TraceWriter>> writer = TraceWriter::reopen(copy_);
    if (!writer.ok()) return fail(writer.error());
    writer_ = *std::move(writer);
    const Result<int64_t> version = writer_->query_int("PRAGMA user_version");
    if (!version.ok()) return fail(version.error());
    if (*version < schema::kUserVersion) {
      return refuse(fmt::format("the trace has schema {}, whose tables cannot hold it", *version),
                    "rows can be added only to traces with this dprof's schema");
    }
    return Done{};
  }

  // An unused number in a column of the copy.
  Result<int64_t> next(std::string_view table) {
    return writer_->query_int(fmt::format("SELECT coalesce(max(id) + 1, 0) FROM \"{}\"", table));
  }

  std::optional<int64_t> moved(const std::optional<int64_t>& time) const {
    return time ? std::optional(*time + shift_) : std::nullopt;
  }
  int64_t text(int64_t id) { return writer_->intern(from_.string(id)); }
  std::optional<int64_t> text(const std::optional<int64_t>& id) {
    return id ? std::optional(text(*id)) : std::nullopt;
  }

  // Copies a table, each row as modified by `change`; rows for which it returns false are left out.
  template <typename Row, typename Change>
  Status copy(Change change) {
    Status written = Done{};
    const Status read = from_.for_each<Row>([&](const Row& row) {
      Row changed = row;
      if (written.ok() && change(changed)) written = writer_->append(changed);
    });
    return read.ok() ? written : read;
  }

  Status add_dictionaries() {
    const Result<int64_t> threads = next("thread");
    const Result<int64_t> stacks = next("call_stack");
    if (!threads.ok()) return fail(threads.error());
    if (!stacks.ok()) return fail(stacks.error());
    thread_offset_ = *threads;
    stack_offset_ = *stacks;
    std::set<int64_t> devices;
    for (const Status& done : {copy<schema::ThreadRow>([&](schema::ThreadRow& row) {
                                 row.id += thread_offset_;
                                 row.name_id = text(row.name_id);
                                 row.role = schema::ThreadRole::kOther;
                                 return format_ != "memory_snapshot";
                               }),
                               copy<schema::CallStackRow>([&](schema::CallStackRow& row) {
                                 row.id += stack_offset_;
                                 if (row.caller_id) *row.caller_id += stack_offset_;
                                 row.function_id = text(row.function_id);
                                 row.file_id = text(row.file_id);
                                 return true;
                               }),
                               into_.for_each<schema::DeviceRow>(
                                   [&](const schema::DeviceRow& row) { devices.insert(row.id); }),
                               copy<schema::DeviceRow>([&](schema::DeviceRow& row) {
                                 row.name_id = text(row.name_id);
                                 return devices.insert(row.id).second;
                               }),
                               copy<schema::LossRow>([&](schema::LossRow& row) {
                                 if (row.thread_id) *row.thread_id += thread_offset_;
                                 row.first_ns = moved(row.first_ns);
                                 row.last_ns = moved(row.last_ns);
                                 return true;
                               }),
                               copy<schema::DiagnosticRow>([&](schema::DiagnosticRow& row) {
                                 row.text_id = text(row.text_id);
                                 return row.code != "import_no_rank";
                               })}) {
      if (!done.ok()) return done;
    }
    return Done{};
  }

  // A group that was recorded as well: its collectives are already there.
  static bool same_group(const schema::CommunicatorRow& a, const schema::CommunicatorRow& b) {
    return a.hash == b.hash ||
           (a.backend == b.backend && (!a.size || !b.size || *a.size == *b.size));
  }

  Status add_collectives() {
    const auto groups = into_.read_all<schema::CommunicatorRow>();
    if (!groups.ok()) return fail(groups.error());
    const Result<int64_t> first_group = next("communicator");
    const Result<int64_t> first_call = next("collective");
    if (!first_group.ok()) return fail(first_group.error());
    if (!first_call.ok()) return fail(first_call.error());
    std::set<int64_t> recorded;
    int64_t id = std::max<int64_t>(1, *first_call);
    for (const Status& done :
         {copy<schema::CommunicatorRow>([&](schema::CommunicatorRow& row) {
            if (std::ranges::any_of(*groups, [&](const auto& own) { return same_group(own, row); }))
              recorded.insert(row.id);
            const bool is_new = !recorded.contains(row.id);
            row.id += *first_group;
            row.name_id = text(row.name_id);
            return is_new;
          }),
          copy<schema::CommunicatorMemberRow>([&](schema::CommunicatorMemberRow& row) {
            const bool is_new = !recorded.contains(row.communicator_id);
            row.communicator_id += *first_group;
            return is_new;
          }),
          copy<schema::CollectiveRow>([&](schema::CollectiveRow& row) {
            if (row.communicator_id && recorded.contains(*row.communicator_id)) {
              ++left_out_;
              return false;
            }
            row.id = id++;
            if (row.communicator_id) *row.communicator_id += *first_group;
            for (std::optional<int64_t>* time :
                 {&row.enqueue_ns, &row.start_ns, &row.end_ns, &row.ready_ns})
              *time = moved(*time);
            for (std::optional<int64_t>* thread : {&row.thread_id, &row.enqueue_thread_id})
              if (*thread) **thread += thread_offset_;
            row.stream_id.reset();  // refers to the file's own numbering
            ++rows_;
            return true;
          })}) {
      if (!done.ok()) return done;
    }
    return Done{};
  }

  // From a dump: where the program called the unfinished operations. A snapshot's annotations were
  // recorded anyway.
  Status add_ranges() {
    if (rows_ == 0 && left_out_ > 0) return Done{};
    const Result<int64_t> first = next("host_range");
    if (!first.ok()) return fail(first.error());
    int64_t id = std::max<int64_t>(1, *first);
    return copy<schema::HostRangeRow>([&](schema::HostRangeRow& row) {
      if (format_ == "memory_snapshot") {
        ++annotations_;
        return false;
      }
      row.id = id++;
      row.thread_id += thread_offset_;
      row.start_ns += shift_;
      row.name_id = text(row.name_id);
      ++rows_;
      return true;
    });
  }

  // These tables are in order of time, over all of their rows.
  template <typename Row, typename Change>
  Status merge(std::string_view table, Change change) {
    auto rows = into_.read_all<Row>();
    if (!rows.ok()) return fail(rows.error());
    const size_t own = rows->size();
    const Status read = from_.for_each<Row>([&](const Row& row) {
      rows->push_back(row);
      rows->back().time_ns += shift_;
      change(rows->back());
    });
    if (!read.ok() || rows->size() == own) return read;
    rows_ += static_cast<int64_t>(rows->size() - own);
    std::ranges::stable_sort(*rows, {}, &Row::time_ns);
    if (const Result<int64_t> gone = writer_->change(fmt::format("DELETE FROM \"{}\"", table));
        !gone.ok())
      return fail(gone.error());
    int64_t id = 0;
    for (Row& row : *rows) {
      row.id = ++id;
      if (Status done = writer_->append(row); !done.ok()) return done;
    }
    return Done{};
  }

  Status add_memory() {
    if (format_ != "memory_snapshot") return Done{};
    std::set<int64_t> devices;
    const Status read = from_.for_each<schema::MemoryEventRow>(
        [&](const schema::MemoryEventRow& row) { devices.insert(row.device_id); });
    if (!read.ok()) return read;
    for (const int64_t device : devices) {
      const Result<int64_t> own = writer_->query_int(
          fmt::format("SELECT count(*) FROM memory_event WHERE device_id = {} AND kind <> {}",
                      device, static_cast<int64_t>(schema::MemoryEventKind::kRegistered)));
      if (!own.ok()) return fail(own.error());
      if (*own > 0) {
        return refuse(fmt::format("{} memory events of device {} are already there "
                                  "and would count twice",
                                  format_count(*own), device),
                      "import it as a run of its own: -o RUN");
      }
    }
    if (Status done = merge<schema::MemoryEventRow>("memory_event",
                                                    [&](schema::MemoryEventRow& row) {
                                                      row.thread_id.reset();
                                                      if (row.stack_id)
                                                        *row.stack_id += stack_offset_;
                                                    });
        !done.ok())
      return done;
    return merge<schema::MemorySampleRow>("memory_sample", [](schema::MemorySampleRow&) {});
  }

  Status finish() {
    if (rows_ == 0) {
      return refuse(left_out_ > 0
                        ? fmt::format("its {} collectives belong to groups that were recorded "
                                      "and would count twice",
                                      format_count(left_out_))
                        : std::string("it holds no rows"),
                    "import it as a run of its own: -o RUN");
    }
    words_ = fmt::format("{} ({}): {} rows {}", file_, format_, format_count(rows_), clock_);
    if (left_out_ > 0)
      words_ += fmt::format("; left out: {} collectives of groups that were recorded",
                            format_count(left_out_));
    if (annotations_ > 0)
      words_ += fmt::format("; left out: its {} annotations", format_count(annotations_));
    std::string added = into_.meta("added_files").value_or("");
    if (!added.empty()) added += '\n';
    writer_->set_meta("added_files", added + fmt::format("{} {}, {}", format_, file_, clock_));
    writer_->set_meta("first_event_ns", std::to_string(first_));
    writer_->set_meta("last_event_ns", std::to_string(last_));
    if (Status done = writer_->append(
            schema::DiagnosticRow{.code = "import_added",
                                  .severity = schema::diagnostic_kind("import_added").severity,
                                  .count = 1,
                                  .text_id = writer_->intern(words_)});
        !done.ok())
      return done;
    const Result<bool> finished = writer_->finish();
    if (!finished.ok()) return fail(finished.error());
    return Done{};
  }

  const TraceReader& from_;
  const TraceReader& into_;
  fs::path copy_;
  std::unique_ptr<TraceWriter> writer_;
  std::string format_, file_, clock_, words_;
  int64_t shift_ = 0;
  int64_t first_ = 0, last_ = 0;
  int64_t thread_offset_ = 0;
  int64_t stack_offset_ = 0;
  int64_t rows_ = 0;
  int64_t left_out_ = 0;     // collectives
  int64_t annotations_ = 0;  // left out
};

std::string ranks_of(const std::map<int, fs::path>& traces) {
  std::string words;
  for (const auto& [rank, path] : traces) {
    if (words.size() > 60) return words + ", …";
    words += fmt::format("{}{}", words.empty() ? "" : ", ", rank);
  }
  return words;
}

}  // namespace

Result<ImportSummary> add_files(const std::vector<fs::path>& files, const fs::path& run,
                                const ImportOptions& options, const ImportProgress& progress) {
  const std::map<int, fs::path> traces = traces_by_rank(run);
  if (traces.empty()) {
    return fail(Code::kNotFound, fmt::format("{}: no run", run.string()),
                "--into names an existing run; -o makes a new one");
  }
  const Workshop workshop(run);
  std::error_code error;
  if (!fs::create_directory(workshop.path(), error)) {
    return fail(Code::kIo, fmt::format("{}: {}", workshop.path().string(), error.message()),
                "the run folder must be writable");
  }
  const fs::path imported = workshop.path() / "imported";
  Result<ImportSummary> summary =
      import_files(files, imported, {.overwrite = false, .ranks = options.ranks}, progress);
  if (!summary.ok()) return fail(summary.error());
  std::vector<std::pair<fs::path, fs::path>> changed;  // copy, trace
  std::set<fs::path> made;                             // in rank order
  for (const auto& entry : fs::directory_iterator(imported, error))
    if (entry.path().extension() == ".dprof") made.insert(entry.path());
  for (const fs::path& path : made) {
    const Result<TraceReader> from = TraceReader::open(path);
    if (!from.ok()) return fail(from.error());
    const auto rank = static_cast<int>(from->meta_int("rank").value_or(-1));
    const auto known = traces.find(rank);
    if (known == traces.end()) {
      return fail(
          Code::kUsage,
          fmt::format("{} is of rank {}, but the run has ranks {}",
                      from->meta("imported_from").value_or("a file"), rank, ranks_of(traces)),
          "--ranks assigns the files to ranks, in order");
    }
    // A rank's second file goes into the copy made for its first.
    const fs::path copy = workshop.path() / fmt::format("{:05}.dprof", changed.size());
    const auto last = std::ranges::find(changed.rbegin(), changed.rend(), known->second,
                                        [](const auto& one) { return one.second; });
    const Result<TraceReader> into =
        TraceReader::open(last == changed.rend() ? known->second : last->first);
    if (!into.ok()) return fail(into.error());
    const Result<std::string> added = Adder(*from, *into, copy).run();
    if (!added.ok()) return fail(added.error());
    changed.emplace_back(copy, known->second);
    summary->diagnostics.push_back(
        make_diagnostic("import_added", fmt::format("rank {}: {}", rank, *added)));
  }
  for (const auto& [copy, trace] : changed) {
    fs::rename(copy, trace, error);
    if (error) return fail(Code::kIo, fmt::format("{}: {}", trace.string(), error.message()));
  }
  return summary;
}

}  // namespace dprof::analyzer
