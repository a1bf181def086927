// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace dprof::cli {
namespace {

constexpr int kDefaultWidth = 100;

}  // namespace

Console::Console()
    : out_(stdout),
      err_(stderr),
      out_is_terminal_(isatty(STDOUT_FILENO) == 1),
      error_is_terminal_(isatty(STDERR_FILENO) == 1) {
  const char* no_colour = std::getenv("NO_COLOR");
  colour_ = out_is_terminal_ && (no_colour == nullptr || *no_colour == '\0');
}

void Console::print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

void Console::print_error(std::string_view text) { std::fwrite(text.data(), 1, text.size(), err_); }

void Console::message(std::string_view line) { fmt::print(err_, "dprof: {}\n", line); }

void Console::error(const Error& error) {
  const std::string_view red = error_is_terminal_ && colour_ ? "\x1b[31m" : "";
  const std::string_view plain = red.empty() ? "" : "\x1b[0m";
  fmt::print(err_, "{}dprof:{} {}\n", red, plain, error.what);
  if (!error.hint.empty()) fmt::print(err_, "hint: {}\n", error.hint);
}

int Console::width() const {
  winsize size{};
  if (!out_is_terminal_ || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return kDefaultWidth;
  }
  return size.ws_col;
}

}  // namespace dprof::cli
