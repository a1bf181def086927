// SPDX-License-Identifier: Apache-2.0
// The current stacks of a Python process's threads: written to a file by Python's own faulthandler,
// which the library in the process has registered on a spare signal
// (collector/inject/python_stacks.h).
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "collector/recorder/hang/native_stacks.h"

namespace dprof::recorder {

// Names are empty if Python gives none.
struct PythonStacks {
  std::vector<ThreadStack> threads;  // by `pthread`; numbers and names are not known
  std::string problem;               // "" = none
  bool is_python = false;            // or was not ready for it
};

// Sends the signal only if the process has both the handler and the file open, and waits for the
// output.
[[nodiscard]] PythonStacks take_python_stacks(int pid, const std::filesystem::path& file,
                                              std::chrono::milliseconds patience);

// Parses the text of faulthandler.
[[nodiscard]] std::vector<ThreadStack> parse_faulthandler(std::string_view text);

}  // namespace dprof::recorder
