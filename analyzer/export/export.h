// SPDX-License-Identifier: Apache-2.0
// A run in the formats of other tools (docs/export.md says what each of them cannot hold).
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
// Whether it needs what an analysis found; the others need it only where steps are asked for.
[[nodiscard]] bool needs_analysis(ExportFormat format);
// Whether this machine has what it needs: kUnsupported.
Status can_export(ExportFormat format);
// A folder of files, not a file.
[[nodiscard]] bool makes_folder(ExportFormat format);
// What it is written to where nobody says: "RUN.perfetto.gz", or the folder "RUN.csv".
[[nodiscard]] std::filesystem::path default_export_path(ExportFormat format,
                                                        const std::string& run);

struct ExportOptions {
  ExportFormat format = ExportFormat::kPerfetto;
  std::vector<int> ranks;                            // empty = all
  std::optional<std::pair<int64_t, int64_t>> steps;  // half-open; nullopt = all
  bool raw = false;  // csv, parquet: numbers and ids as they are stored
};

// What an analysis of the run found: nothing of it where none was needed.
struct ExportFindings {
  std::span<const RankAnalysis> ranks;
  const RankClocks* clocks = nullptr;  // by position in `ranks`
  std::span<const MatchedCollective> collectives;
  std::span<const MatchedMessage> messages;
  std::span<const Finding> findings;
};

// Rows that are not in the file, and why: nothing is dropped in silence.
struct ExportLeftOut {
  std::string what;  // plural
  int64_t count = 0;
};

struct ExportSummary {
  std::vector<std::filesystem::path> files;
  int64_t events = 0;  // rows that were written
  std::vector<ExportLeftOut> left_out;
  std::vector<std::string> unreadable;  // traces that could not be read (to their end): exit code 3
};

// Writes a file, or a folder of them, which must not be there or be empty. Nothing is left where it
// fails or is cancelled. Memory does not grow with the trace, but for collectives, ids of launches
// and distinct names.
Result<ExportSummary> export_run(const Run& run, const ExportFindings& found,
                                 const ExportOptions& options, const std::filesystem::path& out,
                                 const Progress& progress = {});

}  // namespace dprof::analyzer
