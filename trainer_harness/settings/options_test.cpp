// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/settings/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "trainer_harness/settings/parsed_options_test.h"

namespace dprof::trainer_harness {
namespace {

TEST(Options, AreEmptyWithoutArguments) {
  const Options options = parsed({});
  EXPECT_EQ(options.training.model, "convnet");
  EXPECT_FALSE(options.training.steps.has_value());
  EXPECT_FALSE(options.distribution.strategy.has_value());
  EXPECT_EQ(options.output.marks, MarkKind::kUserScope);
  EXPECT_EQ(options.mistake, Mistake::kNone);
  EXPECT_FALSE(options.launch.spawn.has_value());
}

TEST(Options, OfTraining) {
  const TrainingOptions got =
      parsed({"--model",       "mlp:8,4", "--steps",     "3",         "--global-batch", "12",
              "--optimizer",   "adam",    "--lr",        "0.5",       "--clip-norm",    "1",
              "--accumulate",  "4",       "--no-sync",   "off",       "--amp",          "bf16",
              "--grad-scaler", "on",      "--recompute", "--sync-bn", "--loss-every",   "1",
              "--rank-seed",   "off"})
          .training;
  EXPECT_EQ(got.model, "mlp:8,4");
  EXPECT_EQ(got.steps, 3);
  EXPECT_EQ(got.global_batch, 12);
  EXPECT_EQ(got.optimizer, OptimizerKind::kAdam);
  EXPECT_EQ(got.learning_rate, 0.5);
  EXPECT_EQ(got.clip_norm, 1);
  EXPECT_EQ(got.accumulate, 4);
  EXPECT_FALSE(got.no_sync);
  EXPECT_EQ(got.amp, Amp::kBf16);
  EXPECT_EQ(got.grad_scaler, true);
  EXPECT_TRUE(got.recompute);
  EXPECT_TRUE(got.sync_bn);
  EXPECT_EQ(got.loss_every, 1);
  EXPECT_FALSE(got.rank_seed);
}

TEST(Options, OfDistribution) {
  const DistributionOptions got = parsed({"--strategy",        "parameter-server",
                                          "--ps-mode",         "async",
                                          "--pipeline",        "1f1b",
                                          "--micro-batches",   "8",
                                          "--shares",          "3,1",
                                          "--device-of-rank",  "cpu,cuda:1",
                                          "--overlap",         "off",
                                          "--threads",         "2",
                                          "--find-unused",     "on",
                                          "--bucket-mb",       "0.5",
                                          "--threads-of-rank", "4,1",
                                          "--rebalance",       "5",
                                          "--metrics",         "all-gather",
                                          "--barrier",         "step",
                                          "--grad-compress",   "topk:0.1"})
                                      .distribution;
  EXPECT_EQ(got.strategy, StrategyKind::kParameterServer);
  EXPECT_EQ(got.server_mode, ServerMode::kAsync);
  EXPECT_EQ(got.schedule, Schedule::k1F1B);
  EXPECT_EQ(got.micro_batches, 8);
  EXPECT_THAT(got.shares, ::testing::ElementsAre(3, 1));
  EXPECT_THAT(got.device_of_rank, ::testing::ElementsAre("cpu", "cuda:1"));
  EXPECT_FALSE(got.overlap);
  EXPECT_EQ(got.threads, 2);
  EXPECT_TRUE(got.find_unused);
  EXPECT_EQ(got.bucket_mb, 0.5);
  EXPECT_THAT(got.threads_of_rank, ::testing::ElementsAre(4, 1));
  EXPECT_EQ(got.rebalance_every, 5);
  EXPECT_EQ(got.metrics, Metrics::kAllGather);
  EXPECT_EQ(got.barrier, BarrierKind::kStep);
  EXPECT_EQ(got.compression, Compression::kTopK);
  EXPECT_EQ(got.top_k, 0.1);
}

TEST(Options, OfDataOutputAndLaunch) {
  const Options got = parsed({"--uneven",
                              "skew:1.5",
                              "--set-epoch",
                              "off",
                              "--loader-workers",
                              "2",
                              "--checkpoint",
                              "d",
                              "--resume",
                              "--save-by",
                              "local0",
                              "--module-prefix",
                              "on",
                              "--spawn",
                              "0",
                              "--local_rank",
                              "1",
                              "--nnodes",
                              "2",
                              "--node-rank",
                              "1",
                              "--affinity",
                              "0;1",
                              "--elastic",
                              "--inject",
                              "loader:rank=1,ms=2",
                              "--inject",
                              "compute:rank=0,ms=1",
                              "--mistake",
                              "double-init",
                              "--data",
                              "synthetic"});
  EXPECT_EQ(got.data.uneven, Uneven::kSkew);
  EXPECT_EQ(got.data.skew, 1.5);
  EXPECT_FALSE(got.data.set_epoch);
  EXPECT_EQ(got.data.loader_workers, 2);
  EXPECT_EQ(got.output.checkpoint, "d");
  EXPECT_TRUE(got.output.resume);
  EXPECT_EQ(got.output.save_by, SaveBy::kLocal0);
  EXPECT_TRUE(got.output.module_prefix);
  EXPECT_EQ(got.launch.spawn, 0);
  EXPECT_EQ(got.launch.local_rank, 1);
  EXPECT_EQ(got.launch.nodes, 2);
  EXPECT_EQ(got.launch.node_rank, 1);
  EXPECT_EQ(got.launch.affinity, "0;1");
  EXPECT_TRUE(got.launch.elastic);
  EXPECT_EQ(got.faults.size(), 2U);
  EXPECT_EQ(got.mistake, Mistake::kDoubleInit);
}

TEST(Options, NvtxIsAnotherWordForMarks) {
  EXPECT_EQ(parsed({"--nvtx", "on"}).output.marks, MarkKind::kNvtx);
  EXPECT_EQ(parsed({"--nvtx", "off"}).output.marks, MarkKind::kNone);
  EXPECT_EQ(parsed({"--nvtx", "on", "--marks", "nvtx"}).output.marks, MarkKind::kNvtx);
}

struct Refused {
  const char* name;
  std::vector<std::string> arguments;
  const char* want;
};

class OptionsRefused : public ::testing::TestWithParam<Refused> {};

TEST_P(OptionsRefused, SayWhat) {
  try {
    (void)parsed(GetParam().arguments);
    FAIL() << "was taken";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr(GetParam().want));
  }
}

INSTANTIATE_TEST_SUITE_P(
    CommandLines, OptionsRefused,
    ::testing::Values(
        Refused{"contradiction",
                {"--nvtx", "off", "--marks", "nvtx"},
                "--nvtx off contradicts --marks nvtx"},
        Refused{"two_batches", {"--batch", "1", "--global-batch", "2"}, "--batch"},
        Refused{"no_steps", {"--steps", "0"}, "above 0"},
        Refused{"half_a_step", {"--steps", "1.5"}, "--steps"},
        Refused{"bad_switch", {"--overlap", "maybe"}, "--overlap maybe is not known"},
        Refused{"unknown_option", {"--fast"}, "--fast"},
        Refused{"unknown_strategy", {"--strategy", "zero4"}, "zero4"},
        Refused{"empty_share", {"--shares", "3,,1"}, "an entry is empty"},
        Refused{"share_in_words", {"--shares", "3,one"}, "'one' is not a number"},
        Refused{"no_threads", {"--threads-of-rank", "1,0"}, "'0' is not a whole number"},
        Refused{"small_skew", {"--uneven", "skew:0.5"}, "below 1"},
        Refused{"unknown_uneven", {"--uneven", "half"}, "pad, drop, join or skew"},
        Refused{"large_top_k", {"--grad-compress", "topk:2"}, "not above 0, up to 1"},
        Refused{"unknown_compression", {"--grad-compress", "zip"}, "none, fp16 or topk"},
        Refused{"negative_spawn", {"--spawn", "-1"}, "--spawn"},
        Refused{"unknown_mistake", {"--mistake", "typo"}, "typo"},
        Refused{"unknown_data", {"--data", "mnist"}, "mnist"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace dprof::trainer_harness
