// SPDX-License-Identifier: Apache-2.0
// Shows the changes: text for a terminal, Markdown, JSON of schema "dprof.diff/1". gui/html makes a
// page of the same parts, and the window draws them.
#pragma once

#include <string>

#include "analyzer/diff/diff.h"
#include "analyzer/render/document.h"
#include "analyzer/render/writers.h"

namespace dprof::analyzer {

struct DiffOptions {
  int top = 8;  // number of names, ranks, phases, collectives
};

// The details after the answer, here and in `dprof check`: where the change is, what else changed.
// changes.
[[nodiscard]] Document changes_section(const Diff& diff, const DiffOptions& options = {});
// The differences between the sides, and whether they matter.
[[nodiscard]] Document dissimilar_section(const Diff& diff);

// "+5.1 % (98 %: +4.9 % to +5.3 %)".
[[nodiscard]] std::string change_text(const StepChange& change);
// "+5.1 %"; with two decimals below 1 %.
[[nodiscard]] std::string signed_share(double share);
// "base-1: 4 ranks on 1 host, 58 steady steps".
[[nodiscard]] std::string side_text(const DiffSide& side);
// "most of it is forward: +3.2 of +3.4 ms"; "" if no part dominates.
[[nodiscard]] std::string where_text(const Diff& diff);
// The answer in one line: "slower: +5.1 % (98 %: +4.9 % to +5.3 %); most of it is forward: …".
[[nodiscard]] Span diff_answer(const Diff& diff);
// The sides, the step time, the detectable change, whether they can be compared.
[[nodiscard]] FactList diff_facts(const Diff& diff);

[[nodiscard]] std::string render_diff_text(const Diff& diff, const TextShape& shape,
                                           const DiffOptions& options = {});
[[nodiscard]] std::string render_diff_markdown(const Diff& diff, const DiffOptions& options = {});
[[nodiscard]] std::string render_diff_json(const Diff& diff);

}  // namespace dprof::analyzer
