// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

#include "base/exit_code.h"

namespace dprof::base {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr,
               "dprof: internal error: %s does not hold (%s:%d)\n"
               "hint: please report this with the command line\n",
               condition, file, line);
  std::_Exit(static_cast<int>(ExitCode::kInternal));
}

}  // namespace dprof::base
