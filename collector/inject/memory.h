// SPDX-License-Identifier: Apache-2.0
// The memfd that the process shares with its recorder, and its pages. A write to an unavailable
// page would be a SIGBUS or an OOM kill in the training process, so pages are populated before
// anything writes to them.
//
// Threading  create() by the one thread that starts the session; populate() by any.
#pragma once

#include "collector/wire/layout.h"

namespace dprof::inject {

struct SharedMemory {
  wire::Mapping mapping;
  int descriptor = -1;    // the memfd, sealed against shrinking; the caller closes it
  int error = 0;          // errno of the failure, 0 = none
  const char* what = "";  // which call failed
};

// Creates, seals and maps the memfd, and populates header, control page and ring directory. Refuses
// if RLIMIT_FSIZE is too small: growing the file would kill the process with SIGXFSZ.
[[nodiscard]] SharedMemory create_shared_memory() noexcept;

// Populates the pages of [offset, offset + bytes) of the mapping; false if they are unavailable.
// Kernels before 5.14 have no MADV_POPULATE_WRITE: there the pages are allocated on first touch.
[[nodiscard]] bool populate(const wire::Mapping& mapping, uint64_t offset, uint64_t bytes) noexcept;

}  // namespace dprof::inject
