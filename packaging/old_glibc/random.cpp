// SPDX-License-Identifier: Apache-2.0
// What glibc 2.36 brought, and std::random_device uses.
#include <stdlib.h>
#include <sys/random.h>

extern "C" unsigned int arc4random() noexcept {
  unsigned int number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) abort();
  return number;
}
