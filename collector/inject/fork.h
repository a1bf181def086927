// SPDX-License-Identifier: Apache-2.0
// fork without exec (dataloader workers): the child records nothing. The kernel wipes the hot page;
// the handler here resets the rest and closes the socket, which would otherwise hide the parent's
// death from the recorder. Our one lock (nccl/communicators.cpp) may be held across a fork: in the
// child no hook of ours gets as far as taking it.
#pragma once

namespace dprof::inject {

// Once, before the session is active. False if the handler cannot be registered.
[[nodiscard]] bool watch_forks() noexcept;

}  // namespace dprof::inject
