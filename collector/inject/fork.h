// SPDX-License-Identifier: Apache-2.0
// fork without exec (dataloader workers): the child records nothing. The hot page is wiped by the
// kernel; the handler here forgets the rest and closes the socket, which would otherwise hide the
// parent's death from the recorder. No lock of ours is held across a fork: there is none.
//
// The loader has locks, though, and the helper calls it (dl_iterate_phdr, dlopen): a child that is
// forked meanwhile would find them held by a thread that it does not have, and wait for ever in its
// first dlopen. So a fork and the helper's use of the loader wait for each other, both for a
// bounded time: the forking thread may itself hold what the helper is waiting for.
#pragma once

namespace dprof::inject {

// Once, before the session is active. False when the handler cannot be registered.
[[nodiscard]] bool watch_forks() noexcept;

// The helper is about to call the loader, until this ends.
//
// Threading  one at a time: the helper's.
class LoaderUse {
 public:
  LoaderUse() noexcept;
  ~LoaderUse();
  LoaderUse(const LoaderUse&) = delete;
  LoaderUse& operator=(const LoaderUse&) = delete;
};

}  // namespace dprof::inject
