// SPDX-License-Identifier: Apache-2.0
// What glibc 2.30 and 2.32 brought, and libstdc++ uses.
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

extern "C" {

// Whether the process is known to have one thread only: never, so that counts stay atomic.
char __libc_single_threaded = 0;

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  using Function = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  static const auto glibc = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_cond_clockwait"));
  if (glibc != nullptr) return glibc(condition, mutex, clock, until);
  // As libstdc++ did before: by the clock of the day, so a change of it is waited along.
  constexpr long kSecond = 1'000'000'000;
  timespec now{}, day{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &day);
  day.tv_sec += until->tv_sec - now.tv_sec;
  day.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (day.tv_nsec < 0) {
    day.tv_nsec += kSecond;
    --day.tv_sec;
  } else if (day.tv_nsec >= kSecond) {
    day.tv_nsec -= kSecond;
    ++day.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &day);
}

}  // extern "C"
