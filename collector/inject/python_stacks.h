// SPDX-License-Identifier: Apache-2.0
// With `dprof record --on-hang stacks` only: lets the recorder look into this process (Yama), and
// has Python's faulthandler write the stacks of all threads to a file on a spare signal. A signal
// that the program handles itself is not touched.
#pragma once

namespace dprof::inject {

// When the session starts.
void let_the_recorder_look() noexcept;

[[nodiscard]] bool stacks_are_wanted() noexcept;

// On Python's main thread, which holds the interpreter's lock.
void register_faulthandler() noexcept;

}  // namespace dprof::inject
