// SPDX-License-Identifier: Apache-2.0
// The variables that control the collector, as of the start of the session; dprof's own as of the
// loading of the library, because a program can clear its environment before it loads torch. Only
// the thread that starts the session calls getenv: on the helper it would race with the program's
// setenv (glibc before 2.41).
#pragma once

namespace dprof::inject {

// When the library is loaded: notes the variables set by dprof.
void note_own_environment() noexcept;
// Once, by the thread that starts the session, before the helper runs. Noted values are kept.
void note_environment() noexcept;

// nullptr if the variable was not set or is not among those noted (environment.cpp).
[[nodiscard]] const char* noted_variable(const char* name) noexcept;

}  // namespace dprof::inject
