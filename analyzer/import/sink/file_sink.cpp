// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/sink/file_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analyzer/import/sink/trace_sink_internal.h"
#include "schema/diagnostics.h"

namespace dprof::analyzer {

namespace fs = std::filesystem;

namespace {

// A file of a few calls, as one of 10,000 ranks leaves it (70 kB), makes a trace of a few pages.
// That of a packed file may be larger: it then has many small pages.
constexpr uintmax_t kSmallFile = 256 << 10;

schema::TraceWriter::Size size_of_trace(const fs::path& file) {
  std::error_code error;
  const uintmax_t bytes = fs::file_size(file, error);
  return !error && bytes <= kSmallFile ? schema::TraceWriter::Size::kSmall
                                       : schema::TraceWriter::Size::kUnknown;
}

}  // namespace

struct FileSink::Impl {
  Place place;
  fs::path path;
  std::string format;
  ImportProgress progress;
  bool cut = false;
  std::vector<std::string> damages;
  std::vector<std::unique_ptr<TraceSink>> open;
  std::vector<fs::path> made;  // by the same position

  Status finish_trace(TraceSink& sink, const fs::path& trace_path, FileResult& result);
  [[nodiscard]] ImportedFile summary() const;
};

FileSink::FileSink(Place place, fs::path path, std::string_view format, ImportProgress progress)
    : impl_(std::make_unique<Impl>()) {
  impl_->place = std::move(place);
  impl_->path = std::move(path);
  impl_->format = format;
  impl_->progress = std::move(progress);
}

FileSink::~FileSink() = default;

Result<TraceSink*> FileSink::open_trace() {
  const fs::path path =
      impl_->place.folder / fmt::format("{}-{}.dprof", impl_->place.name, impl_->made.size() + 1);
  auto sink = std::make_unique<TraceSink::Impl>(impl_->place.folder);
  // A failed file is removed with its folder.
  Result<std::unique_ptr<schema::TraceWriter>> writer = schema::TraceWriter::create(
      path, schema::TraceWriter::Journal::kNone, size_of_trace(impl_->path));
  if (!writer.ok()) return fail(writer.error());
  sink->writer = *std::move(writer);
  sink->path = impl_->path;
  sink->format = impl_->format;
  impl_->open.push_back(std::unique_ptr<TraceSink>(new TraceSink(std::move(sink))));
  impl_->made.push_back(path);
  return impl_->open.back().get();
}

const fs::path& FileSink::folder() const { return impl_->place.folder; }

void FileSink::damaged(std::string_view what) {
  impl_->cut = true;
  impl_->damages.emplace_back(what);
}

bool FileSink::progress(double share) {
  return !impl_->progress || impl_->progress(impl_->path, share);
}

Status FileSink::cancelled() { return fail(Code::kUsage, "cancelled"); }

Status FileSink::Impl::finish_trace(TraceSink& sink, const fs::path& trace_path,
                                    FileResult& result) {
  TraceSink::Impl& trace = *sink.impl_;
  trace.cut = cut;
  for (const std::string& what : damages)
    sink.remark("import_cut", fmt::format("{}: {}", path.filename().string(), what));
  const std::string own_clock =
      fmt::format("import:{}:{}", place.run_id, trace_path.stem().string());
  if (Status done = trace.finish(place.run_id, own_clock); !done.ok()) return done;
  result.traces.push_back({.path = trace_path,
                           .from = path,
                           .rank = trace.rank,
                           .world_size = trace.world_size,
                           .host = trace.clock.host,
                           .cut = cut});
  for (size_t r = 0; r < trace.remarks.size(); ++r) {
    const schema::DiagnosticRow& row = trace.remarks[r];
    if (row.code == "import_repeats") continue;  // nothing is missing: the trace reports it
    result.diagnostics.push_back(make_diagnostic(row.code, trace.remark_texts[r], row.count));
  }
  return Done{};
}

ImportedFile FileSink::Impl::summary() const {
  ImportedFile file{.path = path, .format = format, .ranks = {}};
  for (const std::unique_ptr<TraceSink>& trace : open) {
    file.format = trace->impl_->format;
    file.rows += trace->rows();
    file.skipped += trace->skipped();
  }
  return file;
}

Result<FileResult> FileSink::finish(const Status& read) {
  FileResult result;
  if (read.ok() && !impl_->open.empty()) {
    result.damaged = impl_->cut;
    for (size_t i = 0; i < impl_->open.size(); ++i) {
      const Status done = impl_->finish_trace(*impl_->open[i], impl_->made[i], result);
      if (!done.ok()) return fail(done.error());
    }
    result.file = impl_->summary();
    std::vector<size_t> order(impl_->open.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return impl_->open[i]->impl_->place; });
    std::vector<Written> placed;
    for (const size_t i : order) placed.push_back(std::move(result.traces[i]));
    result.traces = std::move(placed);
    impl_->open.clear();
    return result;
  }
  drop();
  result.damaged = true;
  result.diagnostics.push_back(make_diagnostic(
      "unreadable_import", read.ok() ? "nothing in it could be used" : read.error().what));
  return result;
}

void FileSink::drop() {
  impl_->open.clear();
  std::error_code error;
  for (const fs::path& path : impl_->made) fs::remove(path, error);
  impl_->made.clear();
}

}  // namespace dprof::analyzer
