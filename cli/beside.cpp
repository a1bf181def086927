// SPDX-License-Identifier: Apache-2.0
#include "cli/beside.h"

namespace dprof::cli {

std::filesystem::path program_folder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path();
}

std::filesystem::path library_folder() {
  std::filesystem::path folder = (program_folder() / "../lib").lexically_normal();
  std::error_code error;
  if (std::filesystem::exists(folder / "dprof/libdprof.so", error)) folder /= "dprof";
  return folder;
}

}  // namespace dprof::cli
