// SPDX-License-Identifier: Apache-2.0
// Stands in for a LibTorch of another release: its file name, its build id (set by the linker) and
// the function that returns its version.
#include <cstdint>

extern "C" __attribute__((visibility("default"))) uint64_t aoti_torch_abi_version() {
  return uint64_t{2} << 56 | uint64_t{12} << 48 | uint64_t{3} << 40;
}
