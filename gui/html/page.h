// SPDX-License-Identifier: Apache-2.0
// A page of HTML in one file: its style in light and dark, on screen and on paper, and the little
// script that sorts tables. It asks the network for nothing, and says so to the browser.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/render/document.h"

namespace dprof::html {

// `body`: HTML. `title` is escaped here.
[[nodiscard]] std::string page_of(std::string_view title, std::string_view body);

// A section of a page, empty where the document is. `name`: what links to it.
[[nodiscard]] std::string section_of(std::string_view name, const analyzer::Document& document);

}  // namespace dprof::html
