// SPDX-License-Identifier: Apache-2.0
// Stands in for libdprof_torch.so and its probe target: does what FAKE_TORCH_PROBE says.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" __attribute__((visibility("default"))) int dprof_torch_probe(char* sentence,
                                                                        size_t bytes, unsigned) {
  const char* variable = getenv("FAKE_TORCH_PROBE");
  const std::string_view act = variable != nullptr ? variable : "";
  snprintf(sentence, bytes, "its numel");
  if (act == "crash") {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would turn it into an ordinary exit
    raise(SIGSEGV);
  }
  while (act == "hang") pause();
  if (act == "fits") return 0;
  snprintf(sentence, bytes, "its numel is elsewhere");
  return 1;
}
