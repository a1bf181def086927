// SPDX-License-Identifier: Apache-2.0
// How an exception that ended a thread but not its process is told from one that ended the process.
#pragma once

#include <string_view>

namespace dprof::schema {

// Follows the exception's message.
inline constexpr std::string_view kEndedItsThread = " (in a thread; the process went on)";

}  // namespace dprof::schema
