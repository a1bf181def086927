// SPDX-License-Identifier: Apache-2.0
// Weak references to what only glibc has: jobs start programs of other C libraries too, and musl's
// loader ends a program for whose preloaded library a symbol is missing. There dprof does nothing.
#pragma once

#include <dlfcn.h>

extern "C" {

[[gnu::weak]] const char* gnu_get_libc_version() noexcept;

[[gnu::weak]] void* dlvsym(void* handle, const char* name, const char* version) noexcept;
[[gnu::weak]] int on_exit(void (*function)(int, void*), void* data) noexcept;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): glibc's names
// Called by pthread_atfork() and at_quick_exit(), which glibc links into the library itself.
[[gnu::weak]] int __register_atfork(void (*before)(), void (*parent)(), void (*child)(),
                                    void* library) noexcept;
[[gnu::weak]] int __cxa_at_quick_exit(void (*function)(void*), void* library) noexcept;
extern void* __dso_handle __attribute__((visibility("hidden")));
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

}  // extern "C"

namespace dprof::inject {

// All of them: a compatibility layer can have some.
inline bool is_glibc() noexcept {
  return gnu_get_libc_version != nullptr && dlvsym != nullptr && on_exit != nullptr &&
         __register_atfork != nullptr && __cxa_at_quick_exit != nullptr;
}

}  // namespace dprof::inject
