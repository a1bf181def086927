// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/sink/run_sink.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>

#include "base/in_threads.h"
#include "schema/diagnostics.h"
#include "schema/trace_writer.h"

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;

constexpr char kIndexName[] = "run.json";

bool belongs_to_run(const fs::path& file) {
  const std::string name = file.filename().string();
  return file.extension() == ".dprof" || name == kIndexName || name.ends_with(".dprof-wal") ||
         name.ends_with(".dprof-shm") || name.ends_with(".dprof-journal");
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    files.push_back(entry->path());
  }
  return files;
}

std::string random_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// "worker3.1694128201557.pt.trace.json.gz": 3. The last resort.
std::optional<int> rank_in_name(const fs::path& file) {
  const std::string name = file.filename().string();
  for (const std::string_view word : {"rank", "worker"}) {
    size_t at = name.find(word);
    if (at == std::string::npos) continue;
    at += word.size();
    while (at < name.size() && (name[at] == '-' || name[at] == '_')) ++at;
    int rank = 0;
    const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), rank);
    if (error == std::errc() && rank >= 0) return rank;
  }
  return std::nullopt;
}

// The run's data about a trace.
struct Placed {
  Written trace;
  size_t file = 0;  // position in the summary
};

}  // namespace

struct RunSink::Impl {
  fs::path run;
  fs::path hidden;
  bool overwrite = false;
  std::string run_id = random_id();

  std::vector<Placed> written;
  ImportSummary summary;

  ~Impl() {
    std::error_code error;
    if (!hidden.empty()) fs::remove_all(hidden, error);
  }

  Status set_ranks(const std::vector<int>& ranks);
  Status settle_ranks();
  Status name_traces();
  Status complete(const Written& trace, const Diagnostic* remark) const;
  Status write_index() const;
  Status place();
};

RunSink::RunSink(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunSink::~RunSink() = default;

Result<std::unique_ptr<RunSink>> RunSink::create(const fs::path& run, bool overwrite) {
  std::error_code error;
  if (fs::exists(run, error) && !fs::is_directory(run, error)) {
    return fail(Code::kUsage, fmt::format("{}: a file, not a folder", run.string()),
                "-o names the folder of the new run");
  }
  if (!overwrite && std::ranges::any_of(files_in(run), belongs_to_run)) {
    return fail(Code::kUsage, fmt::format("{}: already holds a run", run.string()),
                "choose another folder, or use --overwrite");
  }
  if (fs::exists(run / "recorders" / "meeting.json", error)) {
    return fail(Code::kUsage, fmt::format("{}: a recording is writing to it", run.string()),
                "choose another folder");
  }
  auto impl = std::make_unique<Impl>();
  impl->run = run;
  impl->overwrite = overwrite;
  fs::path whole = fs::absolute(run, error).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  fs::create_directories(whole.parent_path(), error);
  const fs::path hidden =
      whole.parent_path() / fmt::format(".{}.importing-{}-{}", whole.filename().string(), getpid(),
                                        impl->run_id.substr(0, 4));
  if (!fs::create_directory(hidden, error)) {
    return fail(Code::kIo, fmt::format("{}: {}", hidden.string(), error.message()),
                "the folder that RUN lies in must be writable");
  }
  impl->hidden = hidden;
  return std::unique_ptr<RunSink>(new RunSink(std::move(impl)));
}

std::unique_ptr<FileSink> RunSink::file(size_t number, const fs::path& path,
                                        std::string_view format,
                                        const ImportProgress& progress) const {
  return std::make_unique<FileSink>(
      FileSink::Place{impl_->hidden, fmt::format("{:06}", number), impl_->run_id}, path, format,
      progress);
}

void RunSink::add(FileResult result) {
  ImportSummary& summary = impl_->summary;
  summary.damaged = summary.damaged || result.damaged;
  for (Diagnostic& diagnostic : result.diagnostics)
    summary.diagnostics.push_back(std::move(diagnostic));
  for (Written& trace : result.traces)
    impl_->written.push_back({std::move(trace), summary.files.size()});
  if (result.file) summary.files.push_back(*std::move(result.file));
}

// Adds data known only at the end to a written trace.
Status RunSink::Impl::complete(const Written& trace, const Diagnostic* remark) const {
  const Result<std::unique_ptr<schema::TraceWriter>> writer =
      schema::TraceWriter::reopen(trace.path, schema::TraceWriter::Journal::kNone);
  if (!writer.ok()) return fail(writer.error());
  (*writer)->set_meta("rank", std::to_string(*trace.rank));
  if (remark != nullptr) {
    const int64_t text = (*writer)->intern(remark->text);
    if (Status done = (*writer)->append(schema::DiagnosticRow{.code = remark->code,
                                                              .severity = remark->severity,
                                                              .count = remark->count,
                                                              .text_id = text});
        !done.ok()) {
      return done;
    }
  }
  const Result<bool> finished = (*writer)->finish();
  if (!finished.ok()) return fail(finished.error());
  return Done{};
}

Status RunSink::Impl::set_ranks(const std::vector<int>& ranks) {
  if (ranks.size() != written.size()) {
    return fail(
        Code::kUsage,
        fmt::format("{} ranks were given, but the files hold {}", ranks.size(), written.size()),
        "one for each process of each file, in the order of the files");
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    written[i].trace.rank = ranks[i];
    if (Status done = complete(written[i].trace, nullptr); !done.ok()) return done;
  }
  return Done{};
}

// Ranks in the files have priority. If the remaining files have none, their names can provide them;
// else they take the free ranks in the order of the files.
Status RunSink::Impl::settle_ranks() {
  std::set<int> taken;
  std::vector<Written*> without;
  for (auto& [trace, file] : written) {
    trace.rank ? (void)taken.insert(*trace.rank) : without.push_back(&trace);
  }
  std::set<int> named = taken;
  const bool by_name = std::ranges::all_of(without, [&](const Written* trace) {
    const std::optional<int> rank = rank_in_name(trace->from);
    return rank && named.insert(*rank).second;
  });
  std::map<fs::path, int> traces_of;
  for (const Placed& placed : written) ++traces_of[placed.trace.from];
  int next = 0;
  std::vector<Diagnostic> remarks;
  for (Written* trace : without) {
    while (taken.contains(next)) ++next;
    trace->rank = by_name ? *rank_in_name(trace->from) : next;
    taken.insert(*trace->rank);
    const std::string_view by = by_name                       ? "its name"
                                : traces_of[trace->from] == 1 ? "the order of the files"
                                                              : "the order of its devices";
    remarks.push_back(make_diagnostic(
        "import_no_rank", fmt::format("{} does not state its rank; it counts as rank {}, by {}",
                                      trace->from.filename().string(), *trace->rank, by)));
  }
  std::vector<Status> completed(without.size(), Done{});
  in_threads(without.size(), 0,
             [&](size_t i) { completed[i] = complete(*without[i], &remarks[i]); });
  for (const Status& status : completed) {
    if (!status.ok()) return status;
  }
  summary.diagnostics.insert(summary.diagnostics.end(), std::make_move_iterator(remarks.begin()),
                             std::make_move_iterator(remarks.end()));
  return Done{};
}

Status RunSink::Impl::name_traces() {
  std::ranges::stable_sort(written, {}, [](const Placed& placed) { return placed.trace.rank; });
  int last_rank = -1;
  int again = 0;
  for (auto& [trace, file] : written) {
    again = *trace.rank == last_rank ? again + 1 : 0;
    last_rank = *trace.rank;
    const std::string name = again == 0 ? fmt::format("rank-{:05}.dprof", last_rank)
                                        : fmt::format("rank-{:05}.{}.dprof", last_rank, again);
    std::error_code error;
    fs::rename(trace.path, hidden / name, error);
    if (error) return fail(Code::kIo, fmt::format("{}: {}", name, error.message()));
    trace.path = hidden / name;
    std::vector<int>& ranks = summary.files[file].ranks;
    if (std::ranges::find(ranks, last_rank) == ranks.end()) ranks.push_back(last_rank);
  }
  return Done{};
}

Status RunSink::Impl::write_index() const {
  nlohmann::ordered_json json;
  json["schema"] = "dprof.run/1";
  json["id"] = run_id;
  json["command"] = "";
  json["world_size"] = nullptr;
  json["recorders"] = nlohmann::ordered_json::array();
  json["traces"] = nlohmann::ordered_json::array();
  for (const auto& [trace, file] : written) {
    if (trace.world_size) json["world_size"] = *trace.world_size;
    json["traces"].push_back({{"file", trace.path.filename().string()},
                              {"rank", *trace.rank},
                              {"host", trace.host},
                              {"ended", trace.cut ? "recovered" : "complete"}});
  }
  json["diagnostics"] = nlohmann::ordered_json::array();
  for (const Diagnostic& diagnostic : summary.diagnostics) {
    json["diagnostics"].push_back({{"code", diagnostic.code}, {"text", diagnostic.text}});
  }
  std::ofstream file(hidden / kIndexName);
  file << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  file.close();
  if (file.good()) return Done{};
  return fail(Code::kIo, fmt::format("{}: could not be written", (run / kIndexName).string()));
}

// A new or empty folder is replaced in one step. In a folder with other files, the old run's files
// are deleted and the new ones moved in.
Status RunSink::Impl::place() {
  std::error_code error;
  fs::rename(hidden, run, error);
  if (!error) {
    hidden.clear();
    return Done{};
  }
  for (const fs::path& file : files_in(run)) {
    if (belongs_to_run(file)) fs::remove(file, error);
  }
  for (const fs::path& file : files_in(hidden)) {
    fs::rename(file, run / file.filename(), error);
    if (error) {
      return fail(Code::kIo,
                  fmt::format("{}: {}", (run / file.filename()).string(), error.message()));
    }
  }
  return Done{};
}

Result<ImportSummary> RunSink::finish(const std::vector<int>& ranks) {
  const Status settled = ranks.empty() ? impl_->settle_ranks() : impl_->set_ranks(ranks);
  if (!settled.ok()) return fail(settled.error());
  if (const Status named = impl_->name_traces(); !named.ok()) return fail(named.error());
  if (const Status done = impl_->write_index(); !done.ok()) return fail(done.error());
  if (const Status done = impl_->place(); !done.ok()) return fail(done.error());
  return std::move(impl_->summary);
}

}  // namespace dprof::analyzer
