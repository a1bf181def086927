// SPDX-License-Identifier: Apache-2.0
// The helper's use of the dynamic linker (dl_iterate_phdr, dlopen), which must not overlap with
//   a fork: the child would inherit the linker's locks, held by a thread that it does not have, and
//     wait for ever in its first dlopen;
//   the end of the process: a library loaded while its dependencies are torn down may abort.
// Both wait for the helper, and the helper for a fork, for a bounded time: they may hold what the
// helper waits for.
#pragma once

namespace dprof::inject {

// The helper calls the linker during this object's lifetime. Once the process is ending, the
// constructor does not return: the helper waits there to be ended with it.
//
// Threading  one at a time: the helper's.
class LinkerUse {
 public:
  LinkerUse() noexcept;
  ~LinkerUse();
  LinkerUse(const LinkerUse&) = delete;
  LinkerUse& operator=(const LinkerUse&) = delete;
};

// Called around a fork, in the parent; in the child `forget`. No allocation, no locks.
void begin_fork() noexcept;
void end_fork() noexcept;
void forget_linker_use() noexcept;

// The process runs its exit handlers: waits until the helper has left the linker, a second at most.
void end_linker_use() noexcept;

}  // namespace dprof::inject
