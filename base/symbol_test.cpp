// SPDX-License-Identifier: Apache-2.0
#include "base/symbol.h"

#include <gtest/gtest.h>

namespace dprof {
namespace {

TEST(Symbol, IsDemangledWhereItIsOne) {
  EXPECT_EQ(demangled("_Z3addPfi"), "add(float*, int)");
  EXPECT_EQ(
      demangled("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"),
      "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  for (const char* name : {"", "_Z", "_Zzz", "nvjet_hsh_128x256", "sm80_xmma_gemm", "memcpy HtoD"})
    EXPECT_EQ(demangled(name), name);
}

TEST(Symbol, TitleOfAKernelHasNoNoise) {
  EXPECT_EQ(
      kernel_title("void at::native::vectorized_elementwise_kernel<4, "
                   "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, float)"),
      "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, std::array<char*, 3ul> >");
  EXPECT_EQ(kernel_title("void (anonymous namespace)::softmax_warp_forward<float, 10>(float*)"),
            "softmax_warp_forward<float, 10>");
  EXPECT_EQ(kernel_title("_Z3addPfi"), "add");
  EXPECT_EQ(kernel_title("void f<g(int)::{lambda(float)#1}>(int)"), "f<g(int)::{lambda(float)#1}>");
  EXPECT_EQ(kernel_title("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
  EXPECT_EQ(kernel_title(""), "");
}

}  // namespace
}  // namespace dprof
