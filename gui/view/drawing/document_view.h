// SPDX-License-Identifier: Apache-2.0
// What the analyser says, as a tree (analyzer/render/document.h), as a page shows it: with the
// words of the text report, which are not translated.
#pragma once

#include "analyzer/render/document.h"
#include "gui/view/drawing/draw_list.h"

namespace dprof::view {

// From `at` on; what is too wide is wrapped, or cut. Returns where the next thing would be.
int draw_document(const analyzer::Document& document, Point at, int width,
                  const TextMeasure& measure, DrawList& list);

// The colour of what is said in that style.
[[nodiscard]] Role role_of(analyzer::Style style);

}  // namespace dprof::view
