// SPDX-License-Identifier: Apache-2.0
// Questions to be answered in another process, because the attempt can crash or hang.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace dprof::recorder {

inline constexpr std::chrono::seconds kChildPatience{20};

// The answer of `ask`, run in a forked child. Fails if the child crashes or takes too long.
//
// Threading  call it while there is one thread.
Result<std::string> ask_child(const std::function<std::string()>& ask,
                              std::chrono::seconds patience = kChildPatience);

struct CommandAnswer {
  int code = 0;        // 128+N for signal N, 127 if it cannot be started
  std::string output;  // stdout
};
// Runs a command; its stderr is dropped.
Result<CommandAnswer> ask_command(const std::vector<std::string>& command,
                                  std::chrono::seconds patience = kChildPatience);

}  // namespace dprof::recorder
