// SPDX-License-Identifier: Apache-2.0
// Write a document. Texts from a trace are made harmless here: they cannot break lines, control a
// terminal, or form markup or links.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/render/document.h"

namespace dprof::analyzer {

struct TextShape {
  size_t width = 100;
  bool colour = false;  // terminal escape sequences
};

// Lines ended by '\n', no trailing blanks. Lines are at most `width` wide, except for unbreakable
// text.
[[nodiscard]] std::string write_text(const Document& document, const TextShape& shape = {});
// Width of the table's lines, in characters of text.
[[nodiscard]] size_t text_width(const Table& table);

// GitHub's Markdown.
[[nodiscard]] std::string write_markdown(const Document& document);

// A fragment of an HTML page. Classes determine its appearance: the names of styles, `n` for
// figures, `c0` … for categories.
[[nodiscard]] std::string write_html(const Document& document);
// Sentence case instead of capitals: "RANK BY RANK" becomes "Rank by rank".
[[nodiscard]] std::string calm_title(std::string_view title);
// Escapes text between tags, or in an attribute's quotes, for HTML or XML.
[[nodiscard]] std::string escaped_markup(std::string_view text);
// The same for HTML, with text between two backticks as <code>.
[[nodiscard]] std::string html_prose(std::string_view text);

}  // namespace dprof::analyzer
