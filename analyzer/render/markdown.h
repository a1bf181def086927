// SPDX-License-Identifier: Apache-2.0
// The report for a pull request or an issue: GitHub's Markdown, a table of findings first, what
// stands behind them folded.
#pragma once

#include <string>

#include "analyzer/report/report.h"

namespace dprof::analyzer {

struct MarkdownOptions {
  int top = 8;  // findings, and collectives, that are shown
};

// UTF-8. Texts from the trace are escaped: they make no markup and no links. What was not computed
// is said to be unknown.
[[nodiscard]] std::string render_markdown(const Report& report,
                                          const MarkdownOptions& options = {});

}  // namespace dprof::analyzer
