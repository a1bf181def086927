// SPDX-License-Identifier: Apache-2.0
#include "tests/support/paths.h"

namespace dprof::test_support {

std::string source_dir() { return DPROF_SOURCE_DIR; }
std::string bin_dir() { return DPROF_BIN_DIR; }
std::string lib_dir() { return DPROF_LIB_DIR; }
std::string test_bin_dir() { return DPROF_TEST_BIN_DIR; }

}  // namespace dprof::test_support
