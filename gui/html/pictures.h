// SPDX-License-Identifier: Apache-2.0
// The pictures of a page: the window's own draw lists, for what the report is about.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gui/view/model/model.h"

namespace dprof::html {

// Empty if there is nothing to show.
struct Picture {
  std::string title;
  std::string caption;
  std::string svg;
};

// The slow ranks over time: ranks × steps.
[[nodiscard]] Picture steps_picture(const std::shared_ptr<const view::Model>& model);
// The waits of ranks for each other.
[[nodiscard]] Picture waits_picture(const std::shared_ptr<const view::Model>& model);
// The memory each rank held over the run; of many ranks, those with the largest peaks.
[[nodiscard]] Picture memory_picture(const std::shared_ptr<view::Model>& model);
// The hidden part of the communication, rank by rank; of many, those with the most exposed.
[[nodiscard]] Picture overlap_picture(const analyzer::Report& report);

// A rank in two steps, beside some other ranks, on one scale.
struct SideBySide {
  Picture worst;
  Picture good;
};
// The rank and the steps that the timeline shows: the culprit's own delays, else the longest and a
// usual step. nullopt = there are no steps.
struct ShownSteps {
  size_t rank = 0;  // into Model::ranks
  int64_t worst = 0;
  int64_t good = 0;
  std::string_view title;
  std::string worst_caption;
  std::string good_caption;
};
[[nodiscard]] std::optional<ShownSteps> shown_steps(const view::Model& model);
// Loads the rank's events if necessary, and keeps only the ranks that are shown.
[[nodiscard]] SideBySide timeline_pictures(const std::shared_ptr<view::Model>& model,
                                           const ShownSteps& shown);

}  // namespace dprof::html
