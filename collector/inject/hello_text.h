// SPDX-License-Identifier: Apache-2.0
// The texts of the hello: the launcher's rank variables, unchanged, and the command line. The
// recorder interprets them.
//
// Threading  reads the environment: only on the thread that starts the session.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collector/wire/hello.h"

namespace dprof::inject {

// "KEY=VALUE\0" entries in a buffer of fixed size; entries that do not fit are left out.
class HelloText {
 public:
  HelloText(char* buffer, size_t capacity) noexcept : buffer_(buffer), capacity_(capacity) {}

  void add(const char* key, const char* value) noexcept;
  void add_rank_variables() noexcept;  // of every known launcher, where set
  void add_command_line() noexcept;
  void add_error(const char* what) noexcept { add("error", what); }

  [[nodiscard]] uint32_t bytes() const noexcept { return static_cast<uint32_t>(used_); }

 private:
  char* buffer_;
  size_t capacity_;
  size_t used_ = 0;
};

}  // namespace dprof::inject
