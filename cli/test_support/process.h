// SPDX-License-Identifier: Apache-2.0
// Runs the dprof program in tests, as a user would.
#pragma once

#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/running.h"

namespace dprof::cli {

using test_support::Ended;
using test_support::Running;
using test_support::TemporaryFolder;
using test_support::text_of;

inline const std::string kDprof = test_support::bin_dir() + "/dprof";

inline Ended run_dprof(const TemporaryFolder& scratch, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), kDprof);
  return test_support::run(scratch, arguments);
}

}  // namespace dprof::cli
