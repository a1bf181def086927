// SPDX-License-Identifier: Apache-2.0
// Where a finding's evidence stands: rank, step, trace file, and the command that shows its rows.
#pragma once

#include <optional>
#include <string>

#include "analyzer/render/explain.h"

namespace dprof::analyzer {

struct EvidencePlace {
  std::string trace;    // file; "" = unknown
  std::string when;     // "step 17", "steps 3 to 40"; "" = unknown
  std::string command;  // sqlite3 …; "" where the rows cannot be named
};

[[nodiscard]] EvidencePlace place_of(const Evidence& evidence, const EvidenceSources& sources);

}  // namespace dprof::analyzer
