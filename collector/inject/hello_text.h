// SPDX-License-Identifier: Apache-2.0
// The texts of the hello: rank variables as the launcher left them, and the command line. The
// recorder decides what they mean.
//
// Threading  reads the environment: by the thread that starts the session.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collector/wire/hello.h"

namespace dprof::inject {

// "KEY=VALUE\0" entries in a buffer of fixed size; what does not fit is left out.
class HelloText {
 public:
  HelloText(char* buffer, size_t capacity) noexcept : buffer_(buffer), capacity_(capacity) {}

  void add(const char* key, const char* value) noexcept;
  void add_rank_variables() noexcept;  // those of every launcher that we know, where set
  void add_command_line() noexcept;
  void add_error(const char* what) noexcept { add("error", what); }

  [[nodiscard]] uint32_t bytes() const noexcept { return static_cast<uint32_t>(used_); }

 private:
  char* buffer_;
  size_t capacity_;
  size_t used_ = 0;
};

}  // namespace dprof::inject
