// SPDX-License-Identifier: Apache-2.0
// A run is written for another tool: what `dprof export` and the window's Export… do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/export/export.h"

namespace dprof::analyzer {

struct Exported {
  ExportSummary summary;
  bool damaged = false;  // not all of the run could be read: exit code 3
};

// Analyses the run where the format or the steps need it, all ranks of it, whichever are written:
// they tell each other's clocks and waits.
Result<Exported> export_analysed(const Run& run, const ExportOptions& options,
                                 const std::filesystem::path& out, const Progress& progress = {});

// What was written, what was not and what could not be read, a sentence each.
[[nodiscard]] std::vector<std::string> describe_export(const ExportSummary& summary,
                                                       const std::filesystem::path& out);

}  // namespace dprof::analyzer
