// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/settings/check_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/settings/parsed_options_test.h"

namespace dprof::trainer_harness {
namespace {

constexpr JobShape kAlone = {false, 1};
constexpr JobShape kOne = {true, 1};
constexpr JobShape kTwo = {true, 2};

struct Case {
  const char* name;
  std::vector<std::string> arguments;
  JobShape job;
  const char* want = "";  // empty: no complaint
};

std::string complaint(const Case& test) {
  try {
    const Options options = parsed(test.arguments);
    check_launch(options);
    check_options(options, test.job);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

class CheckOptions : public ::testing::TestWithParam<Case> {};

TEST_P(CheckOptions, SaysWhatDoesNotFit) {
  const std::string said = complaint(GetParam());
  if (*GetParam().want == '\0') {
    EXPECT_EQ(said, "");
  } else {
    EXPECT_THAT(said, ::testing::HasSubstr(GetParam().want));
    EXPECT_THAT(said, ::testing::HasSubstr("\nhint: "));
  }
}

std::string name_of(const ::testing::TestParamInfo<Case>& test) { return test.param.name; }

INSTANTIATE_TEST_SUITE_P(
    World, CheckOptions,
    ::testing::Values(
        Case{"nothing_alone", {}, kAlone}, Case{"nothing_with_ranks", {}, kTwo},
        Case{"single_of_one_rank", {"--strategy", "single"}, kOne},
        Case{"single_of_two", {"--strategy", "single"}, kTwo, "is one process"},
        Case{"dp_of_two", {"--strategy", "dp"}, kTwo, "is one process"},
        Case{"dp_alone", {"--strategy", "dp"}, kAlone},
        Case{"ddp_alone", {"--strategy", "ddp"}, kAlone, "needs ranks"},
        Case{"zero3_alone", {"--strategy", "zero3"}, kAlone, "needs ranks"},
        Case{"zero3_of_one", {"--strategy", "zero3"}, kOne},
        Case{"server_of_one", {"--strategy", "parameter-server"}, kOne, "two ranks or more"},
        Case{"server_of_two", {"--strategy", "parameter-server"}, kTwo},
        Case{"pipeline_of_one", {"--strategy", "model-parallel"}, kOne, "two ranks or more"},
        Case{"pipeline_alone", {"--strategy", "model-parallel"}, kAlone, "needs ranks"},
        Case{"fault_for_nobody", {"--inject", "loader:rank=2,ms=1"}, kTwo, "rank 2"},
        Case{"nccl_alone", {"--backend", "nccl"}, kAlone, "needs ranks"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Strategies, CheckOptions,
    ::testing::Values(
        Case{"unused_with_static", {"--static-graph", "--find-unused"}, kTwo, "--find-unused"},
        Case{"static", {"--static-graph"}, kTwo},
        Case{"static_in_zero2",
             {"--strategy", "zero2", "--static-graph"},
             kTwo,
             "has no meaning with --strategy zero2"},
        Case{"shares", {"--shares", "3,1"}, kTwo},
        Case{"shares_of_three", {"--shares", "3,1,1"}, kTwo, "3 entries, but the job has 2 ranks"},
        Case{"shares_of_nothing", {"--shares", "3,0"}, kTwo, "0 is not above 0"},
        Case{"shares_in_a_pipeline",
             {"--strategy", "model-parallel", "--shares", "3,1"},
             kTwo,
             "it is for ddp"},
        Case{"rebalance_in_zero1", {"--strategy", "zero1", "--rebalance", "5"}, kTwo, "for ddp"},
        Case{"rebalance_alone", {"--rebalance", "5"}, kAlone, "for ddp"},
        Case{"micro_batches_in_ddp", {"--micro-batches", "2"}, kTwo, "for model-parallel"},
        Case{"pipeline_in_ddp", {"--pipeline", "1f1b"}, kTwo, "for model-parallel"},
        Case{"server_mode_in_ddp", {"--ps-mode", "async"}, kTwo, "for parameter-server"},
        Case{"nccl_server",
             {"--strategy", "parameter-server", "--backend", "nccl"},
             kTwo,
             "NCCL cannot"},
        Case{"hook_alone", {"--grad-compress", "fp16"}, kAlone, "for ddp"},
        Case{"barrier_alone", {"--barrier", "step"}, kAlone, "between ranks"},
        Case{"devices_of_one", {"--device-of-rank", "cpu"}, kTwo, "1 entries"},
        Case{"devices", {"--device-of-rank", "cpu,cuda:1"}, kTwo},
        Case{"unknown_device", {"--device-of-rank", "cpu,tpu"}, kTwo, "'tpu' is no device"},
        Case{"device_number", {"--device-of-rank", "cpu,cuda:x"}, kTwo, "'cuda:x' is no device"},
        Case{"threads_twice", {"--threads", "1", "--threads-of-rank", "1,1"}, kTwo, "contradicts"},
        Case{"threads_of_three", {"--threads-of-rank", "1,1,1"}, kTwo, "3 entries"},
        Case{"sync_bn_alone", {"--sync-bn"}, kAlone, "has no meaning"},
        Case{"momentum_of_adam", {"--optimizer", "adam", "--momentum", "0.9"}, kTwo, "SGD's"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Output, CheckOptions,
    ::testing::Values(
        Case{"resume_from_nowhere", {"--resume"}, kTwo, "without --checkpoint"},
        Case{"save_every_to_nowhere", {"--checkpoint-every", "5"}, kTwo, "without --checkpoint"},
        Case{"save_by_all_nothing", {"--save-by", "all"}, kTwo, "--checkpoint saves"},
        Case{"resume", {"--resume", "--checkpoint", "d"}, kTwo},
        Case{"truth_nowhere", {"--truth", "no/such/truth.json"}, kTwo, "there is no folder"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Mistakes, CheckOptions,
    ::testing::Values(
        Case{"no_ddp_alone", {"--mistake", "no-ddp"}, kAlone, "data parallelism"},
        Case{"no_ddp", {"--mistake", "no-ddp"}, kTwo},
        Case{"barrier_of_one", {"--mistake", "rank0-barrier"}, kOne, "there is one process"},
        Case{"double_init_alone", {"--mistake", "double-init"}, kAlone, "process group"},
        Case{"double_init_of_one", {"--mistake", "double-init"}, kOne},
        Case{"one_device_on_cpu", {"--mistake", "one-device"}, kTwo, "gpu"},
        Case{"partial_window_of_one", {"--mistake", "partial-window"}, kTwo, "--accumulate 4"},
        Case{"no_zero_without_amp", {"--mistake", "amp-no-zero"}, kTwo, "--amp fp16"},
        Case{"shape_alone", {"--mistake", "shape"}, kAlone}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Launch, CheckOptions,
    ::testing::Values(
        Case{"no_ranks", {"--spawn", "0"}, kAlone, "--spawn 0: no ranks"},
        Case{"hosts_without_ranks", {"--nnodes", "2", "--node-rank", "0"}, kAlone, "--spawn N"},
        Case{"which_host", {"--spawn", "2", "--nnodes", "2"}, kAlone, "--node-rank I"},
        Case{"host_without_hosts", {"--spawn", "2", "--node-rank", "1"}, kAlone, "--nnodes M"},
        Case{"no_such_host",
             {"--spawn", "2", "--nnodes", "2", "--node-rank", "2"},
             kAlone,
             "--node-rank 2 of 2 hosts"},
        Case{"elastic_alone", {"--elastic"}, kAlone, "--spawn N"},
        Case{"elastic_forgets", {"--elastic", "--spawn", "2"}, kAlone, "--checkpoint DIR"},
        Case{"elastic_with_shares",
             {"--elastic", "--spawn", "2", "--checkpoint", "d", "--checkpoint-every", "1",
              "--shares", "1,1"},
             kTwo,
             "their number changes"},
        Case{"elastic",
             {"--elastic", "--spawn", "2", "--checkpoint", "d", "--checkpoint-every", "1"},
             kTwo},
        Case{"fault_of_a_lost_rank", {"--inject", "kill:rank=1,step=2"}, {true, 1, true}},
        Case{"elastic_saves_at_the_end",
             {"--elastic", "--spawn", "2", "--checkpoint", "d"},
             kAlone,
             "--checkpoint-every K"},
        Case{"matrix_and_spawn", {"--matrix", "f", "--spawn", "2"}, kAlone, "ranks=N"},
        Case{"command_without_matrix", {"--matrix-command", "x"}, kAlone, "--matrix FILE"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Averaging, CheckOptions,
    ::testing::Values(
        Case{"first_bucket", {"--first-bucket-mb", "0.004", "--bucket-mb", "0.0625"}, kTwo},
        Case{"first_bucket_too_large",
             {"--first-bucket-mb", "2", "--bucket-mb", "1"},
             kTwo,
             "above"},
        Case{"first_bucket_of_zero2",
             {"--strategy", "zero2", "--first-bucket-mb", "1"},
             kTwo,
             "no meaning"},
        Case{"late_and_compressed",
             {"--overlap", "off", "--grad-compress", "fp16"},
             kTwo,
             "Reducer"},
        Case{"late_and_static", {"--overlap", "off", "--static-graph"}, kTwo, "Reducer"},
        Case{"top_k_scaled", {"--grad-compress", "topk:0.1", "--amp", "fp16"}, kTwo, "scaler"},
        Case{"static_and_no_sync", {"--static-graph", "--accumulate", "2"}, kTwo, "reduces none"},
        Case{"static_and_sync_each",
             {"--static-graph", "--accumulate", "2", "--no-sync", "off"},
             kTwo},
        Case{"join", {"--uneven", "join", "--accumulate", "2"}, kTwo},
        Case{"join_of_zero3", {"--strategy", "zero3", "--uneven", "join"}, kTwo, "no meaning"},
        Case{"join_syncing_each",
             {"--uneven", "join", "--accumulate", "2", "--no-sync", "off"},
             kTwo,
             "micro-steps"},
        Case{
            "join_with_shares", {"--uneven", "join", "--shares", "2,1"}, kTwo, "divide each batch"},
        Case{"replicas_of_ddp", {"--dp-replicas", "3"}, kTwo, "no meaning"}),
    name_of);

}  // namespace
}  // namespace dprof::trainer_harness
