// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/run/recover.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/time.h"
#include "collector/recorder/rows/trace_output.h"
#include "collector/recorder/run/local_folder.h"
#include "collector/recorder/run/run_folder.h"
#include "schema/database.h"
#include "schema/diagnostics.h"
#include "schema/trace_reader.h"
#include "schema/trace_writer.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;
using schema::Database;
using schema::TraceReader;

struct Trace {
  fs::path path;
  std::optional<int> rank;
  std::string run_id, host, ended;
  std::optional<int> world_size;
  std::string command;
};

// Also checks that it is a trace that this dprof understands.
Result<Trace> describe(const fs::path& path) {
  const Result<TraceReader> reader = TraceReader::open(path);
  if (!reader.ok()) return fail(reader.error());
  const auto text = [&](std::string_view key) { return reader->meta(key).value_or(""); };
  const auto number = [&](std::string_view key) -> std::optional<int> {
    const std::optional<int64_t> value = reader->meta_int(key);
    return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
  };
  return Trace{path,          number("rank"),       text("run_id"), text("host"),
               text("ended"), number("world_size"), text("command")};
}

// SQLite replays the write-ahead log itself when a file is opened for writing.
Status check_integrity(const fs::path& path) {
  const Result<Database> database = Database::open(path, Database::Mode::kReadWrite);
  if (!database.ok()) return fail(database.error());
  const Result<std::string> said = database->query_text("PRAGMA integrity_check");
  if (!said.ok()) return fail(said.error());
  if (*said == "ok") return Done{};
  return fail(Code::kDamaged, fmt::format("{}: {}", path.string(), *said),
              "the machine or its disk failed; `sqlite3 FILE .recover` may save some of it");
}

std::optional<int64_t> query(const fs::path& path, const char* sql) {
  const Result<Database> database = Database::open(path, Database::Mode::kReadWrite);
  if (!database.ok()) return std::nullopt;
  const Result<int64_t> value = database->query_int(sql);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

// A trace with a reader keeps its journal and must not be renamed.
Status closed(const fs::path& path, const Result<bool>& finished) {
  if (!finished.ok()) return fail(finished.error());
  if (*finished) return Done{};
  return fail(Code::kIo, fmt::format("{}: another program has it open", path.string()),
              "close it (a timeline, sqlite3) and try again");
}

// The recorder had written the end, but could not finish the file because it had a reader.
Status finish_file(const fs::path& path) {
  Result<std::unique_ptr<schema::TraceWriter>> writer = schema::TraceWriter::reopen(path);
  return writer.ok() ? closed(path, (*writer)->finish()) : fail(writer.error());
}

Status finish_trace(const fs::path& path, std::optional<int> rank) {
  const std::optional<int64_t> last_ns =
      query(path, "SELECT max(start_ns + coalesce(duration_ns, 0)) FROM host_range");
  const std::optional<int64_t> events =
      query(path, "SELECT (SELECT count(*) FROM host_range) + (SELECT count(*) FROM collective)");
  Result<std::unique_ptr<schema::TraceWriter>> writer = schema::TraceWriter::reopen(path);
  if (!writer.ok()) return fail(writer.error());
  TraceOutput output(*std::move(writer));
  const bool has_time = last_ns && events.value_or(0) > 0;
  const auto ended_ns = has_time ? last_ns : std::nullopt;
  // The number of later records is unknown: the row states only the fact.
  output.append(schema::LossRow{schema::Source::kRecorder, std::nullopt,
                                schema::LossReason::kRecorderKilled, 1, ended_ns, std::nullopt});
  const schema::DiagnosticKind& kind = schema::diagnostic_kind("records_lost");
  const std::string text =
      has_time ? fmt::format("the recorder ended {:.1f} s after its start, before the process",
                             static_cast<double>(*last_ns) / double{kNsPerSecond})
               : std::string("the recorder ended before it had written an event");
  output.append(
      schema::DiagnosticRow{std::string(kind.code), kind.severity, 1, output.intern(text)});
  if (has_time) output.set_meta("last_event_ns", std::to_string(*last_ns));
  if (rank) output.set_meta("rank", std::to_string(*rank));
  output.set_meta("ended", "recovered");
  return closed(path, output.finish());
}

// The command and the diagnostics from run.json, if the recorder had written one.
RunIndex former_index(const fs::path& folder) {
  RunIndex index;
  std::ifstream file(folder / "run.json");
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object()) return index;
  const auto text = [&](const nlohmann::json& from, const char* key) {
    const auto found = from.find(key);
    return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  index.id = text(json, "id");
  index.command = text(json, "command");
  const auto size = json.find("world_size");
  if (size != json.end() && size->is_number_integer()) index.world_size = size->get<int>();
  const auto diagnostics = json.find("diagnostics");
  if (diagnostics != json.end() && diagnostics->is_array()) {
    for (const nlohmann::json& one : *diagnostics) {
      if (one.is_object()) index.diagnostics.push_back({text(one, "code"), text(one, "text")});
    }
  }
  return index;
}

RunIndex make_index(const fs::path& folder, const std::vector<Trace>& traces) {
  RunIndex index = former_index(folder);
  std::set<std::string> hosts;
  for (const Trace& trace : traces) {
    if (index.id.empty()) index.id = trace.run_id;
    if (index.command.empty()) index.command = trace.command;
    if (!index.world_size) index.world_size = trace.world_size;
    hosts.insert(trace.host);
    index.traces.push_back({trace.path.filename().string(), trace.rank, trace.host, trace.ended});
  }
  index.recorders.assign(hosts.begin(), hosts.end());
  std::ranges::sort(index.traces, {}, [](const TraceEntry& trace) {
    return std::pair(trace.rank.value_or(INT32_MAX), trace.file);
  });
  return index;
}

Error away(const LocalFolder& local) {
  return {Code::kNotFound,
          fmt::format("{}: traces of {} are not here", local.path.string(), local.host),
          fmt::format("run `dprof recover` on {}; if that disk is no more, delete {}", local.host,
                      local.note.string())};
}

// Traces that cannot be moved stay where they are, and are not in the index.
void move_all(const LocalFolder& local, std::vector<Trace>& traces, Recovered& recovered) {
  for (Trace& trace : std::exchange(traces, {})) {
    const bool is_there = trace.path.parent_path() == local.path;
    const Result<fs::path> home =
        is_there ? move_home(local, trace.path, [] { return true; }) : Result<fs::path>(trace.path);
    if (!home.ok()) {
      recovered.damaged.push_back(home.error());
      continue;
    }
    trace.path = *home;
    recovered.moved += is_there ? 1 : 0;
    traces.push_back(std::move(trace));
  }
  remove_local_folder(local);
}

}  // namespace

Result<Recovered> recover_run(const fs::path& path) {
  const Result<RunFolder> folder = RunFolder::open(path);
  if (!folder.ok()) return fail(folder.error());
  std::vector<fs::path> files = folder->traces();
  Recovered recovered;
  std::vector<LocalFolder> locals = find_local_folders(path);
  std::erase_if(locals, [&](const LocalFolder& local) {
    if (is_here(local)) return false;
    recovered.elsewhere.push_back(away(local));
    return true;
  });
  for (const LocalFolder& local : locals) {
    std::ranges::copy_if(files_in(local.path), std::back_inserter(files),
                         [](const fs::path& file) { return file.extension() == ".dprof"; });
  }
  if (files.empty() && recovered.elsewhere.empty()) {
    return fail(Code::kNotFound, fmt::format("{}: holds no trace", path.string()),
                "give the run's folder, as `dprof record` printed it");
  }
  std::vector<Trace> traces;
  for (const fs::path& file : files) {
    Result<Trace> trace = describe(file);
    const Status sound = trace.ok() ? check_integrity(file) : fail(trace.error());
    if (sound.ok()) {
      traces.push_back(*std::move(trace));
    } else {
      recovered.damaged.push_back(sound.error());
    }
  }
  for (Trace& trace : traces) {
    const bool named_already = trace.path.filename().string().starts_with("rank-");
    if (!trace.ended.empty() && (named_already || !trace.rank)) {
      ++recovered.whole;
      continue;
    }
    // As at the end of a recording: a program without a launcher is rank 0 of one.
    if (!trace.rank && traces.size() == 1) trace.rank = 0;
    const bool has_end = !trace.ended.empty();
    const Status finished =
        has_end ? finish_file(trace.path) : finish_trace(trace.path, trace.rank);
    if (!finished.ok()) {
      recovered.damaged.push_back(finished.error());
      continue;
    }
    const Result<fs::path> named = folder->name_finished(trace.path, trace.rank);
    if (named.ok()) trace.path = *named;
    if (has_end) {
      ++recovered.whole;
      continue;
    }
    trace.ended = "recovered";
    ++recovered.finished;
  }
  for (const LocalFolder& local : locals) move_all(local, traces, recovered);
  if (const Status written = folder->rewrite_index(make_index(path, traces)); !written.ok()) {
    return fail(written.error());
  }
  return recovered;
}

}  // namespace dprof::recorder
