// SPDX-License-Identifier: Apache-2.0
// Errors of a Python program: exceptions that reach sys.excepthook and threading.excepthook are
// noted (wire::Fact::kException) and passed on to the previous hook; and exceptions that end a
// process spawned by multiprocessing, while its finalizers run.
//
// The hooks are installed once torch is imported. A hook that the program sets later and that does
// not call the previous one hides the exception from us.
#pragma once

namespace dprof::inject {

// On Python's main thread, which holds the interpreter's lock.
void chain_exception_hooks() noexcept;

}  // namespace dprof::inject
