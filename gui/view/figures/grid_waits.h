// SPDX-License-Identifier: Apache-2.0
// The data of the page Topology: one figure per rank, and how long the members of each communicator
// of the grid waited for each other in it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gui/view/drawing/texts.h"
#include "gui/view/model/model.h"

namespace dprof::view {

enum class GridMeasure : uint8_t { kWait, kWaitedFor, kOwnDelay };
struct GridMeasureInfo {
  std::string_view title;
  std::string_view about;
};
inline constexpr std::array<GridMeasureInfo, 3> kGridMeasures = {{
    {english("Waiting"), english("what a rank waits for others, per steady step")},
    {english("Waited for"),
     english("what others waited for a rank as the last to come, per steady step")},
    {english("Own delay"),
     english("own work beyond the median of a rank's peers, per steady step")},
}};

// nullopt = unknown. Colours run from low to high: values below the detection floor are pale.
struct GridValues {
  std::vector<std::optional<int64_t>> ns;  // by position in Model::ranks
  int64_t low_ns = 0;
  int64_t high_ns = 0;
  friend bool operator==(const GridValues&, const GridValues&) = default;
};
[[nodiscard]] GridValues grid_values(const Model& model, GridMeasure measure);

// By axis of the grid and by line: how long its ranks waited in its collectives or messages, mean
// per rank and steady step. None if there is no communication along the axis. O(members).
using LineWaits = std::vector<std::vector<int64_t>>;
[[nodiscard]] LineWaits line_waits(const Model& model);

}  // namespace dprof::view
