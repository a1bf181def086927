// SPDX-License-Identifier: Apache-2.0
// Why a Python program raised: what reaches sys.excepthook and threading.excepthook is noted
// (wire::Fact::kException) and handed on to the hook that was there.
//
// The interpreter's own C API, looked up by name: the library links no Python. The hooks are put in
// place by the interpreter itself, on its main thread between two instructions (Py_AddPendingCall),
// once torch is imported. A hook that the program sets later and that hands nothing on hides what
// was raised from us.
#pragma once

#include "collector/inject/source.h"

namespace dprof::inject {

extern constinit const SourceHooks kPythonHooks;

}  // namespace dprof::inject
