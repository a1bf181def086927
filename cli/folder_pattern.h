// SPDX-License-Identifier: Apache-2.0
// Names of folders with what is known only where the job runs: `record -o runs/%j-%h`.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dprof::cli {

struct PatternFacts {
  std::string host;
  int pid = 0;
  std::function<const char*(const char* name)> variable;  // as getenv()
};

// %h host, %p process id, %j id of the batch job (Slurm, PBS, LSF, Flux, Grid Engine), %q{VAR} an
// environment variable, %% a per cent sign. kUsage for anything else after a %, and for what is
// not known here: a run must not go into a folder that nobody meant.
Result<std::string> expand_pattern(std::string_view pattern, const PatternFacts& facts);

}  // namespace dprof::cli
