// SPDX-License-Identifier: Apache-2.0
// Access to NCCL through a separate shared module. It is loaded only when needed, so that training
// on the CPU loads no CUDA library.
#pragma once

#include <chrono>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace dprof::trainer_harness {

// The interface of libdprof_trainer_nccl.so. The functions throw.
struct NcclModule {
  // Selects `local_rank` as this process's device, and makes an NCCL backend on it.
  c10::intrusive_ptr<c10d::Backend> (*make_backend)(const c10::intrusive_ptr<c10d::Store>& store,
                                                    int rank, int world_size, int local_rank,
                                                    std::chrono::milliseconds timeout);
};

inline constexpr const char* kNcclModuleFile = "libdprof_trainer_nccl.so";
inline constexpr const char* kNcclModuleSymbol = "dprof_trainer_nccl_module";

// Loads the module on the first call. Throws if it was not built, or if it or its libraries cannot
// be loaded.
const NcclModule& load_nccl();

}  // namespace dprof::trainer_harness
