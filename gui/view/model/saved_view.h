// SPDX-License-Identifier: Apache-2.0
// A view of a run and the notes on it, as a file: `dprofview.json` beside the run. Tracks and
// selection are named by selectors, so a view also fits the next run.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/interval.h"
#include "base/result.h"
#include "gui/view/model/layout.h"

namespace dprof::view {

// A note on a moment (an empty interval) or on a range.
struct Note {
  Interval at;
  std::string text;
  friend bool operator==(const Note&, const Note&) = default;
};

struct SavedView {
  Interval range;    // empty = unspecified
  std::string page;  // their ids; "" = unspecified
  std::string dock;
  Arrangement arrangement;
  std::vector<std::string> selectors;
  std::vector<Note> notes;
  std::string query;                 // the text in the dock SQL
  std::vector<std::string> queries;  // earlier ones there, the latest last
  bool path = false;                 // the critical path is shown
  friend bool operator==(const SavedView&, const SavedView&) = default;
};

// Schema `dprof.view/1`.
[[nodiscard]] std::string to_json(const SavedView& view);
// Unknown fields are ignored; a newer schema, or another kind of file, is an error.
Result<SavedView> view_from_json(std::string_view text);

// The file of a run's view: in its folder, or beside a lone trace; empty if the run consists of
// several folders.
[[nodiscard]] std::filesystem::path view_file_of(const std::vector<std::filesystem::path>& run);
// The file if that is not writable: in the user's state folder, by the run's path.
[[nodiscard]] std::filesystem::path own_view_file_of(const std::vector<std::filesystem::path>& run);

Result<SavedView> read_view(const std::filesystem::path& file);
// Replaces the file atomically; makes its folder if necessary.
Status write_view(const std::filesystem::path& file, const SavedView& view);

}  // namespace dprof::view
