// SPDX-License-Identifier: Apache-2.0
#include "cli/run_input.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "analyzer/analysis.h"
#include "analyzer/render/json.h"
#include "analyzer/run/run.h"
#include "cli/progress.h"

namespace dprof::cli {
namespace {

namespace fs = std::filesystem;

// A trace is a database; any other file is read as a report.
bool is_trace(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  char head[7] = {};
  return file.read(head, 6) && std::string_view(head) == "SQLite";
}

Result<std::string> analysed_json(const std::string& path, Console& console) {
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  const Result<analyzer::Run> run = analyzer::open_run({path});
  if (!run.ok()) return fail(run.error());
  analyzer::AnalysisOptions options{.cache = true, .pieces = false};
  options.names = analyzer::Names::kMostRanks;
  ProgressLine progress(console);
  const Result<analyzer::Analysis> analysis =
      analyzer::analyze(*run, options, [&](std::string_view stage, double share) {
        progress.show(stage, share);
        return true;
      });
  progress.clear();
  if (!analysis.ok()) return fail(analysis.error());
  if (analysis->damaged) {
    return fail(Code::kDamaged, fmt::format("{}: one of its traces cannot be read", path),
                fmt::format("`dprof report {}` says which; `dprof recover` may help", path));
  }
  return analyzer::render_json(analysis->report);
}

}  // namespace

Result<std::string> report_json_of(const std::string& path, Console& console) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return fail(Code::kNotFound, fmt::format("{}: no such file or folder", path),
                "give a run folder, or a report that `dprof report RUN --format json` made");
  }
  if (fs::is_directory(path, error) || is_trace(path)) return analysed_json(path, console);
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return fail(Code::kIo, fmt::format("{}: cannot be read", path));
  return text;
}

Result<analyzer::RunFacts> read_run_facts(const std::string& path, Console& console) {
  const Result<std::string> json = report_json_of(path, console);
  if (!json.ok()) return fail(json.error());
  return analyzer::facts_of_json(*json, path);
}

Status write_file(const std::string& path, const std::string& text) {
  // Processes of one job may write the same file at once (mpirun, --no-mpi).
  const std::string part = fmt::format("{}.{}.part", path, getpid());
  std::FILE* file = std::fopen(part.c_str(), "w");
  const bool written =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (written && closed && std::rename(part.c_str(), path.c_str()) == 0) return Done{};
  std::remove(part.c_str());
  return fail(Code::kIo, fmt::format("{}: cannot be written", path),
              "is the folder there, and is there room on the disk?");
}

Status show_text(const std::string& text, const std::string& file, Console& console) {
  if (!file.empty()) return write_file(file, text);
  console.print(text);
  return Done{};
}

}  // namespace dprof::cli
