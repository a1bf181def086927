// SPDX-License-Identifier: Apache-2.0
// What libdprof_mpi.so gives the program that loads it: the little of MPI that Team needs. Nothing
// in it waits, but for start and finish.
#pragma once

#include <cstddef>

namespace dprof::cli {

// Only the thread that called start may call the others. A transfer is a message under way; its
// bytes must stay where they are until it is done. Messages between two processes keep their order.
struct MpiLibrary {
  bool (*start)(int* number, int* of);
  void* (*send)(int to, const void* bytes, size_t size);  // at most most_bytes
  void* (*receive)(int from, void* bytes, size_t size);   // exactly so many
  enum Outcome { kUnderWay, kDone, kFailed };
  Outcome (*look)(void* transfer);  // what is no longer under way is gone
  void (*forget)(void* transfer);   // one that nobody wants any more
  void (*finish)();                 // waits for all processes
  size_t most_bytes;
};

inline constexpr char kMpiEntry[] = "dprof_mpi_library";
using MpiEntry = const MpiLibrary* (*)();

}  // namespace dprof::cli
