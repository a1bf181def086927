// SPDX-License-Identifier: Apache-2.0
// The names in generated rows, as PyTorch, CUDA and NCCL use them. Known at compile time, so that a
// program holds numbers only.
#pragma once

#include <cstdint>
#include <string_view>

namespace dprof::synth {

inline constexpr std::string_view kNames[] = {
    // Markers.
    "step",
    "input",
    "forward",
    "backward",
    "optimizer",
    "checkpoint",
    "metrics",
    "micro_step",
    "stage_forward",
    "stage_backward",
    "push",
    "pull",
    "serve",
    "validation",
    "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
    "DistributedDataParallel.forward",
    "Optimizer.step#SGD.step",
    // Operators.
    "aten::conv2d",
    "aten::relu",
    "aten::max_pool2d",
    "aten::linear",
    "aten::convolution",
    "aten::clamp_min",
    "aten::max_pool2d_with_indices",
    "aten::addmm",
    "aten::mm",
    "aten::copy_",
    "aten::item",
    "gc.collect",
    "aten::_foreach_mul_",
    "aten::_foreach_add_",
    "aten::mul_",
    "aten::add_",
    "aten::threshold_backward",
    "aten::convolution_backward",
    "aten::max_pool2d_with_indices_backward",
    "aten::to",
    "aten::matmul",
    "aten::gelu",
    "AddmmBackward0",
    "MaxPool2DWithIndicesBackward0",
    "ReluBackward0",
    "ConvolutionBackward0",
    "MmBackward0",
    "torch.distributed.ddp.reducer::copy_bucket_to_grad",
    // Calls into c10d.
    "c10d::allreduce_",
    "c10d::broadcast_",
    "c10d::_reduce_scatter_base_",
    "c10d::_allgather_base_",
    "c10d::send",
    "c10d::recv_",
    "c10d::recv_any_source_",
    "c10d::barrier",
    "c10d::reduce_",
    "c10d::gather_",
    // CUDA.
    "cudaLaunchKernel",
    "cudaMemcpyAsync",
    "cuLaunchKernelEx",
    "cudaStreamSynchronize",
    "cudaMalloc",
    "cudaFree",
    // Kernels.
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x128x64",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<SGD>",
    "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64",
    "sm90_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64",
    "Memcpy HtoD",
    "Memcpy DtoH",
    "Memcpy DtoD",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    "ncclDevKernel_Broadcast_RING_LL",
    "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL",
    "ncclDevKernel_AllGather_RING_LL",
    "ncclDevKernel_SendRecv",
    // Threads.
    "main",
    "pt_autograd_0",
    "gloo worker",
};

// -1: none of them.
[[nodiscard]] constexpr int32_t find_name(std::string_view text) {
  for (size_t i = 0; i < sizeof(kNames) / sizeof(kNames[0]); ++i) {
    if (kNames[i] == text) return static_cast<int32_t>(i);
  }
  return -1;
}

[[nodiscard]] consteval int32_t name(std::string_view text) {
  if (const int32_t found = find_name(text); found >= 0) return found;
  return kNames[SIZE_MAX].empty() ? 0 : 1;  // not in kNames: does not compile
}

}  // namespace dprof::synth
