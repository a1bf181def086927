// SPDX-License-Identifier: Apache-2.0
// The exit codes that scripts can rely on (docs/design/architecture.md).
#pragma once

#include "base/result.h"

namespace dprof {

enum class ExitCode : int {
  kGood = 0,
  kCheckFailed = 1,
  kUsage = 2,
  kUnreadable = 3,
  kInconclusive = 4,
  kSomethingLost = 5,
  kInternal = 125,
};

[[nodiscard]] constexpr ExitCode exit_code_of(Code code) {
  switch (code) {
    case Code::kUsage:
      return ExitCode::kUsage;
    case Code::kNotFound:
    case Code::kNotATrace:
    case Code::kTraceTooNew:
    case Code::kDamaged:
      return ExitCode::kUnreadable;
    case Code::kIo:
    case Code::kNoMemory:
    case Code::kUnsupported:
    case Code::kInternal:
      break;
  }
  return ExitCode::kInternal;
}

}  // namespace dprof
