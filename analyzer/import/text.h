// SPDX-License-Identifier: Apache-2.0
// Text of foreign files, made fit for a trace.
#pragma once

#include <string>

namespace dprof::analyzer {

// Valid UTF-8 without NUL: what is no UTF-8 becomes U+FFFD, a NUL a space.
std::string clean_utf8(std::string text);

}  // namespace dprof::analyzer
