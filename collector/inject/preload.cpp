// SPDX-License-Identifier: Apache-2.0
// The LD_PRELOAD part: the constructor, a wrapped dlopen (`import torch` calls it, and in a
// CPU-only Python job that is the only sign of torch), and _exit/_Exit, which run no exit handler.
//
// glibc searches the RUNPATH of the object that *calls* dlopen, found by the return address. So the
// wrapper must end in a tail call: this file is compiled with -O2 in every build, and a test loads
// a library through its caller's $ORIGIN.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "collector/inject/c_library.h"
#include "collector/inject/environment.h"
#include "collector/inject/export.h"
#include "collector/inject/session.h"
#include "collector/inject/shutdown.h"
#include "collector/inject/torch_gate.h"
#include "collector/wire/hello.h"

namespace dprof::inject {
namespace {

using Dlopen = void* (*)(const char*, int);
using Exit = void (*)(int);

template <typename Function>
Function next(const char* name) noexcept {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

constinit std::atomic<Dlopen> real_dlopen = nullptr;
constinit std::atomic<Exit> real_exit = nullptr;

// Nsight Compute also preloads wrappers of dlopen, which give the program another libcuda. Called
// from another library's wrapper they fail: the program's dlsym of cuInit finds nothing (ncu
// 2025.3). So our wrapper calls the C library's dlopen directly; theirs have already run.
bool is_of_nsight_compute(Dlopen function) noexcept {
  Dl_info where{};
  if (function == nullptr || dladdr(reinterpret_cast<void*>(function), &where) == 0) return false;
  const char* file = where.dli_fname;
  return file != nullptr && (strstr(file, "nsight-compute") != nullptr ||
                             strstr(file, "libcuda-injection") != nullptr ||
                             strstr(file, "libInterceptorInjection") != nullptr ||
                             strstr(file, "libTreeLauncher") != nullptr);
}

Dlopen next_dlopen() noexcept {
  const auto found = next<Dlopen>("dlopen");
  if (!is_of_nsight_compute(found)) return found;
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5"}) {  // since it is in libc; before
    if (void* own = dlvsym(RTLD_NEXT, "dlopen", version)) return reinterpret_cast<Dlopen>(own);
  }
  return found;
}

// The wrapped function, looked up at its first call if that precedes our constructor.
[[gnu::noinline]] Dlopen before_dlopen(const char* file) noexcept {
  Dlopen real = real_dlopen.load(std::memory_order_acquire);
  if (real == nullptr) {
    real = next_dlopen();
    real_dlopen.store(real, std::memory_order_release);
  }
  if (file != nullptr && (strstr(file, "libtorch") != nullptr || strstr(file, "torch/_C."))) {
    start_session();
  }
  return real;
}

[[noreturn]] void leave(int status) noexcept {
  mark_clean_end(status);
  if (const Exit real = real_exit.load(std::memory_order_acquire)) real(status);
  for (;;) syscall(SYS_exit_group, status);
}

// Reads the environment, and starts only what records from the program's first instruction on.
[[gnu::constructor]] void on_load() noexcept {
  if (real_dlopen.load(std::memory_order_acquire) == nullptr) {
    real_dlopen.store(next_dlopen(), std::memory_order_release);
  }
  real_exit.store(next<Exit>("_exit"), std::memory_order_release);
  note_own_environment();
  if (noted_variable(wire::kSocketVariable) != nullptr && torch_is_mapped()) start_session();
}

}  // namespace
}  // namespace dprof::inject

DPROF_EXPORT void* dlopen(const char* file, int mode) noexcept {
  return dprof::inject::before_dlopen(file)(file, mode);
}

DPROF_EXPORT __attribute__((noreturn)) void _exit(int status) { dprof::inject::leave(status); }

DPROF_EXPORT __attribute__((noreturn)) void _Exit(int status) noexcept {
  dprof::inject::leave(status);
}
