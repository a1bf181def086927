// SPDX-License-Identifier: Apache-2.0
// What glibc 2.32 and 2.33 brought, and dprof uses.
#include <dlfcn.h>
#include <malloc.h>
#include <signal.h>

extern "C" {

extern const char* const sys_sigabbrev[];

const char* sigabbrev_np(int number) noexcept {
  return number > 0 && number < NSIG ? sys_sigabbrev[number] : nullptr;
}

struct mallinfo2 mallinfo2() noexcept {
  using Function = struct mallinfo2 (*)();
  if (const auto glibc = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "mallinfo2"))) return glibc();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo old = mallinfo();  // what does not fit into 32 bits is cut
#pragma GCC diagnostic pop
  const auto wide = [](int value) { return static_cast<size_t>(static_cast<unsigned>(value)); };
  return {wide(old.arena),    wide(old.ordblks), wide(old.smblks),  wide(old.hblks),
          wide(old.hblkhd),   wide(old.usmblks), wide(old.fsmblks), wide(old.uordblks),
          wide(old.fordblks), wide(old.keepcost)};
}

}  // extern "C"
