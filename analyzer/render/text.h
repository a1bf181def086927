// SPDX-License-Identifier: Apache-2.0
// The report for people: what happened, where a step goes, what it would gain to change what, and
// what is not known.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/render/sections.h"
#include "analyzer/report/report.h"

namespace dprof::analyzer {

struct TextOptions {
  int width = 100;      // columns; 80 to 120 are used, whatever is asked
  bool colour = false;  // terminal escape sequences
  int top = 8;          // findings, and collectives, that are shown
  // What follows the findings, in full; nullopt: what adds to them, in short.
  std::optional<std::vector<Section>> sections = {};
  std::vector<Section> besides = {};  // in full, beside what is shown anyhow
};

[[nodiscard]] inline bool is_asked_for(const TextOptions& options, Section section) {
  return std::ranges::count(options.besides, section) > 0 ||
         (options.sections && std::ranges::count(*options.sections, section) > 0);
}

// UTF-8, lines ended by '\n', no trailing blanks. What was not computed is left out or said to be
// unknown, never shown as 0.
[[nodiscard]] std::string render_text(const Report& report, const TextOptions& options = {});

}  // namespace dprof::analyzer
