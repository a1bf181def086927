// SPDX-License-Identifier: Apache-2.0
// For tests: limits the link of its host to RATE_MBIT (0: no limit) with DELAY_MS and LOSS, prints
// "applied", and lifts the limit at the end of stdin. Exit code 2 with the reason if it is refused.
#include <cstdio>
#include <cstdlib>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/faults/slow_link.h"

int main(int count, char** arguments) {
  using namespace dprof::trainer_harness;
  if (count != 4) return 1;
  try {
    LinkLimit limit{.delay_ms = std::atof(arguments[2]), .loss = std::atof(arguments[3])};
    if (const double rate = std::atof(arguments[1]); rate > 0) limit.rate_mbit = rate;
    SlowLink link;
    link.apply(limit);
    std::puts("applied");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    link.lift();
    std::puts("lifted");
    std::fflush(stdout);
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
