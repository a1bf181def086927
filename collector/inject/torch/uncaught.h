// SPDX-License-Identifier: Apache-2.0
// The reason for std::terminate(): noted (wire::Fact::kException), and then passed on to the
// previous handler. In this library because libdprof.so is built without exceptions.
#pragma once

namespace dprof::inject::torch_source {

// Once.
void watch_terminate() noexcept;

}  // namespace dprof::inject::torch_source
