// SPDX-License-Identifier: Apache-2.0
// dprof-gui as a program: with a window, or writing outputs without one.
#pragma once

namespace dprof::widgets {

// Returns the process's exit code (base/exit_code.h).
int run_application(int argc, char** argv);

}  // namespace dprof::widgets
