// SPDX-License-Identifier: Apache-2.0
// Memory for more than a machine has: large values that are rarely read, in a file that the system
// keeps in memory only as far as there is room.
#pragma once

#include <cstddef>

namespace dprof {

// While it exists, what its thread allocates with `new` lies in the paged memory of this process:
// an open file without a name in $TMPDIR, /var/tmp or /tmp, whichever first is on a disk. Where
// there is none, or the disk is full, it lies in ordinary memory as ever. It is used and destroyed
// like everything else, by any thread, but its place is not used again before the process ends.
//
// Cost  one comparison per `new` and per `delete` of the process.
class AllocatePaged {
 public:
  AllocatePaged();
  AllocatePaged(const AllocatePaged&) = delete;
  AllocatePaged& operator=(const AllocatePaged&) = delete;
  ~AllocatePaged();
};

// A copy that lies in paged memory, with all that it owns.
template <typename T>
[[nodiscard]] T paged_copy(const T& value) {
  const AllocatePaged paged;
  return T(value);
}

// How much was allocated there.
[[nodiscard]] size_t paged_bytes();

// Removes paged memory from this process: its pages come back when they are next read, from the
// system's cache or the disk. At any time, also while others read and write it.
void let_go_of_paged_memory();

// While one exists, paged memory is read in about the order in which it was allocated: what follows
// a page that is missed is read with it.
class ReadPagedInOrder {
 public:
  ReadPagedInOrder();
  ReadPagedInOrder(const ReadPagedInOrder&) = delete;
  ReadPagedInOrder& operator=(const ReadPagedInOrder&) = delete;
  ~ReadPagedInOrder();
};

}  // namespace dprof
