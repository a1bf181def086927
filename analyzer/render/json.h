// SPDX-License-Identifier: Apache-2.0
// The report for programs: JSON of schema "dprof.report/1", as docs/report.md lays it down.
#pragma once

#include <string>

#include "analyzer/report/report.h"

namespace dprof::analyzer {

// Every top-level key is always there, in the same order: null = not computed, an empty list =
// looked, found none. Texts that are not UTF-8 are repaired. Ends with a newline.
[[nodiscard]] std::string render_json(const Report& report);

}  // namespace dprof::analyzer
