// SPDX-License-Identifier: Apache-2.0
// With `dprof record --on-hang stacks` only: lets the recorder look into this process (Yama), and
// has Python's faulthandler write the stacks of all threads into a file when a spare signal comes.
// A signal that the program handles itself is left to it.
//
// The interpreter's own C API, looked up by name; Python carries the call out itself, on its main
// thread between two instructions (Py_AddPendingCall).
#pragma once

#include "collector/inject/source.h"

namespace dprof::inject {

// When the session starts.
void let_the_recorder_look() noexcept;

extern constinit const SourceHooks kPythonStackHooks;

}  // namespace dprof::inject
