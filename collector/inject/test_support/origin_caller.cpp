// SPDX-License-Identifier: Apache-2.0
// Loads a library that only the RUNPATH of *this* object ($ORIGIN/inner) finds.
#include <dlfcn.h>

extern "C" __attribute__((visibility("default"))) int load_through_own_runpath() {
  return dlopen("libdprof_test_inner.so", RTLD_NOW) != nullptr ? 0 : 1;
}
