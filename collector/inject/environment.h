// SPDX-License-Identifier: Apache-2.0
// The variables that steer the collector, as they were when the session began; dprof's own as they
// were when the library was loaded, for a program may clear its environment before it loads torch.
// Only the thread that starts the session calls getenv: on the helper it would race with the
// program's setenv (glibc before 2.41).
#pragma once

namespace dprof::inject {

// When the library is loaded: what dprof has set.
void note_own_environment() noexcept;
// Once, by the thread that starts the session, before the helper runs. What is noted stays.
void note_environment() noexcept;

// nullptr: it was not set, or is none of those that are noted (environment.cpp).
[[nodiscard]] const char* noted_variable(const char* name) noexcept;

}  // namespace dprof::inject
