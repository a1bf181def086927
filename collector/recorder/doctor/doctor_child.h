// SPDX-License-Identifier: Apache-2.0
// Questions that only another process may try to answer: it may crash or hang.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace dprof::recorder {

inline constexpr std::chrono::seconds kChildPatience{20};

// What `ask` answers in a forked child. Fails when the child crashes or takes too long.
//
// Threading  call it while there is one thread.
Result<std::string> ask_child(const std::function<std::string()>& ask,
                              std::chrono::seconds patience = kChildPatience);

struct CommandAnswer {
  int code = 0;        // 128+N for signal N, 127 when it cannot be started
  std::string output;  // stdout
};
// Runs a command; its stderr is dropped.
Result<CommandAnswer> ask_command(const std::vector<std::string>& command,
                                  std::chrono::seconds patience = kChildPatience);

}  // namespace dprof::recorder
