// SPDX-License-Identifier: Apache-2.0
// Folder names with values known only where the job runs: `record -o runs/%j-%h`.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dprof::cli {

struct PatternFacts {
  std::string host;
  int pid = 0;
  std::function<const char*(const char* name)> variable;  // like getenv()
};

// %h host, %p process id, %j id of the batch job (Slurm, PBS, LSF, Flux, Grid Engine), %q{VAR} an
// environment variable, %% a per cent sign. kUsage for anything else after a %, and for values not
// known here: a run must not end up in an unintended folder.
Result<std::string> expand_pattern(std::string_view pattern, const PatternFacts& facts);

}  // namespace dprof::cli
