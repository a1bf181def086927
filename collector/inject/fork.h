// SPDX-License-Identifier: Apache-2.0
// fork without exec (dataloader workers): the child records nothing. The hot page is wiped by the
// kernel; the handler here forgets the rest and closes the socket, which would otherwise hide the
// parent's death from the recorder. No lock of ours is held across a fork: there is none.
#pragma once

namespace dprof::inject {

// Once, before the session is active. False when the handler cannot be registered.
[[nodiscard]] bool watch_forks() noexcept;

}  // namespace dprof::inject
