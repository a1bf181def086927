// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/system/nvml_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#if __has_include(<nvml.h>)
#include <nvml.h>
static_assert(sizeof(nvmlMemory_t) == sizeof(dprof::recorder::nvml::MemoryInfo));
static_assert(sizeof(nvmlUtilization_t) == sizeof(dprof::recorder::nvml::Utilization));
static_assert(NVML_CLOCK_SM == dprof::recorder::nvml::kClockSm);
static_assert(NVML_CLOCK_MEM == dprof::recorder::nvml::kClockMemory);
#endif

namespace dprof::recorder {
namespace {

using ::testing::HasSubstr;

const wire::TickScale kScale{
    .tick0 = 0, .multiplier = 1, .shift = 0, .source = wire::ClockSource::kMonotonic};

class NvmlSamplerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("DPROF_NVML_LIBRARY", DPROF_FAKE_NVML, 1);
    unsetenv("FAKE_NVML");
  }
  void TearDown() override {
    unsetenv("DPROF_NVML_LIBRARY");
    unsetenv("FAKE_NVML");
  }

  // Asks until there are measurements, and once more for the rest of that round.
  static std::vector<Measured> first_answer(NvmlSampler& sampler) {
    for (int i = 0; i < 3000; ++i) {
      std::vector<Measured> found = sampler.take_measured(i == 0);
      if (!found.empty()) return found;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {};
  }
  static std::map<std::pair<std::string, int64_t>, int64_t> samples(
      const std::vector<Measured>& all) {
    std::map<std::pair<std::string, int64_t>, int64_t> found;
    for (const Measured& measured : all) {
      if (const auto* sample = std::get_if<SystemSample>(&measured)) {
        found[{std::string(sample->kind), sample->subject.value_or(-1)}] = sample->value;
      }
    }
    return found;
  }
  static std::string diagnostic(const std::vector<Measured>& all) {
    for (const Measured& measured : all) {
      if (const auto* said = std::get_if<RecorderDiagnostic>(&measured)) {
        return std::string(said->code) + ": " + said->text;
      }
    }
    return {};
  }

  const RunClock clock_{kScale};
};

TEST_F(NvmlSamplerTest, SamplesEachGpu) {
  NvmlSampler sampler(clock_);
  auto found = samples(first_answer(sampler));
  EXPECT_EQ((found[{"gpu.uuid.GPU-bbbb", 1}]), 1);
  EXPECT_EQ((found[{"gpu.sm_clock_mhz", 0}]), 1980);
  EXPECT_EQ((found[{"gpu.sm_clock_mhz", 1}]), 1380);
  EXPECT_EQ((found[{"gpu.memory_clock_mhz", 0}]), 2619);
  EXPECT_EQ((found[{"gpu.power_mw", 0}]), 412345);
  EXPECT_EQ((found[{"gpu.energy_mj", 0}]), 7'000'000'000);
  EXPECT_FALSE(found.contains({"gpu.energy_mj", 1})) << "an old GPU has no such counter";
  EXPECT_EQ((found[{"gpu.temperature_c", 1}]), 85);
  EXPECT_EQ((found[{"gpu.throttle_reasons_mask", 1}]), 0x40);
  EXPECT_EQ((found[{"gpu.memory_used_bytes", 0}]), 30LL << 30);
  EXPECT_EQ((found[{"gpu.memory_total_bytes", 0}]), 80LL << 30);
  EXPECT_EQ((found[{"gpu.busy_percent", 0}]), 97);
  // A function that this library does not have.
  EXPECT_FALSE(found.contains({"gpu.power_limit_mw", 0}));
  // Identities come once for each trace.
  found = samples(first_answer(sampler));
  EXPECT_TRUE(found.contains({"gpu.sm_clock_mhz", 0}));
}

TEST_F(NvmlSamplerTest, WhatAGpuDoesNotTellIsLeftOut) {
  setenv("FAKE_NVML", "no_power", 1);
  NvmlSampler sampler(clock_);
  const auto found = samples(first_answer(sampler));
  EXPECT_FALSE(found.contains({"gpu.power_mw", 0}));
  EXPECT_TRUE(found.contains({"gpu.temperature_c", 0}));
}

TEST_F(NvmlSamplerTest, SaysWhyItCannot) {
  setenv("FAKE_NVML", "no_driver", 1);
  NvmlSampler refused(clock_);
  EXPECT_THAT(diagnostic(first_answer(refused)), HasSubstr("not_sampled"));
  setenv("DPROF_NVML_LIBRARY", "/nowhere/libnvidia-ml.so.1", 1);
  NvmlSampler missing(clock_);
  EXPECT_THAT(diagnostic(first_answer(missing)), HasSubstr("/nowhere/"));
}

TEST_F(NvmlSamplerTest, IsSilentWhereThereIsNoGpu) {
  if (nvidia_driver_seems_loaded()) GTEST_SKIP() << "this machine has a GPU";
  unsetenv("DPROF_NVML_LIBRARY");
  NvmlSampler sampler(clock_);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(sampler.take_measured(i == 0).empty());
}

// A GPU that has fallen off the bus: the recorder goes on, says so, and ends.
TEST_F(NvmlSamplerTest, OutlivesADriverThatHangs) {
  setenv("FAKE_NVML", "hang", 1);
  std::string said;
  {
    NvmlSampler sampler(clock_);
    for (int i = 0; i < 500 && said.empty(); ++i) {
      said = diagnostic(sampler.take_measured(i == 0));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  EXPECT_THAT(said, HasSubstr("does not answer"));
  unsetenv("FAKE_NVML");  // lets the thread that was left behind end
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

}  // namespace
}  // namespace dprof::recorder
