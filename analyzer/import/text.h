// SPDX-License-Identifier: Apache-2.0
// Makes text of foreign files fit for a trace.
#pragma once

#include <string>

namespace dprof::analyzer {

// Valid UTF-8 without NUL: invalid UTF-8 becomes U+FFFD, a NUL a space.
std::string clean_utf8(std::string text);

}  // namespace dprof::analyzer
