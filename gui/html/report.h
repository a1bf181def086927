// SPDX-License-Identifier: Apache-2.0
// The report as a single HTML page that can be attached and read anywhere: the text report's
// sentences and tables, with the window's pictures.
#pragma once

#include <string>

#include "analyzer/analysis.h"
#include "analyzer/run/run.h"

namespace dprof::html {

struct HtmlOptions {
  int top = 20;              // number of findings, collectives, names shown
  std::string version = {};  // dprof's, for the foot
};

// The analysis must have pieces (AnalysisOptions). Texts from the trace are escaped. Figures that
// were not computed are shown as unknown; omissions are stated with their number. Loads the events
// of the rank on the timeline: O(events of one rank + pieces + ranks * steps).
[[nodiscard]] std::string render_html(analyzer::Run run, analyzer::Analysis analysis,
                                      const HtmlOptions& options);

}  // namespace dprof::html
