// SPDX-License-Identifier: Apache-2.0
// The state of the GUI as JSON ("dprof.gui_state/1"): the truth that scripts and tests check.
#pragma once

#include <string>
#include <vector>

#include "gui/view/session/session.h"

namespace dprof::view {

[[nodiscard]] std::string dump_state(const Session& session, int pending,
                                     const std::vector<std::string>& messages);

}  // namespace dprof::view
