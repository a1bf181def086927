// SPDX-License-Identifier: Apache-2.0
// Loads the library of its first argument; stays until its standard input ends. With a second
// argument, calls ncclAllReduce without a communicator: it fails, but only after its NVTX range.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int result = 0;
  if (argc > 2) {
    using AllReduce = int (*)(const void*, void*, size_t, int, int, void*, void*);
    const auto all_reduce = reinterpret_cast<AllReduce>(dlsym(library, "ncclAllReduce"));
    static char data[8192];
    constexpr int kFloat32 = 7;
    constexpr int kSum = 0;
    result = all_reduce(data, data + 4096, 1024, kFloat32, kSum, nullptr, nullptr);
  }
  printf("ready\n");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return result;
}
