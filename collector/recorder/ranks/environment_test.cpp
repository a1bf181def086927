// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/environment.h"

#include <gmock/gmock.h>

namespace dprof::recorder {
namespace {

using ::testing::Contains;

const CollectorSettings kSettings{
    .library = "/opt/lib/libdprof.so",
    .socket = "/tmp/x/s",
    .scale = {.tick0 = 5, .multiplier = 6, .shift = 7, .source = wire::ClockSource::kTsc},
    .detail = "full"};

TEST(EnvironmentTest, PutsTheCollectorInFront) {
  Environment environment;
  environment.set("LD_PRELOAD", "/usr/lib/other.so");
  EXPECT_EQ(add_collector(environment, kSettings).nvtx, "");
  EXPECT_EQ(environment.get("LD_PRELOAD"), "/opt/lib/libdprof.so:/usr/lib/other.so");
  EXPECT_EQ(environment.get("NVTX_INJECTION64_PATH"), "/opt/lib/libdprof.so");
  EXPECT_EQ(environment.get("DPROF_SOCKET"), "/tmp/x/s");
  EXPECT_EQ(environment.get("DPROF_CLOCK"), "1 5 6 7");
  EXPECT_THAT(environment.entries(), Contains("DPROF_DETAIL=full"));
}

TEST(EnvironmentTest, ASanitizerStaysTheFirst) {
  const auto preload_after = [](const char* before) {
    Environment environment;
    environment.set("LD_PRELOAD", before);
    add_collector(environment, kSettings);
    return environment.get("LD_PRELOAD");
  };
  EXPECT_EQ(preload_after(""), "/opt/lib/libdprof.so");
  EXPECT_EQ(preload_after("/usr/lib/libasan.so.8"), "/usr/lib/libasan.so.8:/opt/lib/libdprof.so");
  EXPECT_EQ(preload_after("libtsan.so.2 libx.so"), "libtsan.so.2 /opt/lib/libdprof.so:libx.so");
  EXPECT_EQ(preload_after("libx.so:libasan.so.8"), "/opt/lib/libdprof.so:libx.so:libasan.so.8")
      << "it is not the first as it is";
}

TEST(EnvironmentTest, YieldLeavesOtherToolsInjections) {
  CollectorSettings settings = kSettings;
  settings.yield_nvtx = settings.yield_nccl = true;
  Environment others, none;
  others.set("NVTX_INJECTION64_PATH", "/opt/other.so");
  others.set("NCCL_PROFILER_PLUGIN", "other");
  const Replaced replaced = add_collector(others, settings);
  EXPECT_EQ(replaced.nvtx + replaced.nccl, "");
  EXPECT_EQ(others.get("NVTX_INJECTION64_PATH"), "/opt/other.so");
  EXPECT_EQ(others.get("NCCL_PROFILER_PLUGIN"), "other");
  add_collector(none, settings);
  EXPECT_EQ(none.get("NVTX_INJECTION64_PATH"), "/opt/lib/libdprof.so");
  EXPECT_EQ(none.get("NCCL_PROFILER_PLUGIN"), "/opt/lib/libdprof.so");
}

TEST(EnvironmentTest, RemembersTheToolThatItReplaces) {
  Environment environment;
  environment.set("NVTX_INJECTION64_PATH", "/opt/other.so");
  EXPECT_EQ(add_collector(environment, kSettings).nvtx, "/opt/other.so");
}

TEST(EnvironmentTest, NothingIsInjectedIntoCudaBesideNsightCompute) {
  Environment inside, outside;
  inside.set("NV_COMPUTE_PROFILER_PERFWORKS_DIR", "/opt/nvidia/nsight-compute");
  EXPECT_TRUE(meets_nsight_compute(inside, "python3"));
  EXPECT_TRUE(meets_nsight_compute(outside, "/usr/local/cuda/bin/ncu"));
  EXPECT_FALSE(meets_nsight_compute(outside, "python3"));
  CollectorSettings settings = kSettings;
  settings.nsight_compute = true;
  add_collector(inside, settings);
  EXPECT_EQ(inside.get("CUDA_INJECTION64_PATH"), "");
  EXPECT_EQ(inside.get("DPROF_CUDA"), "yield");
  EXPECT_EQ(inside.get("NVTX_INJECTION64_PATH"), "/opt/lib/libdprof.so");
}

TEST(EnvironmentTest, YieldLeavesAnotherToolsCudaInjection) {
  CollectorSettings settings = kSettings;
  const auto left_after = [&settings](const char* mode, const char* before) {
    settings.cuda = mode;
    Environment environment;
    if (before[0] != '\0') environment.set("CUDA_INJECTION64_PATH", before);
    add_collector(environment, settings);
    return environment.get("CUDA_INJECTION64_PATH");
  };
  EXPECT_EQ(left_after("cupti", "/opt/other.so"), "/opt/lib/libdprof.so");
  EXPECT_EQ(left_after("yield", "/opt/other.so"), "/opt/other.so");
  EXPECT_EQ(left_after("yield", ""), "/opt/lib/libdprof.so");
  EXPECT_EQ(left_after("off", "/opt/other.so"), "/opt/other.so");
  EXPECT_EQ(left_after("off", ""), "");
}

TEST(EnvironmentTest, LeavesAnOwnThreadCountAlone) {
  Environment unset, set;
  set.set("OMP_NUM_THREADS", "8");
  add_rank(unset, 1, 2, 29500);
  add_rank(set, 1, 2, 29500);
  EXPECT_EQ(unset.get("OMP_NUM_THREADS"), "1");
  EXPECT_EQ(set.get("OMP_NUM_THREADS"), "8");
  EXPECT_EQ(unset.get("RANK"), "1");
  EXPECT_EQ(unset.get("LOCAL_WORLD_SIZE"), "2");
  EXPECT_EQ(unset.get("MASTER_PORT"), "29500");
}

}  // namespace
}  // namespace dprof::recorder
