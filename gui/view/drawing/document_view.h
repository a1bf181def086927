// SPDX-License-Identifier: Apache-2.0
// Shows the analyser's documents (analyzer/render/document.h) on a page, with the words of the text
// report, which are not translated.
#pragma once

#include "analyzer/render/document.h"
#include "gui/view/drawing/draw_list.h"

namespace dprof::view {

// Draws from `at` on, wrapping or cutting wide content. Returns the position for the next item.
int draw_document(const analyzer::Document& document, Point at, int width,
                  const TextMeasure& measure, DrawList& list);

// The colour of that style.
[[nodiscard]] Role role_of(analyzer::Style style);

}  // namespace dprof::view
