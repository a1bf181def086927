// SPDX-License-Identifier: Apache-2.0
// The whole command line: which verb, with which options.
#pragma once

#include "cli/console.h"

namespace dprof::cli {

// Runs `dprof ARGS…`; returns the exit code (base/exit_code.h). Parse errors give 2.
int run_command_line(int argc, const char* const* argv, Console& console);

}  // namespace dprof::cli
