// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <system_error>

#include "analyzer/export/chrome.h"
#include "analyzer/export/csv.h"
#include "analyzer/export/flame.h"
#include "analyzer/export/out_file.h"
#include "analyzer/export/parquet.h"
#include "analyzer/export/perfetto.h"
#include "analyzer/export/rank_source.h"

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;

struct FormatEntry {
  ExportFormat format;
  std::string_view word;
  std::string_view ending;  // extension of the output
};
constexpr std::array<FormatEntry, kExportFormats> kFormatEntries{
    FormatEntry{ExportFormat::kPerfetto, "perfetto", ".perfetto.gz"},
    FormatEntry{ExportFormat::kChrome, "chrome", ".chrome"},
    FormatEntry{ExportFormat::kCsv, "csv", ".csv"},
    FormatEntry{ExportFormat::kParquet, "parquet", ".parquet"},
    FormatEntry{ExportFormat::kSpeedscope, "speedscope", ".speedscope.json"},
    FormatEntry{ExportFormat::kFolded, "folded", ".folded"},
};

const FormatEntry& entry_of(ExportFormat format) {
  return *std::ranges::find(kFormatEntries, format, &FormatEntry::format);
}

// Files of an earlier export in the same folder would be mistaken for this run's.
Status make_folder(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error) && (!fs::is_directory(path, error) || !fs::is_empty(path, error))) {
    return fail(Code::kUsage, fmt::format("{} is there already, and not empty", path.string()),
                "give another folder with -o, or remove that one");
  }
  fs::create_directories(path, error);
  if (!error) return Done{};
  return fail(Code::kIo, fmt::format("{}: cannot be made: {}", path.string(), error.message()),
              "give another folder with -o");
}

// Writes one rank after the other, in one format.
class RankWriter {
 public:
  virtual ~RankWriter() = default;
  virtual Status rank(const RankSource& source) = 0;
  virtual Status finish() = 0;
};

class PerfettoFile final : public RankWriter {
 public:
  PerfettoFile(const ExportFindings& found, OutFile out, ExportJob& job)
      : out_(std::move(out)), perfetto_(found, out_, job) {}
  PerfettoExport& perfetto() { return perfetto_; }
  Status rank(const RankSource& source) override { return perfetto_.rank(source); }
  Status finish() override { return out_.finish(); }

 private:
  OutFile out_;
  PerfettoExport perfetto_;
};

class ChromeFolder final : public RankWriter {
 public:
  ChromeFolder(fs::path folder, ExportJob& job) : folder_(std::move(folder)), job_(job) {}
  Status rank(const RankSource& source) override {
    const fs::path path = folder_ / chrome_file_name(source);
    Result<OutFile> out = OutFile::create(path);
    if (!out.ok()) return fail(out.error());
    if (Status good = write_chrome(source, *out, job_); !good.ok()) return good;
    if (Status good = out->finish(); !good.ok()) return good;
    job_.file(path);
    return Done{};
  }
  Status finish() override { return Done{}; }

 private:
  fs::path folder_;
  ExportJob& job_;
};

// CSV, and Parquet made from it.
class TableFolder final : public RankWriter {
 public:
  TableFolder(CsvExport all, fs::path folder, const ExportOptions& options, ExportJob& job)
      : csv_(std::move(all)), folder_(std::move(folder)), options_(options), job_(job) {}
  Status rank(const RankSource& source) override { return csv_.rank(source); }
  Status finish() override {
    if (Status good = csv_.finish(); !good.ok()) return good;
    if (options_.format == ExportFormat::kParquet) return make_parquet(folder_, options_.raw, job_);
    for (const schema::Table* table : csv_tables(options_.raw))
      job_.file(folder_ / fmt::format("{}.csv", table->name));
    return Done{};
  }

 private:
  CsvExport csv_;
  fs::path folder_;
  const ExportOptions& options_;
  ExportJob& job_;
};

class SpeedscopeFile final : public RankWriter {
 public:
  SpeedscopeFile(OutFile out, const std::string& run, ExportJob& job)
      : out_(std::move(out)), speedscope_(out_, run), job_(job) {}
  Status rank(const RankSource& source) override { return speedscope_.rank(source, job_); }
  Status finish() override {
    speedscope_.finish();
    return out_.finish();
  }

 private:
  OutFile out_;
  SpeedscopeExport speedscope_;
  ExportJob& job_;
};

class FoldedFile final : public RankWriter {
 public:
  FoldedFile(OutFile out, ExportJob& job) : out_(std::move(out)), job_(job) {}
  Status rank(const RankSource& source) override { return folded_.rank(source, job_); }
  Status finish() override {
    folded_.write(out_);
    return out_.finish();
  }

 private:
  OutFile out_;
  FoldedExport folded_;
  ExportJob& job_;
};

Result<std::unique_ptr<RankWriter>> make_writer(std::span<const TraceFile> traces, const Run& run,
                                                const ExportFindings& found,
                                                const ExportOptions& options, const fs::path& out,
                                                ExportJob& job) {
  using Made = std::unique_ptr<RankWriter>;
  if (options.format == ExportFormat::kChrome) return Made(new ChromeFolder(out, job));
  if (makes_folder(options.format)) {
    Result<CsvExport> csv = CsvExport::create(out, options.raw, job);
    if (!csv.ok()) return fail(csv.error());
    return Made(new TableFolder(*std::move(csv), out, options, job));
  }
  Result<OutFile> file = OutFile::create(out);
  if (!file.ok()) return fail(file.error());
  if (options.format == ExportFormat::kSpeedscope)
    return Made(new SpeedscopeFile(*std::move(file), run.name, job));
  if (options.format == ExportFormat::kFolded) return Made(new FoldedFile(*std::move(file), job));
  auto perfetto = std::make_unique<PerfettoFile>(found, *std::move(file), job);
  perfetto->perfetto().head(traces, options.steps);
  return Made(std::move(perfetto));
}

Result<std::vector<TraceFile>> chosen_traces(const Run& run, const std::vector<int>& ranks) {
  if (ranks.empty()) return run.traces;
  std::vector<TraceFile> traces;
  for (const int rank : ranks) {
    const auto trace = std::ranges::find(run.traces, rank, &TraceFile::rank);
    if (trace == run.traces.end()) {
      return fail(Code::kNotFound, fmt::format("{}: no trace of rank {}", run.name, rank),
                  "`dprof report RUN` lists the ranks that are there");
    }
    traces.push_back(*trace);
  }
  std::ranges::stable_sort(traces, {}, &TraceFile::rank);
  return traces;
}

// Steps that no rank has would give an empty file.
Status check_steps(const Run& run, const ExportFindings& found, const ExportOptions& options) {
  if (!options.steps) return Done{};
  for (const RankAnalysis& rank : found.ranks) {
    for (const StepWindow& step : rank.steps) {
      if (step.index >= options.steps->first && step.index < options.steps->second) return Done{};
    }
  }
  return fail(Code::kNotFound, fmt::format("{}: no step of those was found", run.name),
              "`dprof report RUN` says which steps there are");
}

Status write_all(std::span<const TraceFile> traces, const Run& run, const ExportFindings& found,
                 const ExportOptions& options, const fs::path& out, const Progress& progress,
                 ExportSummary& summary) {
  ExportJob job(progress, summary);
  const Result<std::unique_ptr<RankWriter>> writer =
      make_writer(traces, run, found, options, out, job);
  if (!writer.ok()) return fail(writer.error());
  for (size_t i = 0; i < traces.size(); ++i) {
    const TraceFile& trace = traces[i];
    const double share = static_cast<double>(i) / static_cast<double>(traces.size());
    if (Status wanted = job.report_progress(fmt::format("rank {}", trace.rank), share);
        !wanted.ok())
      return wanted;
    const auto analysed = std::ranges::find(found.ranks, trace.rank, &RankAnalysis::rank);
    const RankAnalysis* rank = analysed == found.ranks.end() ? nullptr : &*analysed;
    const Result<RankSource> source = RankSource::open(trace, rank, options.steps);
    if (!source.ok() && source.error().code == Code::kDamaged) {
      summary.unreadable.push_back(source.error().what);
      continue;
    }
    if (!source.ok()) return fail(source.error());
    Status written = (*writer)->rank(*source);
    if (job.is_stopped()) return job.go_on();
    if (!written.ok() && written.error().code == Code::kDamaged) {
      summary.unreadable.push_back(written.error().what);
    } else if (!written.ok()) {
      return written;
    }
  }
  if (Status good = (*writer)->finish(); !good.ok()) return good;
  if (!makes_folder(options.format)) job.file(out);
  return Done{};
}

// Removes only files known to be of this export: the folder was empty.
void remove_half(const ExportSummary& summary, const ExportOptions& options, const fs::path& out,
                 bool is_new) {
  std::error_code ignored;
  for (const fs::path& file : summary.files) fs::remove(file, ignored);
  if (!makes_folder(options.format)) return;
  if (options.format == ExportFormat::kParquet) {
    for (const schema::Table* table : csv_tables(options.raw)) {
      for (const char* ending : {"csv", "parquet"})
        fs::remove(out / fmt::format("{}.{}", table->name, ending), ignored);
    }
  }
  if (is_new) fs::remove(out, ignored);
}

}  // namespace

std::string_view word_of(ExportFormat format) { return entry_of(format).word; }

std::optional<ExportFormat> export_format_of_word(std::string_view word) {
  const auto entry = std::ranges::find(kFormatEntries, word, &FormatEntry::word);
  return entry == kFormatEntries.end() ? std::nullopt : std::optional(entry->format);
}

bool needs_analysis(ExportFormat format) { return format == ExportFormat::kPerfetto; }

Status can_export(ExportFormat format) {
  return format == ExportFormat::kParquet ? has_parquet() : Status(Done{});
}

bool makes_folder(ExportFormat format) {
  return format == ExportFormat::kChrome || format == ExportFormat::kCsv ||
         format == ExportFormat::kParquet;
}

fs::path default_export_path(ExportFormat format, const std::string& run) {
  return run + std::string(entry_of(format).ending);
}

Result<ExportSummary> export_run(const Run& run, const ExportFindings& found,
                                 const ExportOptions& options, const fs::path& out,
                                 const Progress& progress) {
  const Result<std::vector<TraceFile>> traces = chosen_traces(run, options.ranks);
  if (!traces.ok()) return fail(traces.error());
  if (const Status good = check_steps(run, found, options); !good.ok()) return fail(good.error());
  std::error_code ignored;
  const bool is_new = !fs::exists(out, ignored);
  if (makes_folder(options.format)) {
    if (const Status good = make_folder(out); !good.ok()) return fail(good.error());
  }
  ExportSummary summary;
  const Status written = write_all(*traces, run, found, options, out, progress, summary);
  if (written.ok()) return summary;
  remove_half(summary, options, out, is_new);
  return fail(written.error());
}

}  // namespace dprof::analyzer
