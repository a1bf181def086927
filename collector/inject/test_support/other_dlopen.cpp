// SPDX-License-Identifier: Apache-2.0
// Another tool's wrapper of dlopen: says that it was called.
#include <dlfcn.h>

#include <cstdio>

extern "C" __attribute__((visibility("default"))) void* dlopen(const char* file,
                                                               int mode) noexcept {
  if (file != nullptr) {
    printf("the other was asked\n");
    fflush(stdout);
  }
  return reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"))(file, mode);
}
