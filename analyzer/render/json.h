// SPDX-License-Identifier: Apache-2.0
// The report for programs: JSON of schema "dprof.report/1", specified in docs/report.md.
#pragma once

#include <string>

#include "analyzer/report/report.h"

namespace dprof::analyzer {

// Every top-level key is always present, in the same order: null = not computed, an empty list =
// looked, found none. Invalid UTF-8 is repaired. Ends with a newline.
[[nodiscard]] std::string render_json(const Report& report);

}  // namespace dprof::analyzer
