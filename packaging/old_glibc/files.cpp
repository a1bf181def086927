// SPDX-License-Identifier: Apache-2.0
// stat and its kin, which before glibc 2.33 were inline functions over others, and what 2.34
// brought.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" {

int __xstat(int version, const char* path, struct stat* out) noexcept;
int __lxstat(int version, const char* path, struct stat* out) noexcept;
int __fxstat(int version, int file, struct stat* out) noexcept;
int __fxstatat(int version, int folder, const char* path, struct stat* out, int flags) noexcept;

}  // extern "C"

namespace {

#ifdef __x86_64__
constexpr int kVersion = 1;
#else
constexpr int kVersion = 0;
#endif

struct stat* plain(struct stat64* out) {
  return reinterpret_cast<struct stat*>(out);
}
static_assert(sizeof(struct stat) == sizeof(struct stat64));

}  // namespace

extern "C" {

int stat(const char* path, struct stat* out) noexcept { return __xstat(kVersion, path, out); }
int lstat(const char* path, struct stat* out) noexcept { return __lxstat(kVersion, path, out); }
int fstat(int file, struct stat* out) noexcept { return __fxstat(kVersion, file, out); }
int fstatat(int folder, const char* path, struct stat* out, int flags) noexcept {
  return __fxstatat(kVersion, folder, path, out, flags);
}
int stat64(const char* path, struct stat64* out) noexcept { return stat(path, plain(out)); }
int lstat64(const char* path, struct stat64* out) noexcept { return lstat(path, plain(out)); }
int fstat64(int file, struct stat64* out) noexcept { return fstat(file, plain(out)); }
int fstatat64(int folder, const char* path, struct stat64* out, int flags) noexcept {
  return fstatat(folder, path, plain(out), flags);
}

int close_range(unsigned int from, unsigned int to, int flags) noexcept {
  return static_cast<int>(syscall(SYS_close_range, from, to, flags));
}

}  // extern "C"
