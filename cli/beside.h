// SPDX-License-Identifier: Apache-2.0
// What stands beside the dprof program.
#pragma once

#include <filesystem>

namespace dprof::cli {

// The folder of the running program; "" where /proc cannot tell.
[[nodiscard]] std::filesystem::path program_folder();

// The folder of libdprof.so and its like: ../lib, or ../lib/dprof, where a distribution puts it.
[[nodiscard]] std::filesystem::path library_folder();

}  // namespace dprof::cli
