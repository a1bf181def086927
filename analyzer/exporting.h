// SPDX-License-Identifier: Apache-2.0
// Writes a run for another tool: `dprof export`, and Export… in the window.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/export/export.h"

namespace dprof::analyzer {

struct Exported {
  ExportSummary summary;
  bool damaged = false;  // part of the run could not be read: exit code 3
};

// Analyses the run if the format or the steps need it. The analysis covers all ranks, even if only
// some are written: clocks and waits depend on all of them.
Result<Exported> export_analysed(const Run& run, const ExportOptions& options,
                                 const std::filesystem::path& out, const Progress& progress = {});

// One sentence each on what was written, left out and unreadable.
[[nodiscard]] std::vector<std::string> describe_export(const ExportSummary& summary,
                                                       const std::filesystem::path& out);

}  // namespace dprof::analyzer
