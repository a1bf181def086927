// SPDX-License-Identifier: Apache-2.0
// The places to look for CUPTI, in this order: already loaded; next to a mapped library; by name;
// in a toolkit. The process and the doctor must find the same library.
#pragma once

namespace dprof::wire {

inline constexpr const char* kCuptiNames[] = {"libcupti.so.13", "libcupti.so.12"};

// Pip's wheels of CUDA 13 and 12, and a toolkit.
struct CuptiNeighbour {
  const char* library;  // start of the file name
  const char* folder;   // relative to that library's folder
};
inline constexpr char kTorchLibrary[] = "libtorch_cpu.so";
inline constexpr CuptiNeighbour kCuptiNeighbours[] = {
    {"libcudart.so.", "."},
    {kTorchLibrary, "../../nvidia/cu13/lib"},
    {kTorchLibrary, "../../nvidia/cuda_cupti/lib"},
    {"libcudart.so.", "../../cuda_cupti/lib"},
    {"libcudart.so.", "../extras/CUPTI/lib64"},
};
inline constexpr const char* kToolkitFolders[] = {"/usr/local/cuda/lib64",
                                                  "/usr/local/cuda/extras/CUPTI/lib64"};

}  // namespace dprof::wire
