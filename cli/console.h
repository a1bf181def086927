// SPDX-License-Identifier: Apache-2.0
// A command's output: results to stdout, messages to stderr, colour only on a terminal.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dprof::cli {

// Threading  one thread.
class Console {
 public:
  // For this process's stdout and stderr.
  Console();
  // For any two streams, without colour, for tests.
  Console(std::FILE* out, std::FILE* err) : out_(out), err_(err) {}

  void print(std::string_view text);        // to stdout, unchanged
  void print_error(std::string_view text);  // to stderr, unchanged
  void message(std::string_view line);      // to stderr: "dprof: LINE"
  void error(const Error& error);           // "dprof: WHAT", then "hint: …"

  [[nodiscard]] bool error_is_terminal() const { return error_is_terminal_; }
  // A terminal, and NO_COLOR is not set.
  [[nodiscard]] bool colour() const { return colour_; }
  // Of the terminal; 100 without one.
  [[nodiscard]] int width() const;

 private:
  std::FILE* out_;
  std::FILE* err_;
  bool out_is_terminal_ = false;
  bool error_is_terminal_ = false;
  bool colour_ = false;
};

}  // namespace dprof::cli
