// SPDX-License-Identifier: Apache-2.0
// Files that are installed beside the dprof program.
#pragma once

#include <filesystem>

namespace dprof::cli {

// The folder of the running program; "" if /proc does not show it.
[[nodiscard]] std::filesystem::path program_folder();

// The folder of libdprof.so and the other libraries: ../lib, or ../lib/dprof, where distributions
// put it.
[[nodiscard]] std::filesystem::path library_folder();

}  // namespace dprof::cli
