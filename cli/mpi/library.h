// SPDX-License-Identifier: Apache-2.0
// The interface of libdprof_mpi.so for the program that loads it: the little of MPI that Team
// needs. Nothing in it waits, except start and finish.
#pragma once

#include <cstddef>

namespace dprof::cli {

// Only the thread that called start may call the others. A transfer is a message in flight; its
// bytes must stay in place until it is done. Messages between two processes keep their order.
struct MpiLibrary {
  bool (*start)(int* number, int* of);
  void* (*send)(int to, const void* bytes, size_t size);  // at most most_bytes
  void* (*receive)(int from, void* bytes, size_t size);   // exactly this many
  enum Outcome { kUnderWay, kDone, kFailed };
  Outcome (*look)(void* transfer);  // invalid once completed
  void (*forget)(void* transfer);   // one that is no longer wanted
  void (*finish)();                 // waits for all processes
  size_t most_bytes;
};

inline constexpr char kMpiEntry[] = "dprof_mpi_library";
using MpiEntry = const MpiLibrary* (*)();

}  // namespace dprof::cli
