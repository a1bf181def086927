// SPDX-License-Identifier: Apache-2.0
// Write a document. Texts of a trace are made harmless here: they tear no line, steer no terminal,
// make no markup and no links.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/render/document.h"

namespace dprof::analyzer {

struct TextShape {
  size_t width = 100;
  bool colour = false;  // terminal escape sequences
};

// Lines ended by '\n', no trailing blanks. Lines are as wide as `width`, but for what cannot be
// broken.
[[nodiscard]] std::string write_text(const Document& document, const TextShape& shape = {});
// Characters of a table's lines, as text.
[[nodiscard]] size_t text_width(const Table& table);

// As GitHub shows it.
[[nodiscard]] std::string write_markdown(const Document& document);

// Part of a page of HTML. What it looks like is said by classes: the names of styles, `n` for
// figures, `c0` … for categories.
[[nodiscard]] std::string write_html(const Document& document);
// "RANK BY RANK" shouts on a page: "Rank by rank".
[[nodiscard]] std::string calm_title(std::string_view title);
// Text between tags, or in an attribute's quotes, of HTML or XML.
[[nodiscard]] std::string escaped_markup(std::string_view text);
// The same for HTML, with what stands between two backticks as <code>.
[[nodiscard]] std::string html_prose(std::string_view text);

}  // namespace dprof::analyzer
