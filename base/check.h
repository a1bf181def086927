// SPDX-License-Identifier: Apache-2.0
// Broken invariants of dprof itself, in tools (never in the process that is recorded).
#pragma once

namespace dprof::base {

// Prints the condition and its location, says how to report it, and exits with 125.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace dprof::base

// The condition must have no side effect.
#define DPROF_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::dprof::base::check_failed(#condition, __FILE__, __LINE__))
