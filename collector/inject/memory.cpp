// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace dprof::inject {
namespace {

SharedMemory failed(SharedMemory memory, const char* what, int error) noexcept {
  if (memory.mapping.base != nullptr) munmap(memory.mapping.base, wire::kTotalBytes);
  if (memory.descriptor >= 0) close(memory.descriptor);
  return {{}, -1, error != 0 ? error : EINVAL, what};
}

}  // namespace

SharedMemory create_shared_memory() noexcept {
  SharedMemory memory;
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < wire::kTotalBytes) {
    return failed(memory, "RLIMIT_FSIZE", EFBIG);
  }
  memory.descriptor = memfd_create("dprof", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory.descriptor < 0) return failed(memory, "memfd_create", errno);
  if (ftruncate(memory.descriptor, static_cast<off_t>(wire::kTotalBytes)) != 0) {
    return failed(memory, "ftruncate", errno);
  }
  if (fcntl(memory.descriptor, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    return failed(memory, "F_ADD_SEALS", errno);
  }
  void* base = mmap(nullptr, wire::kTotalBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                    memory.descriptor, 0);
  if (base == MAP_FAILED) return failed(memory, "mmap", errno);
  memory.mapping.base = static_cast<unsigned char*>(base);
  if (!populate(memory.mapping, 0, wire::kArenaOffset)) return failed(memory, "populate", errno);
  return memory;
}

bool populate(const wire::Mapping& mapping, uint64_t offset, uint64_t bytes) noexcept {
  const int kept = errno;
  if (madvise(mapping.base + offset, bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
  errno = kept;
  return true;
}

}  // namespace dprof::inject
