// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/facts.h"

#include <algorithm>

#include "analyzer/digest/range_names.h"

namespace dprof::analyzer {
namespace {

bool is_layout(std::string_view name) {
  return contains_any(name, {"nchwToNhwc", "nhwcToNchw", "nchw2nhwc", "nhwc2nchw"});
}

bool is_matrix(std::string_view name) {
  return contains_any(name, {"gemm", "Gemm", "GEMM", "conv", "Conv", "cudnn", "cutlass", "wgrad",
                             "dgrad", "fprop", "winograd", "xmma", "nvjet", "flash_", "fmha"});
}

// TF32 also runs on tensor cores.
bool on_tensor_cores(std::string_view name) {
  return contains_any(name, {"h884",   "s884",     "h1688", "s1688", "s16816", "h16816", "i8816",
                             "i16832", "tensorop", "hmma",  "wgmma", "gmma",   "tf32",   "bf16",
                             "f16",    "half",     "Half",  "nvjet", "flash_", "fmha"});
}

bool in_fp32(std::string_view name) {
  return contains_any(name, {"sgemm", "scudnn", "gcgemm", "f32f32_f32f32", "float"});
}

bool is_elementwise(std::string_view name) {
  return contains_any(name,
                      {"elementwise", "reduce_kernel", "oftmax", "oftMax", "ayer_norm", "ayerNorm",
                       "atch_norm", "bn_fw", "bn_bw", "CatArray", "dropout", "Pool", "pool"});
}

}  // namespace

// By names of cuBLAS, cuDNN, CUTLASS and PyTorch as they appear in traces of V100, A100 and H100.
KernelClass class_of_kernel(std::string_view name) {
  if (names_communication(name)) return KernelClass::kCommunication;
  if (is_layout(name)) return KernelClass::kLayout;
  if (contains_any(name, {"multi_tensor_apply", "FusedAdam", "fused_adam"}))
    return KernelClass::kOptimizer;
  if (contains_any(name, {"FillFunctor", "fill_kernel"})) return KernelClass::kFill;
  // Before matrices: cuDNN's normalisation and pooling kernels also have its name.
  if (is_elementwise(name)) return KernelClass::kElementwise;
  if (!is_matrix(name)) return KernelClass::kOther;
  if (on_tensor_cores(name)) {
    return contains_any(name, {"align1", "align2"}) ? KernelClass::kMatrixUnaligned
                                                    : KernelClass::kMatrixTensor;
  }
  return in_fp32(name) ? KernelClass::kMatrixFp32 : KernelClass::kOther;
}

std::optional<int64_t> HostMemoryLeft::bytes() const {
  if (!cgroup_bytes || !cgroup_limit_bytes) return available_bytes;
  const int64_t below_limit = std::max<int64_t>(0, *cgroup_limit_bytes - *cgroup_bytes);
  return std::min(available_bytes.value_or(below_limit), below_limit);
}

}  // namespace dprof::analyzer
