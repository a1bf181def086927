// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "analyzer/import/flight_recorder/flight_recorder.h"
#include "analyzer/import/format.h"
#include "analyzer/import/input.h"
#include "analyzer/import/kineto/kineto.h"
#include "analyzer/import/nccl_inspector/nccl_inspector.h"
#include "analyzer/import/run_sink.h"

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;

// The narrow ones first: a Chrome JSON file is any JSON.
constexpr const Format* kFormats[] = {&flight_recorder::kFormat, &nccl_inspector::kFormat,
                                      &kineto::kFormat};

struct Candidate {
  fs::path path;
  bool named = true;  // given by name; else found in a folder, where other files may lie too
};

Result<std::vector<Candidate>> expand(const std::vector<fs::path>& files) {
  std::vector<Candidate> candidates;
  for (const fs::path& path : files) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      return fail(Code::kNotFound, fmt::format("{}: no such file or folder", path.string()));
    }
    if (!fs::is_directory(path, error)) {
      candidates.push_back({path});
      continue;
    }
    std::vector<Candidate> found;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
      std::error_code ignored;
      if (entry->is_regular_file(ignored)) found.push_back({entry->path(), false});
    }
    if (error) return fail(Code::kIo, fmt::format("{}: {}", path.string(), error.message()));
    std::ranges::sort(found, {}, &Candidate::path);
    candidates.insert(candidates.end(), found.begin(), found.end());
  }
  return candidates;
}

const Format* format_of(std::string_view head) {
  const auto known = std::ranges::find_if(
      kFormats, [&](const Format* format) { return format->recognises(head); });
  return known == std::end(kFormats) ? nullptr : *known;
}

// Reads one file; its failure is kept, unless the import as a whole cannot go on.
class Import {
 public:
  Import(RunSink& sink, const ImportProgress& progress) : sink_(sink), progress_(progress) {}

  Status add(const Candidate& candidate) {
    const Result<std::string> head = read_head(candidate.path, kHeadBytes);
    const Format* format = head.ok() ? format_of(*head) : nullptr;
    if (format == nullptr && !candidate.named) return Done{};
    sink_.begin_file(candidate.path, format == nullptr ? "" : format->name, progress_);
    const Status read = !head.ok() ? Status(fail(head.error())) : read_as(format, candidate.path);
    if (!read.ok() && read.error().code == Code::kUsage) return read;  // cancelled
    const bool is_other = !candidate.named && !read.ok() && read.error().code == Code::kNotATrace;
    if (!read.ok() && !first_error_) first_error_ = read.error();
    read_ += read.ok() ? 1 : 0;
    return is_other ? sink_.drop_file() : sink_.end_file(read);
  }

  [[nodiscard]] bool any() const { return read_ > 0; }
  [[nodiscard]] const std::optional<Error>& first_error() const { return first_error_; }

 private:
  Status read_as(const Format* format, const fs::path& path) {
    if (format != nullptr) return format->read(path, sink_);
    return fail(Code::kNotATrace, fmt::format("{}: of no known format", path.string()),
                "Kineto or Chrome JSON (.gz too), a flight-recorder dump, NCCL Inspector");
  }

  RunSink& sink_;
  const ImportProgress& progress_;
  std::optional<Error> first_error_;
  int64_t read_ = 0;
};

}  // namespace

Result<ImportSummary> import_files(const std::vector<fs::path>& files, const fs::path& run,
                                   const ImportOptions& options, const ImportProgress& progress) {
  const Result<std::vector<Candidate>> candidates = expand(files);
  if (!candidates.ok()) return fail(candidates.error());
  Result<std::unique_ptr<RunSink>> sink = RunSink::create(run, options.overwrite);
  if (!sink.ok()) return fail(sink.error());
  Import import(**sink, progress);
  for (const Candidate& candidate : *candidates) {
    if (const Status done = import.add(candidate); !done.ok()) return fail(done.error());
  }
  if (import.any()) return (*sink)->finish();
  if (import.first_error()) return fail(*import.first_error());
  return fail(Code::kNotFound, "there is no file of a known format",
              "Kineto or Chrome JSON (.gz too), a flight-recorder dump, NCCL Inspector");
}

}  // namespace dprof::analyzer
