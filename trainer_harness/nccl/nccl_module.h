// SPDX-License-Identifier: Apache-2.0
// The door to NCCL: a shared module of its own, opened for `--backend nccl` only, so that training
// on the CPU loads no CUDA library.
#pragma once

#include <chrono>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace dprof::trainer_harness {

// What libdprof_trainer_nccl.so gives. The functions throw.
struct NcclModule {
  // Makes `local_rank` this process's device, and a process group on it.
  c10::intrusive_ptr<c10d::Backend> (*make_backend)(const c10::intrusive_ptr<c10d::Store>& store,
                                                    int rank, int world_size, int local_rank,
                                                    std::chrono::milliseconds timeout);
};

inline constexpr const char* kNcclModuleFile = "libdprof_trainer_nccl.so";
inline constexpr const char* kNcclModuleSymbol = "dprof_trainer_nccl_module";

// Opens the module on the first call. Throws where it was not built, or where its libraries or a
// GPU are missing.
const NcclModule& load_nccl();

}  // namespace dprof::trainer_harness
