// SPDX-License-Identifier: Apache-2.0
// What a command says: results to stdout, messages to stderr, colour only where a person looks.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dprof::cli {

// Threading  one thread.
class Console {
 public:
  // Of this process's stdout and stderr.
  Console();
  // Of any two streams, without colour, for tests.
  Console(std::FILE* out, std::FILE* err) : out_(out), err_(err) {}

  void print(std::string_view text);        // to stdout, as it is
  void print_error(std::string_view text);  // the same to stderr
  void message(std::string_view line);      // to stderr: "dprof: LINE"
  void error(const Error& error);           // "dprof: WHAT", then "hint: …"

  [[nodiscard]] bool error_is_terminal() const { return error_is_terminal_; }
  // A terminal, and NO_COLOR is not set.
  [[nodiscard]] bool colour() const { return colour_; }
  // Of the terminal; 100 where there is none.
  [[nodiscard]] int width() const;

 private:
  std::FILE* out_;
  std::FILE* err_;
  bool out_is_terminal_ = false;
  bool error_is_terminal_ = false;
  bool colour_ = false;
};

}  // namespace dprof::cli
