// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>

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
  std::string_view digits = text;
  int64_t factor = 1000;
  if (digits.ends_with("ms")) {
    digits.remove_suffix(2);
    factor = 1;
  } else if (digits.ends_with('s')) {
    digits.remove_suffix(1);
  }
  const std::optional<int64_t> value = read_number<int64_t>(digits);
  if (!value || *value <= 0 || *value > 86'400) {
    return fmt::format("'{}' is no time like 60s or 500ms", text);
  }
  options.timeout = std::chrono::milliseconds(*value * factor);
  return {};
}

std::string read_page(const std::string& text, Options& options) {
  options.page = view::page_of(text);
  if (options.page) return {};
  std::string words;
  for (const view::PageInfo& page : view::kPages)
    words += fmt::format("{}{}", words.empty() ? "" : ", ", page.word);
  return fmt::format("'{}' is no page: {}", text, words);
}

using Reader = std::string (*)(const std::string&, Options&);

// A validator that stores what it read.
CLI::Validator reading(Reader read, Options& options, const std::string& form) {
  return {[read, &options](std::string& text) { return read(text, options); }, form};
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, ExitCode& exit_code) {
  Options options;
  CLI::App app{"dprof-gui: the timeline of a recorded training run", "dprof-gui"};
  std::string size, steps, ranks, timeout, theme, page;
  app.add_option("RUN", options.runs, "run folder, or traces of one run");
  app.add_option("--screenshot", options.screenshot, "write a picture (PNG) and end");
  app.add_option("--size", size, "size of the window, 1920x1080")
      ->check(reading(read_size, options, "WxH"));
  app.add_option("--dump-state", options.state, "write what is shown as JSON and end");
  app.add_option("--dump-draw-list", options.draw_list,
                 "write the timeline's drawing commands as text and end");
  app.add_option("--select", options.selectors,
                 "select and show: rank:N, step:N, finding:N, row:RANK/TABLE/ID, range:T..T, "
                 "collective:COMMUNICATOR/FUNCTION/SEQUENCE (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--view", page,
                 "page to show: overview, timeline, heatmap, collectives; default: as the run is")
      ->check(reading(read_page, options, "PAGE"));
  app.add_option("--steps", steps, "only steps A to before B")
      ->check(reading(read_steps, options, "A:B"));
  app.add_option("--ranks", ranks, "only these ranks: 0,5")
      ->check(reading(read_ranks, options, "LIST"));
  app.add_option("--theme", theme, "light or dark; default: as the desktop")
      ->check(CLI::IsMember({"light", "dark"}));
  app.add_option("--scale", options.scale, "pixels per logical pixel: 1, 1.25, 2")
      ->check(CLI::IsMember({"1", "1.25", "1.5", "2"}));
  app.add_option("--timeout", timeout, "give up after this time (with an output), 60s")
      ->check(reading(read_timeout, options, "TIME"));
  app.footer("Keys are listed by ? in the window.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? ExitCode::kGood : ExitCode::kUsage;
    return std::nullopt;
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
