// SPDX-License-Identifier: Apache-2.0
// Why a Python program raised: what reaches sys.excepthook and threading.excepthook is noted
// (wire::Fact::kException) and handed on to the hook that was there; and what ends a process that
// multiprocessing spawned, while its finalizers are run.
//
// The hooks are put in place once torch is imported. A hook that the program sets later and that
// hands nothing on hides what was raised from us.
#pragma once

namespace dprof::inject {

// On Python's main thread, which holds the interpreter's lock.
void chain_exception_hooks() noexcept;

}  // namespace dprof::inject
