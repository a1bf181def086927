// SPDX-License-Identifier: Apache-2.0
// The helper's use of the dynamic linker (dl_iterate_phdr, dlopen), which must not meet
//   a fork: the child would find the linker's locks held by a thread that it does not have, and
//   wait
//     for ever in its first dlopen;
//   the end of the process: a library that is loaded while those it needs are torn down may abort.
// Both wait for it, and it for a fork, for a bounded time: they may hold what the helper waits for.
#pragma once

namespace dprof::inject {

// The helper is about to call the linker, until this ends. Once the process ends it does not come
// so far any more: the helper waits there to be ended with it.
//
// Threading  one at a time: the helper's.
class LinkerUse {
 public:
  LinkerUse() noexcept;
  ~LinkerUse();
  LinkerUse(const LinkerUse&) = delete;
  LinkerUse& operator=(const LinkerUse&) = delete;
};

// Around a fork, in the parent; in the child `forget`. Nothing here allocates or locks.
void begin_fork() noexcept;
void end_fork() noexcept;
void forget_linker_use() noexcept;

// The process runs its exit handlers: waits for the helper to be out of the linker, a second at
// most.
void end_linker_use() noexcept;

}  // namespace dprof::inject
