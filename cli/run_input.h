// SPDX-License-Identifier: Apache-2.0
// Runs as they are given to `dprof diff` and `dprof check`: a run folder, a trace, or a report that
// was kept as JSON.
#pragma once

#include <string>

#include "analyzer/diff/run_facts.h"
#include "base/result.h"
#include "cli/console.h"

namespace dprof::cli {

// The report of a run as JSON: read, or made of its traces.
Result<std::string> report_json_of(const std::string& path, Console& console);

Result<analyzer::RunFacts> read_run_facts(const std::string& path, Console& console);

// Written beside and renamed, so that no half of a file is left.
Status write_file(const std::string& path, const std::string& text);

// "report of A and B" to FILE, or to stdout where that is "".
Status show_text(const std::string& text, const std::string& file, Console& console);

}  // namespace dprof::cli
