// SPDX-License-Identifier: Apache-2.0
// The only thread that the library starts, in a process with a recorder: it looks for torch,
// applies the control page, keeps spare rings and arena pages ready, and switches everything off
// when the recorder is gone. It sleeps on the control page's generation, with a timeout.
//
// Threading  only the end of the process waits for it, for a bounded time (shutdown.h): the caller
//            of a door may hold the loader's lock while the helper is in dlopen.
#pragma once

namespace dprof::inject {

// Starts the helper, with all signals blocked; returns 0 or the errno of the failure. It does
// nothing before Runtime::helper_may_run.
[[nodiscard]] int start_helper() noexcept;

}  // namespace dprof::inject
