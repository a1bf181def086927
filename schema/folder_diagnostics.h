// SPDX-License-Identifier: Apache-2.0
// The catalogue's rows about a run folder, which no trace can contain. Separate from the others,
// which nearly every file includes.
#pragma once

#include "schema/diagnostics.h"

namespace dprof::schema {

inline constexpr DiagnosticKind kFolderDiagnostics[] = {
    {"left_out", Severity::kInfo, Scope::kAnalysis,
     "Processes without a rank trained or used a device beside the ranks; figures do not have them.",
     "`dprof report FILE` reports on one of them alone"},
    {"not_local", Severity::kInfo, Scope::kRecorder,
     "`--local` was asked for and not used: the traces were written into the run folder at once.",
     "the text says why; give --local a folder on a disk of the node that can be written"},
    {"traces_left", Severity::kDataLoss, Scope::kAnalysis,
     "Traces of the run are still on a node's own disk (`--local`); figures do not have them.",
     "once the recording has ended, `dprof recover RUN` on that node moves them"},
};

}  // namespace dprof::schema
