// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/summary.h"

#include <gtest/gtest.h>

namespace dprof::trainer_harness {
namespace {

TEST(Summary, CountsEachPartOfTheDataOnce) {
  EXPECT_EQ(samples_of_job({{0, 640}, {1, 640}}), 1280) << "data parallel";
  EXPECT_EQ(samples_of_job({{0, 640}, {-1, 0}, {0, 640}}), 640) << "a pipeline's ends";
  EXPECT_EQ(samples_of_job({{0, 640}, {1, 320}, {-1, 0}}), 960) << "a server has none";
  EXPECT_EQ(samples_of_job({}), 0);
}

TEST(Summary, SamplesTravelAsText) {
  const SamplesTaken got = SamplesTaken::read(SamplesTaken{-1, 77}.text());
  EXPECT_EQ(got.part, -1);
  EXPECT_EQ(got.samples, 77);
}

TEST(Summary, Lines) {
  RankTruth truth;
  truth.begin.monotonic_raw_ns = 1'000'000'000;
  truth.end.monotonic_raw_ns = 3'000'000'000;
  truth.steps = {{0, 1'000'000}, {0, 9'000'000}, {0, 2'000'000}};
  truth.samples = {64, 64, 32};
  truth.input_ns = {500'000, 100'000, 200'000};
  truth.first_loss = 2.5;
  truth.last_loss = 1.25;
  truth.parameter_bytes = 16;
  truth.gradient_bytes = 8;
  EXPECT_EQ(samples_taken(truth, 0).samples, 160);
  EXPECT_EQ(
      throughput_text(truth, 320),
      "done: 3 steps in 2.00 s, median 2.00 ms per step, 1.80 without input, 160 samples/s, loss 2.5000 -> 1.2500");
  EXPECT_EQ(state_text(truth), "state per rank: parameters 16 B, gradients 8 B, optimizer 0 B");
  EXPECT_NE(throughput_text({}, 0).find("0 steps in 0.00 s"), std::string::npos);
}

}  // namespace
}  // namespace dprof::trainer_harness
