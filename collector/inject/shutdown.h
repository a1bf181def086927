// SPDX-License-Identifier: Apache-2.0
// The end of a session. Its states and their transitions:
//
//   kServing ── recorder gone, or it said stop (helper) ──▶ kStopping ── sources are off ──▶ kOver
//      │                                                                                       ▲
//      └── the process ends (the thread that ends it) ──▶ kFinishing ── sources are read out ──┘
//
// The second party waits for the first, 2 s at most: a process does not take its libraries down
// while the helper is still in them. From kOver on the helper calls no source and no library again,
// and no source attaches. A fork child has no session: the kernel has wiped the hot page.
//
// The ends of a process:
//   exit, return of main   sources finish; the helper keeps away from the linker; the end is clean
//   CUDA's exit handler    sources finish, while CUPTI is still there (it comes before the others)
//   _exit, quick_exit      sources finish; the end is clean
//   killed                 nothing of this runs; the recorder sees a process that was killed
// "Clean" is a word in the header; without it the recorder writes "process killed". The mapping
// stays: other threads can still run hooks while the process is torn down.
#pragma once

#include <cstdint>

namespace dprof::inject {

enum class Phase : uint32_t { kServing, kStopping, kFinishing, kOver };
[[nodiscard]] Phase phase() noexcept;

// --- The helper's side ---

void note_helper() noexcept;  // by the helper, at its start: it never waits for itself
// The recorder no longer reads. False if the process is already ending: then finish the sources
// instead.
[[nodiscard]] bool begin_stopping() noexcept;
void declare_over() noexcept;

// --- The process's side ---

// Registers the exit handlers, at the first event: so that they run before already loaded libraries
// are torn down.
void watch_exit() noexcept;

// The process is ending: has the helper finish all sources, and waits for it, 2 s at most. Returns
// at once if already done, or if the process (a fork or vfork child) has no session. Idempotent.
void finish_session() noexcept;

// Finishes, then sets the clean-end word, with the process's exit code. Idempotent.
void mark_clean_end(int code) noexcept;

}  // namespace dprof::inject
