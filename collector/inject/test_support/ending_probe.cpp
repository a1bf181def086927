// SPDX-License-Identifier: Apache-2.0
// A program that ends, for shutdown_test.cpp:
//
//   ending_probe END PLACE:ACTION …
//
// END     return, thread (exit on another thread), both (two threads at once), _exit, quick_exit
// PLACE   main; late (in an exit handler that runs before ours), early (in one that runs after it)
// ACTION  cuda (cuInit, and a kernel that only a forced flush brings), fork (a child that exits),
//         dlclose (of libdprof.so and a library that records), die (the recorder: the test does it)
//
// Built with the collector linked in, and plain for LD_PRELOAD. The fake CUPTI ends the process
// with 97 if CUPTI's rules were broken or it was called after its own exit handler.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "collector/inject/cuda/cupti_abi.h"
#include "collector/inject/test_support/fake_cupti.h"
#include "collector/inject/test_support/nvtx_unit.h"

#ifdef DPROF_PROBE_LINKED
#include "collector/inject/cuda/cuda_source.h"
#include "collector/inject/nvtx/nvtx_injection.h"
#endif

// The helper reads names of loaded objects under the dynamic linker's lock (dl_iterate_phdr), which
// ThreadSanitizer does not know, while dlopen() adds an object.
extern "C" const char* tsan_suppressions() asm("__tsan_default_suppressions");
extern "C" const char* tsan_suppressions() { return "race:look_at_object\n"; }

namespace {

using namespace dprof::inject;

NvtxUnit unit;
std::vector<std::string> acts;

template <typename Function>
Function find(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

bool begin() {
#ifdef DPROF_PROBE_LINKED
  return unit.initialize(&nvtx::initialize, &nvtx::initialize_extension);
#else
  const auto door = find<InitializeNvtx>("InitializeInjectionNvtx2");
  const auto extension = find<InitializeExtension>("InitializeInjectionNvtxExtension");
  return door != nullptr && unit.initialize(door, extension);
#endif
}

void start_cuda() {
  // Never closed, because the driver keeps CUPTI open.
  void* library = dlopen(getenv("DPROF_CUPTI_LIBRARY"), RTLD_NOW);
  const auto control = [library](const char* name) { return dlsym(library, name); };
#ifdef DPROF_PROBE_LINKED
  on_cuda_start();
#else
  find<int (*)()>("InitializeInjection")();
#endif
  reinterpret_cast<FakeHold>(control("fake_cupti_hold"))(1);
  cupti::Kernel record{};
  record.kind = cupti::ActivityKind::kConcurrentKernel;
  record.start = record.end = reinterpret_cast<FakeTime>(control("fake_cupti_time"))();
  record.name = "last words";
  reinterpret_cast<FakeAdd>(control("fake_cupti_add"))(&record, sizeof record);
}

void have_child() {
  const pid_t child = fork();
  if (child == 0) {
    acts.clear();
    exit(0);  // through the inherited handlers
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) _exit(96);
}

void close_libraries() {
  const char* preload = getenv("LD_PRELOAD");
  for (const char* path : {preload, static_cast<const char*>("libm.so.6")}) {
    void* library = path != nullptr ? dlopen(path, RTLD_NOW) : nullptr;
    if (library == nullptr) continue;
    dlclose(library);
  }
}

void meet_test() {
  printf("die\n");
  fflush(stdout);
  char line[16];
  if (fgets(line, sizeof line, stdin) == nullptr) _exit(95);
}

void act(const char* place) {
  unit.push(place);
  unit.pop();
  for (const std::string& one : acts) {
    if (one.rfind(place, 0) != 0) continue;
    const std::string what = one.substr(strlen(place) + 1);
    if (what == "cuda") start_cuda();
    if (what == "fork") have_child();
    if (what == "dlclose") close_libraries();
    if (what == "die") meet_test();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  const std::string end = argv[1];
  acts.assign(argv + 2, argv + argc);
  atexit([] { act("early"); });
  if (!begin()) return 98;
  atexit([] { act("late"); });
  act("main");
  if (end == "thread") std::thread([] { exit(0); }).join();
  if (end == "both") {
    std::thread([] { _exit(0); }).detach();
    exit(0);
  }
  if (end == "_exit") _exit(0);
  if (end == "quick_exit") quick_exit(0);
  return 0;
}
