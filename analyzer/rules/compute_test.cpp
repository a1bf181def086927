// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/rules/test_support/rule_run.h"

namespace dprof::analyzer {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> found_compute(const RuleRun& run, std::string_view name) {
  return run.of(compute_rules(), name);
}

// 80 ms of computation per step: `ms` of one class, the rest of no class.
RuleRun gpu_run(KernelClass what, const std::string& name, int64_t ms) {
  RuleRun run(2);
  run.set_all(Category::kForward, 30 * kNsPerMs);
  run.set_all(Category::kBackward, 50 * kNsPerMs);
  run.kernel_all(KernelClass::kOther, "other", (80 - ms) * kNsPerMs);
  run.kernel_all(what, name, ms * kNsPerMs);
  return run;
}

void with_device(RuleRun& run, int64_t capability) {
  for (RankDigest& digest : run.digests) {
    digest.facts.devices = {
        {.id = 0, .uuid = "GPU-1", .compute_capability = capability, .kernels = 100}};
  }
}

TEST(KernelClasses, Names) {
  EXPECT_EQ(class_of_kernel("ampere_sgemm_128x64_tn"), KernelClass::kMatrixFp32);
  EXPECT_EQ(class_of_kernel("volta_scudnn_128x64_relu_interior_nn_v1"), KernelClass::kMatrixFp32);
  EXPECT_EQ(class_of_kernel("volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_exp_small"),
            KernelClass::kMatrixTensor);
  EXPECT_EQ(class_of_kernel("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw"),
            KernelClass::kMatrixTensor);
  EXPECT_EQ(class_of_kernel("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT"),
            KernelClass::kMatrixTensor);
  EXPECT_EQ(
      class_of_kernel(
          "void cutlass::Kernel2<cutlass_80_wmma_tensorop_f16_s161616gemm_f16_16x16_128x2_tn_align1>(Params)"),
      KernelClass::kMatrixUnaligned);
  EXPECT_EQ(class_of_kernel("void cudnn::ops::nchwToNhwcKernel<float, float>"),
            KernelClass::kLayout);
  EXPECT_EQ(
      class_of_kernel(
          "sm90_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64"),
      KernelClass::kMatrixTensor)
      << "it computes in a layout, and converts none";
  EXPECT_EQ(
      class_of_kernel(
          "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"),
      KernelClass::kElementwise);
  EXPECT_EQ(
      class_of_kernel(
          "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>"),
      KernelClass::kFill);
  EXPECT_EQ(class_of_kernel("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>"),
            KernelClass::kElementwise);
  EXPECT_EQ(class_of_kernel("void at::native::(anonymous namespace)::multi_tensor_apply_kernel"),
            KernelClass::kOptimizer);
  EXPECT_EQ(class_of_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
            KernelClass::kCommunication);
  EXPECT_EQ(class_of_kernel("my_own_kernel"), KernelClass::kOther);
}

TEST(ComputeFp32Matrices, OnADeviceWithTensorCores) {
  RuleRun run = gpu_run(KernelClass::kMatrixFp32, "volta_sgemm_128x64_nt", 40);
  with_device(run, 800);
  const std::vector<Finding> findings = found_compute(run, "compute.fp32-matrices");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, 20 * kNsPerMs) << "half of 40 ms";
  EXPECT_THAT(findings[0].detail, HasSubstr("volta_sgemm_128x64_nt (50 %"));
  with_device(run, 601);
  EXPECT_THAT(found_compute(run, "compute.fp32-matrices"), IsEmpty()) << "a P100 has none";
}

TEST(ComputeFp32Matrices, BelowAThirdIsNoNews) {
  RuleRun run = gpu_run(KernelClass::kMatrixFp32, "volta_sgemm_128x64_nt", 20);
  with_device(run, 800);
  EXPECT_THAT(found_compute(run, "compute.fp32-matrices"), IsEmpty());
  EXPECT_THAT(
      found_compute(gpu_run(KernelClass::kMatrixTensor, "s16816gemm", 60), "compute.fp32-matrices"),
      IsEmpty());
}

TEST(ComputeLayoutConversions, FromTwoPercentOn) {
  const std::vector<Finding> findings = found_compute(
      gpu_run(KernelClass::kLayout, "nchwToNhwcKernel", 5), "compute.layout-conversions");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, 5 * kNsPerMs);
  EXPECT_THAT(found_compute(gpu_run(KernelClass::kLayout, "nchwToNhwcKernel", 1),
                            "compute.layout-conversions"),
              IsEmpty());
}

TEST(ComputeUnalignedShapes, OnTensorCores) {
  EXPECT_THAT(found_compute(gpu_run(KernelClass::kMatrixUnaligned, "gemm_align1", 10),
                            "compute.unaligned-shapes"),
              SizeIs(1));
  EXPECT_THAT(found_compute(gpu_run(KernelClass::kMatrixUnaligned, "gemm_align1", 3),
                            "compute.unaligned-shapes"),
              IsEmpty());
  EXPECT_THAT(found_compute(gpu_run(KernelClass::kMatrixTensor, "gemm_align8", 60),
                            "compute.unaligned-shapes"),
              IsEmpty());
}

TEST(ComputeElementwise, FromAThirdOfTheComputationOn) {
  const std::vector<Finding> findings = found_compute(
      gpu_run(KernelClass::kElementwise, "elementwise_kernel", 40), "compute.elementwise");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].cost_ns, 20 * kNsPerMs);
  EXPECT_THAT(found_compute(gpu_run(KernelClass::kElementwise, "elementwise_kernel", 20),
                            "compute.elementwise"),
              IsEmpty());
}

TEST(ComputeConvRetuning, SeldomAndStillInSteadySteps) {
  RuleRun run = gpu_run(KernelClass::kOther, "other", 10);
  for (RankDigest& digest : run.digests) {
    digest.facts.kernels.push_back({.name = "implicit_convolve_sgemm",
                                    .what = KernelClass::kMatrixFp32,
                                    .convolution = true,
                                    .count = 2,
                                    .total_ns = 60 * kNsPerMs,
                                    .first = {0},
                                    .last = {8 * RuleRun::kStep}});
  }
  const std::vector<Finding> findings = found_compute(run, "compute.conv-retuning");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, 5 * kNsPerMs);
  for (RankDigest& digest : run.digests) digest.facts.kernels.back().last = {kNsPerMs};
  EXPECT_THAT(found_compute(run, "compute.conv-retuning"), IsEmpty()) << "while it warmed up";
  for (RankDigest& digest : run.digests) {
    digest.facts.kernels.back().last = {8 * RuleRun::kStep};
    digest.facts.kernels.back().count = 12;
  }
  EXPECT_THAT(found_compute(run, "compute.conv-retuning"), IsEmpty()) << "in each step";
}

TEST(ComputeLowOccupancy, BusyAtLittlePower) {
  RuleRun run = gpu_run(KernelClass::kOther, "other", 10);
  run.set_all(Category::kBackward, 60 * kNsPerMs);
  with_device(run, 800);
  EXPECT_THAT(found_compute(run, "compute.low-occupancy"), IsEmpty()) << "no samples";
  run.facts(0).power = {{.uuid = "GPU-1", .power_mw = 120'000, .limit_mw = 400'000, .samples = 20}};
  const std::vector<Finding> findings = found_compute(run, "compute.low-occupancy");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_FALSE(findings[0].cost_ns.has_value());
  run.set_all(Category::kBackward, 10 * kNsPerMs);
  EXPECT_THAT(found_compute(run, "compute.low-occupancy"), IsEmpty()) << "idle much of the time";
  run.set_all(Category::kBackward, 60 * kNsPerMs);
  run.facts(0).power[0].power_mw = 350'000;
  EXPECT_THAT(found_compute(run, "compute.low-occupancy"), IsEmpty());
}

TEST(ComputeRecomputeExcess, WithMemoryToSpare) {
  RuleRun run = gpu_run(KernelClass::kOther, "other", 10);
  for (RankDigest& digest : run.digests) digest.facts.recompute = {.count = 24, .total_ns = 1};
  run.report.memory.emplace();
  for (int r = 0; r < 2; ++r) {
    RankMemory memory;
    memory.rank = r;
    memory.device = 0;
    memory.device_total = 80'000'000'000;
    memory.soft_headroom = 50'000'000'000;
    run.report.memory->per_rank.push_back(memory);
  }
  const std::vector<Finding> findings = found_compute(run, "compute.recompute-excess");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(is_complete(findings[0]));
  EXPECT_EQ(findings[0].cost_ns, 30 * kNsPerMs) << "forward once more, at most";
  for (RankMemory& memory : run.report.memory->per_rank) memory.soft_headroom = 8'000'000'000;
  EXPECT_THAT(found_compute(run, "compute.recompute-excess"), IsEmpty()) << "it is needed";
}

TEST(ComputeRules, SayNothingOfARunOnCpus) {
  RuleRun run(2);
  run.set_all(Category::kForward, 90 * kNsPerMs);
  for (const Rule& rule : compute_rules())
    EXPECT_THAT(findings_of(run.input(), rule), IsEmpty()) << rule.name;
}

}  // namespace
}  // namespace dprof::analyzer
