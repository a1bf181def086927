// SPDX-License-Identifier: Apache-2.0
// The extent of the selection, in one line above a dock's content.
#pragma once

#include <string>

#include "gui/view/session/selecting.h"

namespace dprof::view {

// "41.231 s – 41.543 s · 311.4 ms · step 43 · 8 ranks".
[[nodiscard]] std::string range_title(const Model& model, const Selecting& selecting, size_t ranks);

}  // namespace dprof::view
