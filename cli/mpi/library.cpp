// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi/library.h"

#include <mpi.h>

namespace dprof::cli {
namespace {

bool start(int* number, int* of) {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_FUNNELED)
    return false;
  // The death of another process must not end this one.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  return MPI_Comm_rank(MPI_COMM_WORLD, number) == MPI_SUCCESS &&
         MPI_Comm_size(MPI_COMM_WORLD, of) == MPI_SUCCESS;
}

void* send(int to, const void* bytes, size_t size) {
  auto* request = new MPI_Request(MPI_REQUEST_NULL);
  if (MPI_Isend(bytes, static_cast<int>(size), MPI_BYTE, to, 0, MPI_COMM_WORLD, request) ==
      MPI_SUCCESS)
    return request;
  delete request;
  return nullptr;
}

void* receive(int from, void* bytes, size_t size) {
  auto* request = new MPI_Request(MPI_REQUEST_NULL);
  if (MPI_Irecv(bytes, static_cast<int>(size), MPI_BYTE, from, 0, MPI_COMM_WORLD, request) ==
      MPI_SUCCESS)
    return request;
  delete request;
  return nullptr;
}

MpiLibrary::Outcome look(void* transfer) {
  if (transfer == nullptr) return MpiLibrary::kFailed;
  auto* request = static_cast<MPI_Request*>(transfer);
  int done = 0;
  const int result = MPI_Test(request, &done, MPI_STATUS_IGNORE);
  if (result == MPI_SUCCESS && done == 0) return MpiLibrary::kUnderWay;
  delete request;
  return result == MPI_SUCCESS ? MpiLibrary::kDone : MpiLibrary::kFailed;
}

void forget(void* transfer) {
  if (transfer == nullptr) return;
  auto* request = static_cast<MPI_Request*>(transfer);
  MPI_Cancel(request);
  MPI_Request_free(request);
  delete request;
}

void finish() { MPI_Finalize(); }

}  // namespace
}  // namespace dprof::cli

extern "C" __attribute__((visibility("default"))) const dprof::cli::MpiLibrary*
dprof_mpi_library() {
  using namespace dprof::cli;
  static constexpr size_t kMost = size_t{256} << 20;
  static constexpr MpiLibrary kLibrary = {start, send, receive, look, forget, finish, kMost};
  return &kLibrary;
}
