// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/common/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace dprof::recorder {

Result<SharedMemory> SharedMemory::map(int memory_fd) {
  // Without the seal the process could shrink the file, and reading it would end the recorder.
  const int seals = fcntl(memory_fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return fail(Code::kDamaged, "the process's shared memory is not sealed");
  }
  struct stat file {};
  if (fstat(memory_fd, &file) != 0 || static_cast<uint64_t>(file.st_size) < wire::kTotalBytes) {
    return fail(Code::kDamaged, "the process's shared memory is too small");
  }
  void* base = mmap(nullptr, wire::kTotalBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
  if (base == MAP_FAILED) {
    return fail(Code::kNoMemory,
                fmt::format("cannot map a process's shared memory: {}", std::strerror(errno)),
                "raise RLIMIT_AS (ulimit -v) for dprof record");
  }
  SharedMemory memory(wire::Mapping{static_cast<unsigned char*>(base)});
  const wire::Header& header = *memory.mapping_.header();
  const bool as_ours =
      header.magic == wire::kMagic && header.wire_version == wire::kWireVersion &&
      header.max_rings == wire::kMaxRings && header.ring_slots == wire::kRingSlots &&
      header.arena_bytes == wire::kArenaBytes && header.total_bytes == wire::kTotalBytes;
  if (!as_ours)
    return fail(Code::kUnsupported, "the process's shared memory is laid out otherwise");
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : mapping_(std::exchange(other.mapping_, {})) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (mapping_.base != nullptr) munmap(mapping_.base, wire::kTotalBytes);
}

}  // namespace dprof::recorder
