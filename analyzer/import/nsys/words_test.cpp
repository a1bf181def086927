// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nsys/words.h"

#include <gtest/gtest.h>

namespace dprof::analyzer::nsys {
namespace {

TEST(NsysWordsTest, IdsAreSerialisedIntoOneNumber) {
  constexpr int64_t kGlobal = int64_t{1} << 48 | int64_t{4711} << 24 | 4712;
  EXPECT_EQ(pid_of(kGlobal), 4711);
  EXPECT_EQ(tid_of(kGlobal), 4712);
  EXPECT_EQ(process_of(kGlobal), kGlobal - 4712);
  EXPECT_EQ(process_of(-144115188075855872 + 5), -144115188075855872);  // the top byte is used
  EXPECT_EQ(pid_of(-144115188075855872), 0);
}

TEST(NsysWordsTest, ApiNamesLoseTheirVersion) {
  EXPECT_EQ(plain_api_name("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_api_name("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel_ptsz");
  EXPECT_EQ(plain_api_name("cuMemAlloc_v2"), "cuMemAlloc");
  EXPECT_EQ(plain_api_name("cu_value"), "cu_value");
  EXPECT_EQ(plain_api_name("_v3"), "_v3");
  EXPECT_EQ(plain_api_name("x_v"), "x_v");
}

TEST(NsysWordsTest, StepsAreNamedInSeveralWays) {
  for (const char* text : {"step 7", "Step: 7", "ProfilerStep#7", "iteration 7", "iter_7",
                           "train_step 7", "step7", "global step=7"}) {
    const std::optional<StepName> step = step_name(text);
    ASSERT_TRUE(step.has_value()) << text;
    EXPECT_EQ(step->number, 7) << text;
  }
  EXPECT_EQ(step_name("step")->number, std::nullopt);
  EXPECT_GT(step_name("ProfilerStep#1")->priority, step_name("step 1")->priority);
  for (const char* text : {"", "7", "steps 7", "Optimizer.step#Adam.step", "step 7 of 9",
                           "iteration", "my step 7", "step 99999999999999999999", "stepping stone"})
    EXPECT_FALSE(step_name(text).has_value()) << text;
}

TEST(NsysWordsTest, SynchronisationsByName) {
  EXPECT_EQ(sync_kind_of_name("CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE"),
            SyncKind::kEvent);
  EXPECT_EQ(sync_kind_of_name("CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT"),
            SyncKind::kStreamWait);
  EXPECT_EQ(sync_kind_of_name("CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE"),
            SyncKind::kStream);
  EXPECT_EQ(sync_kind_of_name("CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE"),
            SyncKind::kContext);
  EXPECT_EQ(sync_kind_of_name("CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN"), SyncKind::kUnknown);
}

TEST(NsysWordsTest, KernelsTellTheirType) {
  EXPECT_EQ(kernel_data_type("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"),
            schema::DataType::kFloat32);
  EXPECT_EQ(kernel_data_type("ncclKernel_AllReduce_RING_LL_Sum_half(x)"),
            schema::DataType::kFloat16);
  EXPECT_EQ(kernel_data_type("ncclDevKernel_SendRecv(x)"), schema::DataType::kUnknown);
}

}  // namespace
}  // namespace dprof::analyzer::nsys
