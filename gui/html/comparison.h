// SPDX-License-Identifier: Apache-2.0
// `dprof diff` and `dprof check` as HTML pages, like the report's: the text's sentences and tables,
// with a picture of the two mean steps and of the change's uncertainty.
#pragma once

#include <string>

#include "analyzer/check/check.h"
#include "analyzer/diff/diff.h"
#include "gui/html/report.h"

namespace dprof::html {

// `top`: maximum number of names, ranks, phases and collectives shown.
[[nodiscard]] std::string render_diff_html(const analyzer::Diff& diff, const HtmlOptions& options);
[[nodiscard]] std::string render_check_html(const analyzer::CheckResult& result,
                                            const HtmlOptions& options);

}  // namespace dprof::html
