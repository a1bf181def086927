// SPDX-License-Identifier: Apache-2.0
// The report for a pull request or an issue: GitHub's Markdown, with a table of findings first and
// their details folded.
#pragma once

#include <string>

#include "analyzer/report/report.h"

namespace dprof::analyzer {

struct MarkdownOptions {
  int top = 8;  // findings, and collectives, that are shown
};

// UTF-8. Texts from the trace are escaped: they cannot form markup or links. Values that were not
// computed are shown as unknown.
[[nodiscard]] std::string render_markdown(const Report& report,
                                          const MarkdownOptions& options = {});

}  // namespace dprof::analyzer
