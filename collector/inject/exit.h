// SPDX-License-Identifier: Apache-2.0
// A process that ends in good order says so in the header; without that word the recorder writes
// "process killed". The mapping stays: other threads may still run hooks while the process is torn
// down.
#pragma once

namespace dprof::inject {

// Registers the exit handlers, at the first event: so that they run before the libraries that were
// there earlier are torn down.
void watch_exit() noexcept;

// Sets the clean-end word, if this process (not a fork or vfork child) has a session. Idempotent.
void mark_clean_end() noexcept;

}  // namespace dprof::inject
