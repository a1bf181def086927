// SPDX-License-Identifier: Apache-2.0
// fork without exec (dataloader workers): the child records nothing. The hot page is wiped by the
// kernel; the handler here forgets the rest and closes the socket, which would otherwise hide the
// parent's death from the recorder. Our one lock (nccl/communicators.cpp) may be held across a
// fork: in the child no hook of ours comes so far as to take it.
#pragma once

namespace dprof::inject {

// Once, before the session is active. False when the handler cannot be registered.
[[nodiscard]] bool watch_forks() noexcept;

}  // namespace dprof::inject
