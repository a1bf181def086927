// SPDX-License-Identifier: Apache-2.0
// Fuzz target: an export of Nsight Systems from its first byte to a finished run folder.
// nsys_fuzz_test.cpp also calls it with bounded random input.
#include "tests/fuzz/import_input.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return dprof::fuzz::import_input(data, size, [](const auto& run, const auto& summary) {
    for (const auto& file : summary.files)
      if (file.format == "nsys") dprof::fuzz::check_losses(run, file);
  });
}
