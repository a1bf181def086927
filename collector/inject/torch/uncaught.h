// SPDX-License-Identifier: Apache-2.0
// What std::terminate() was called for: noted (wire::Fact::kException), and then handed on to the
// handler that was there. Here and not in libdprof.so, which knows no exceptions.
#pragma once

namespace dprof::inject::torch_source {

// Once.
void watch_terminate() noexcept;

}  // namespace dprof::inject::torch_source
