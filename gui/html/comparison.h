// SPDX-License-Identifier: Apache-2.0
// `dprof diff` and `dprof check` as pages of HTML, like the report's: the text's own sentences and
// tables, beside a picture of the two mean steps and of how sure the change is.
#pragma once

#include <string>

#include "analyzer/check/check.h"
#include "analyzer/diff/diff.h"
#include "gui/html/report.h"

namespace dprof::html {

// `top`: names, ranks, phases, collectives that are shown.
[[nodiscard]] std::string render_diff_html(const analyzer::Diff& diff, const HtmlOptions& options);
[[nodiscard]] std::string render_check_html(const analyzer::CheckResult& result,
                                            const HtmlOptions& options);

}  // namespace dprof::html
