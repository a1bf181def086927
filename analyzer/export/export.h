// SPDX-License-Identifier: Apache-2.0
// A run in the formats of other tools (docs/export.md lists what each of them cannot represent).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/align/clock_map.h"
#include "analyzer/breakdown/matched.h"
#include "analyzer/report/finding.h"
#include "analyzer/report/rank.h"
#include "analyzer/run/run.h"
#include "analyzer/vocabulary/progress.h"
#include "base/result.h"

namespace dprof::analyzer {

enum class ExportFormat : uint8_t { kPerfetto, kChrome, kCsv, kParquet, kSpeedscope, kFolded };
inline constexpr size_t kExportFormats = 6;
// "perfetto", "chrome", "csv", "parquet", "speedscope", "folded".
[[nodiscard]] std::string_view word_of(ExportFormat format);
[[nodiscard]] std::optional<ExportFormat> export_format_of_word(std::string_view word);
// True if it needs an analysis; the others need one only for a selection of steps.
[[nodiscard]] bool needs_analysis(ExportFormat format);
// kUnsupported if this machine lacks the required software.
Status can_export(ExportFormat format);
// True if it writes a folder of files instead of one file.
[[nodiscard]] bool makes_folder(ExportFormat format);
// The default output: "RUN.perfetto.gz", or the folder "RUN.csv".
[[nodiscard]] std::filesystem::path default_export_path(ExportFormat format,
                                                        const std::string& run);

struct ExportOptions {
  ExportFormat format = ExportFormat::kPerfetto;
  std::vector<int> ranks;                            // empty = all
  std::optional<std::pair<int64_t, int64_t>> steps;  // half-open; nullopt = all
  bool raw = false;                                  // csv, parquet: stored numbers and ids
};

// The results of an analysis of the run; empty if none was needed.
struct ExportFindings {
  std::span<const RankAnalysis> ranks;
  const RankClocks* clocks = nullptr;  // by position in `ranks`
  std::span<const MatchedCollective> collectives;
  std::span<const MatchedMessage> messages;
  std::span<const Finding> findings;
};

// Rows missing from the output, and why: nothing is dropped silently.
struct ExportLeftOut {
  std::string what;  // plural
  int64_t count = 0;
};

struct ExportSummary {
  std::vector<std::filesystem::path> files;
  int64_t events = 0;  // number of written rows
  std::vector<ExportLeftOut> left_out;
  std::vector<std::string> unreadable;  // traces that were unreadable (to their end): exit code 3
};

// Writes a file, or a folder of files, which must not exist or be empty. A failed or cancelled
// export leaves nothing behind. Memory does not grow with the trace, except for collectives, launch
// ids and distinct names.
Result<ExportSummary> export_run(const Run& run, const ExportFindings& found,
                                 const ExportOptions& options, const std::filesystem::path& out,
                                 const Progress& progress = {});

}  // namespace dprof::analyzer
