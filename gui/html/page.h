// SPDX-License-Identifier: Apache-2.0
// An HTML page in one file: its style in light and dark, on screen and on paper, and a small script
// that sorts tables. It loads nothing from the network, and forbids it to the browser.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/render/document.h"

namespace dprof::html {

// `body`: HTML. `title` is escaped here.
[[nodiscard]] std::string page_of(std::string_view title, std::string_view body);

// A section of a page, empty if the document is. `name`: its link anchor.
[[nodiscard]] std::string section_of(std::string_view name, const analyzer::Document& document);

}  // namespace dprof::html
