// SPDX-License-Identifier: Apache-2.0
// What prices rest on, and how much slower the run is than one whose operations of a kind all take
// the same.
#pragma once

#include <string>

#include "analyzer/render/layout.h"
#include "analyzer/render/text.h"

namespace dprof::analyzer {

// Without being asked for only the slowdown.
[[nodiscard]] std::string replay_section(const Report& report, const TextOptions& options,
                                         const Painter& paint);
[[nodiscard]] bool has_slowdown(const Report& report);
// "the recorded segments replayed unchanged come out 0.8 % off per step, over 118 steps"; ""
// without a replay.
[[nodiscard]] std::string identity_text(const Report& report);

}  // namespace dprof::analyzer
