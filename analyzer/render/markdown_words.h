// SPDX-License-Identifier: Apache-2.0
// Texts of a trace within Markdown: they make no markup and no links.
#pragma once

#include <string>
#include <string_view>

namespace dprof::analyzer {

// Within a line of Markdown.
[[nodiscard]] std::string escaped_markdown(std::string_view text);
// Within a tag of HTML, where a backslash escapes nothing.
[[nodiscard]] std::string escaped_html(std::string_view text);

}  // namespace dprof::analyzer
