// SPDX-License-Identifier: Apache-2.0
// For tests: parses options as from the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// Throws CLI11's exceptions and UsageError.
inline Options parsed(std::vector<std::string> arguments) {
  CLI::App app("", "dprof-trainer");
  Options options;
  declare_options(app, options);
  std::ranges::reverse(arguments);  // CLI11 takes them in reverse
  app.parse(std::move(arguments));
  return options;
}

}  // namespace dprof::trainer_harness
