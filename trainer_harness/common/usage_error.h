// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace dprof::trainer_harness {

// An invalid command line or environment. `what()` has one line and, where useful, a second one
// that begins with "hint:".
class UsageError : public std::runtime_error {
 public:
  static constexpr int kExitCode = 2;  // of errors that no restart can fix

  using std::runtime_error::runtime_error;
};

}  // namespace dprof::trainer_harness
