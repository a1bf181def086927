// SPDX-License-Identifier: Apache-2.0
// What the selection is about, in one line above a dock's content.
#pragma once

#include <string>
#include <string_view>

#include "gui/view/session.h"

namespace dprof::view {

// In place of figures that are not counted yet: what is shown is of a former range.
inline constexpr std::string_view kCounting = "counting …";

// "41.231 s – 41.543 s · 311.4 ms · step 43 · 8 ranks".
[[nodiscard]] std::string range_title(const Session& session, size_t ranks);

}  // namespace dprof::view
