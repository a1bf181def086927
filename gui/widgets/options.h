// SPDX-License-Identifier: Apache-2.0
// The command line of dprof-gui.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analysis.h"
#include "base/exit_code.h"
#include "gui/view/model/event_loading.h"
#include "gui/view/script.h"
#include "gui/view/session/dock.h"
#include "gui/view/session/page.h"

namespace dprof::widgets {

struct Options {
  std::vector<std::filesystem::path> runs;
  analyzer::AnalysisOptions analysis;
  std::filesystem::path compare;  // "" = no other run
  std::filesystem::path restore;  // a saved view; "" = none
  std::vector<std::string> selectors;
  std::optional<view::Page> page;  // nullopt: the one that suits the run
  std::optional<view::Dock> dock;
  bool path = false;                 // the critical path
  std::vector<std::string> changes;  // for the page What if
  std::optional<std::filesystem::path> screenshot;
  std::optional<std::filesystem::path> state;
  std::optional<std::filesystem::path> draw_list;
  std::vector<view::ScriptLine> script;
  bool has_script = false;  // it may be empty
  int width = 1920;
  int height = 1080;
  bool dark = false;
  bool theme_given = false;
  std::string scale = "1";
  std::string language;  // "" = the user's
  std::chrono::milliseconds timeout{60'000};
  bool timeout_given = false;  // else it is counted anew whenever something more was read
  view::EventBudget memory;
  std::optional<TraceNs> from;  // of the visible range; nullopt = the run's begin
  std::optional<TraceNs> to;    // and its end

  // With an output or a script no window shows.
  [[nodiscard]] bool has_output() const { return screenshot || state || draw_list || has_script; }
};

// "60s", "500ms", "60" (seconds), up to a day.
[[nodiscard]] std::optional<std::chrono::milliseconds> read_time(std::string_view text);

// For how long a picture of these runs may make no progress, unless the user says it: a minute, and
// what reading so much may take on a slow disk and a busy machine.
[[nodiscard]] std::chrono::milliseconds usual_timeout(
    const std::vector<std::filesystem::path>& runs);

// "8G", "500M" (powers of 1024), of at least a mebibyte.
[[nodiscard]] std::optional<int64_t> read_bytes(std::string_view text);

// nullopt: help was printed, or a message; the process ends with `exit_code`.
[[nodiscard]] std::optional<Options> parse_options(int argc, char** argv, ExitCode& exit_code);

}  // namespace dprof::widgets
