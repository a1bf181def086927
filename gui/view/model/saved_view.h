// SPDX-License-Identifier: Apache-2.0
// How a run is looked at, and what was noted about it, as a file: `dprofview.json` beside the run.
// Tracks and what is selected are named by selectors, so that a view fits the next run, too.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/interval.h"
#include "base/result.h"
#include "gui/view/model/layout.h"

namespace dprof::view {

// A remark on a moment (an empty interval) or on a range.
struct Note {
  Interval at;
  std::string text;
  friend bool operator==(const Note&, const Note&) = default;
};

struct SavedView {
  Interval range;    // empty = not said
  std::string page;  // their words; "" = not said
  std::string dock;
  Arrangement arrangement;
  std::vector<std::string> selectors;
  std::vector<Note> notes;
  std::string query;                 // that stands in the dock SQL
  std::vector<std::string> queries;  // that were asked there, the last one at the end
  bool path = false;                 // the critical path is shown
  friend bool operator==(const SavedView&, const SavedView&) = default;
};

// Schema `dprof.view/1`.
[[nodiscard]] std::string to_json(const SavedView& view);
// Unknown fields are passed over; a newer schema, or what is no such file, is an error.
Result<SavedView> view_from_json(std::string_view text);

// Where a run's view is kept: in its folder, beside a lone trace; empty where several folders make
// up the run.
[[nodiscard]] std::filesystem::path view_file_of(const std::vector<std::filesystem::path>& run);
// Where it is kept if that cannot be written: in the user's folder for state, by the run's path.
[[nodiscard]] std::filesystem::path own_view_file_of(const std::vector<std::filesystem::path>& run);

Result<SavedView> read_view(const std::filesystem::path& file);
// Replaces the file as a whole; makes its folder if need be.
Status write_view(const std::filesystem::path& file, const SavedView& view);

}  // namespace dprof::view
