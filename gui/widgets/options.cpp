// SPDX-License-Identifier: Apache-2.0
// untranslated file: what a command line and its log say is English
#include "gui/widgets/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <QtGlobal>
#include <charconv>
#include <fstream>
#include <iostream>
#include <sstream>

#include "gui/view/model/selection.h"

namespace dprof::widgets {
namespace {

template <typename Number>
std::optional<Number> read_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Splits "A<separator>B" into two numbers.
template <typename Number>
std::optional<std::pair<Number, Number>> read_pair(std::string_view text, char separator) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const std::optional<Number> first = read_number<Number>(text.substr(0, at));
  const std::optional<Number> second = read_number<Number>(text.substr(at + 1));
  if (!first || !second) return std::nullopt;
  return std::pair{*first, *second};
}

std::string read_size(const std::string& text, Options& options) {
  constexpr int kLeast = 320;
  constexpr int kMost = 16'384;
  const auto size = read_pair<int>(text, 'x');
  if (!size || std::min(size->first, size->second) < kLeast ||
      std::max(size->first, size->second) > kMost) {
    return fmt::format("'{}' is no size like 1920x1080 ({} to {} each)", text, kLeast, kMost);
  }
  std::tie(options.width, options.height) = *size;
  return {};
}

std::string read_steps(const std::string& text, Options& options) {
  const auto steps = read_pair<int64_t>(text, ':');
  if (!steps || steps->first < 0 || steps->second <= steps->first) {
    return fmt::format("'{}' is no half-open range of steps like 40:60", text);
  }
  options.analysis.steps = steps;
  return {};
}

std::string read_ranks(const std::string& text, Options& options) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::optional<int> rank = read_number<int>(rest.substr(0, comma));
    if (!rank || *rank < 0) return fmt::format("'{}' is no list of ranks like 0,5", text);
    options.analysis.ranks.push_back(*rank);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return options.analysis.ranks.empty() ? "an empty list of ranks" : std::string();
}

std::string read_timeout(const std::string& text, Options& options) {
  const auto time = read_time(text);
  if (!time) return fmt::format("'{}' is no time like 60s or 500ms", text);
  options.timeout = *time;
  return {};
}

std::string read_memory(const std::string& text, Options& options) {
  const auto bytes = read_bytes(text);
  if (!bytes) return fmt::format("'{}' is no size like 8G or 500M", text);
  options.memory.bytes = *bytes;
  return {};
}

std::string read_from(const std::string& text, Options& options) {
  options.from = view::read_moment(text);
  return options.from ? "" : fmt::format("'{}' is no moment like 1.5s or 20ms", text);
}

std::string read_to(const std::string& text, Options& options) {
  options.to = view::read_moment(text);
  return options.to ? "" : fmt::format("'{}' is no moment like 1.5s or 20ms", text);
}

std::string read_script(const std::string& path, Options& options) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return fmt::format("{} cannot be read", path);
  Result<std::vector<view::ScriptLine>> script = view::parse_script(text.str());
  if (!script.ok()) return fmt::format("{}, {}", path, script.error().what);
  options.script = std::move(*script);
  options.has_script = true;
  return {};
}

// The words of pages and docks, for --view.
std::string view_words() {
  std::string words;
  for (const view::PageInfo& page : view::kPages) words += fmt::format("{}, ", page.word);
  for (const view::DockInfo& dock : view::kDocks) words += fmt::format("{}, ", dock.word);
  return words + "tracks";
}

std::string read_view(const std::string& text, Options& options) {
  const std::optional<view::Page> page = view::page_of(text);
  const std::optional<view::Dock> dock = view::dock_of(text);
  if (page) options.page = page;
  if (dock) options.dock = dock;
  if (page || dock) return {};
  return fmt::format("'{}' is neither page nor dock: {}", text, view_words());
}

std::string read_change(const std::string& text, Options& options) {
  const Result<analyzer::Change> change = analyzer::parse_change(text);
  if (!change.ok()) return change.error().what + "; " + change.error().hint;
  options.changes.push_back(text);
  return {};
}

using Reader = std::string (*)(const std::string&, Options&);

// A validator that stores what it read.
CLI::Validator reading(Reader read, Options& options, const std::string& form) {
  return {[read, &options](std::string& text) { return read(text, options); }, form};
}

}  // namespace

std::optional<std::chrono::milliseconds> read_time(std::string_view text) {
  constexpr int64_t kMostSeconds = 86'400;
  int64_t factor = 1000;
  if (text.ends_with("ms")) {
    text.remove_suffix(2);
    factor = 1;
  } else if (text.ends_with('s')) {
    text.remove_suffix(1);
  }
  const std::optional<int64_t> value = read_number<int64_t>(text);
  if (!value || *value <= 0 || *value > kMostSeconds) return std::nullopt;
  return std::chrono::milliseconds(*value * factor);
}

std::chrono::milliseconds usual_timeout(const std::vector<std::filesystem::path>& runs) {
  constexpr std::chrono::milliseconds kLeast{60'000};
  constexpr int64_t kBytesPerMs = 2'000;  // a tenth of what was measured
  int64_t bytes = 0;
  std::error_code unknown;
  const auto add = [&](const std::filesystem::path& file) {
    const auto size = std::filesystem::file_size(file, unknown);
    if (!unknown) bytes += static_cast<int64_t>(size);
  };
  for (const std::filesystem::path& run : runs) {
    if (!std::filesystem::is_directory(run, unknown)) {
      add(run);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(run, unknown)) {
      if (entry.path().extension() == ".dprof") add(entry.path());
    }
  }
  return kLeast + std::chrono::milliseconds(bytes / kBytesPerMs);
}

std::optional<int64_t> read_bytes(std::string_view text) {
  constexpr int64_t kLeast = int64_t{1} << 20;
  constexpr int64_t kMost = int64_t{1} << 50;
  if (text.empty()) return std::nullopt;
  const std::string_view units = "KMGT";
  const size_t unit = units.find(text.back());
  if (unit == std::string_view::npos) return std::nullopt;
  text.remove_suffix(1);
  const std::optional<int64_t> value = read_number<int64_t>(text);
  const int shift = 10 * (static_cast<int>(unit) + 1);
  if (!value || *value <= 0 || *value > kMost >> shift) return std::nullopt;
  const int64_t bytes = *value << shift;
  return bytes < kLeast ? std::nullopt : std::optional(bytes);
}

std::optional<Options> parse_options(int argc, char** argv, ExitCode& exit_code) {
  Options options;
  CLI::App app{"dprof-gui: the timeline of a recorded training run", "dprof-gui"};
  std::string size, steps, ranks, timeout, theme, script, memory, from, to;
  std::vector<std::string> views, changes;
  app.add_option("RUN", options.runs, "run folder, or traces of one run");
  app.add_option("--screenshot", options.screenshot,
                 "write a picture (.png, .svg or .pdf) and exit");
  app.add_option("--size", size, "size of the window, 1920x1080")
      ->check(reading(read_size, options, "WxH"));
  app.add_option("--dump-state", options.state, "write what is shown as JSON and exit");
  app.add_option("--dump-draw-list", options.draw_list,
                 "write the timeline's drawing commands as text and exit");
  app.add_option("--compare", options.compare, "another run, for the page compare");
  app.add_option("--restore", options.restore, "restore a saved view (dprofview.json)");
  app.add_option("--script", script, "run the commands in FILE, then exit (docs/gui.md)")
      ->check(reading(read_script, options, "FILE"));
  app.add_option(
         "--select", options.selectors,
         "select and show: rank:N, rank:N/stream:M, step:N, steps:N..N, finding:N, row:RANK/TABLE/ID, "
         "range:T..T, collective:COMMUNICATOR/FUNCTION/SEQUENCE, name:PATTERN (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--view", views,
                 "page or dock to show (repeatable), default: chosen by the run: " + view_words())
      ->allow_extra_args(false)
      ->check(reading(read_view, options, "VIEW"));
  app.add_flag("--path", options.path, "show the critical path over the timeline");
  app.add_option(
         "--what-if", changes,
         "initial questions of the what-if page: input=0, rank:3=peers, … as of dprof report "
         "(repeatable)")
      ->allow_extra_args(false)
      ->check(reading(read_change, options, "CHANGE"));
  app.add_option("--steps", steps, "only steps A to B, B excluded")
      ->check(reading(read_steps, options, "A:B"));
  app.add_option("--ranks", ranks, "only these ranks: 0,5")
      ->check(reading(read_ranks, options, "LIST"));
  app.add_option("--from", from, "start of the visible range: 1.5s")
      ->check(reading(read_from, options, "TIME"));
  app.add_option("--to", to, "end of the visible range")->check(reading(read_to, options, "TIME"));
  app.add_option("--memory", memory,
                 "memory limit for events; beyond it, ranks out of view are not loaded: 4G")
      ->check(reading(read_memory, options, "SIZE"));
  app.add_option("--theme", theme, "light or dark; default: as the desktop")
      ->check(CLI::IsMember({"light", "dark"}));
  app.add_option(
      "--language", options.language,
      "show texts in this language (XX, or a file dprof_XX.ts); default: the user's, English with an output");
  app.add_option("--scale", options.scale, "pixels per logical pixel: 1, 1.25, 2")
      ->check(CLI::IsMember({"1", "1.25", "1.5", "2"}));
  app.add_option(
         "--timeout", timeout,
         "give up after this time (with an output): 90s; default: after a minute without progress, and more for large runs")
      ->check(reading(read_timeout, options, "TIME"));
  app.set_version_flag("--version", fmt::format("dprof-gui {} (Qt {})", DPROF_VERSION, qVersion()));
  app.footer("Keys are listed by ? in the window.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? ExitCode::kGood : ExitCode::kUsage;
    return std::nullopt;
  }
  options.timeout_given = !timeout.empty();
  if (timeout.empty()) {
    std::vector<std::filesystem::path> runs = options.runs;
    if (!options.compare.empty()) runs.push_back(options.compare);
    options.timeout = usual_timeout(runs);
  }
  options.dark = theme == "dark";
  options.theme_given = !theme.empty();
  if (options.has_output() && options.runs.empty()) {
    std::cerr << "dprof-gui: an output needs a RUN\nhint: dprof-gui RUN --screenshot FILE.png\n";
    exit_code = ExitCode::kUsage;
    return std::nullopt;
  }
  return options;
}

}  // namespace dprof::widgets
