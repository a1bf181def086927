// SPDX-License-Identifier: Apache-2.0
// The runs given to `dprof diff` and `dprof check`: a run folder, a trace, or a report saved as
// JSON.
#pragma once

#include <string>

#include "analyzer/diff/run_facts.h"
#include "base/result.h"
#include "cli/console.h"

namespace dprof::cli {

// A run's report as JSON: read, or made from its traces.
Result<std::string> report_json_of(const std::string& path, Console& console);

Result<analyzer::RunFacts> read_run_facts(const std::string& path, Console& console);

// Written beside the target and renamed, so that no partial file is left.
Status write_file(const std::string& path, const std::string& text);

// "report of A and B" to FILE, or to stdout if that is "".
Status show_text(const std::string& text, const std::string& file, Console& console);

}  // namespace dprof::cli
