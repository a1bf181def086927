// SPDX-License-Identifier: Apache-2.0
// For tests: options as the command line gives them.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// Throws what parsing throws.
inline Options parsed(std::vector<std::string> arguments) {
  CLI::App app("", "dprof-trainer");
  Options options;
  declare_options(app, options);
  std::ranges::reverse(arguments);  // as CLI11 wants them
  app.parse(std::move(arguments));
  return options;
}

}  // namespace dprof::trainer_harness
