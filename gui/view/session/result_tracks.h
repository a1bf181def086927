// SPDX-License-Identifier: Apache-2.0
// Tracks of the timeline that show what an SQL statement found. They live with the model's ranks.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "gui/view/model/model.h"
#include "gui/view/model/sql_console.h"

namespace dprof::view {

// Whether what the dock SQL shows is a track already.
[[nodiscard]] bool has_result_track(const Model& model, const SqlConsole& sql);
// Shows the result beside the events of its ranks; kUsage where it has no times.
Status add_result_track(const Model& model, const SqlConsole& sql);
void remove_results(const Model& model, const std::function<bool(const ResultLanes&)>& matches);
// A run that was read again: results are of what it was before, and say so.
void take_over_results(const Model& model, const Model& former);

}  // namespace dprof::view
