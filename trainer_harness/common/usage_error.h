// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace dprof::trainer_harness {

// Something on the command line or in the environment that makes no sense. `what()` has a line and,
// where one helps, a second line that begins with "hint:".
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dprof::trainer_harness
