// SPDX-License-Identifier: Apache-2.0
// The report as one page of HTML that can be attached to anything and read anywhere: the text
// report's own sentences and tables, beside the window's own pictures.
#pragma once

#include <string>

#include "analyzer/analysis.h"
#include "analyzer/run/run.h"

namespace dprof::html {

struct HtmlOptions {
  int top = 20;              // findings, collectives, names that are shown
  std::string version = {};  // of dprof, for the foot
};

// The analysis has pieces (AnalysisOptions). Texts from the trace are escaped. What was not
// computed is said to be unknown; what is left out, how much it is. Loads the events of the rank
// that the timeline shows: O(events of one rank + pieces + ranks * steps).
[[nodiscard]] std::string render_html(analyzer::Run run, analyzer::Analysis analysis,
                                      const HtmlOptions& options);

}  // namespace dprof::html
