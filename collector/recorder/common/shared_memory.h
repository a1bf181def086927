// SPDX-License-Identifier: Apache-2.0
// The recorder's mapping of a process's shared memory.
#pragma once

#include "base/result.h"
#include "collector/wire/layout.h"

namespace dprof::recorder {

// Invariant  wire::kTotalBytes are mapped, and the other side cannot remove them (sealed).
// Threading  moving is not safe while another thread uses the mapping.
class SharedMemory {
 public:
  // Checks the seal, the size and the header's numbers, then maps. The caller keeps the descriptor.
  static Result<SharedMemory> map(int memory_fd);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  [[nodiscard]] const wire::Mapping& mapping() const { return mapping_; }

 private:
  explicit SharedMemory(wire::Mapping mapping) : mapping_(mapping) {}
  wire::Mapping mapping_;
};

}  // namespace dprof::recorder
