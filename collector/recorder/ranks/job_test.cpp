// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/job.h"

#include <gtest/gtest.h>

namespace dprof::recorder {
namespace {

TEST(JobTest, NobodyStartedIt) {
  EXPECT_EQ(find_job({}).id, "");
  EXPECT_EQ(find_job({{"RANK", "0"}, {"WORLD_SIZE", "2"}}).id, "") << "says not which job";
  EXPECT_EQ(find_job({{"SLURM_JOB_ID", "7"}}).id, "") << "a shell inside an allocation is no step";
}

TEST(JobTest, SlurmStepsAreJobs) {
  Variables step = {
      {"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}};
  const Job job = find_job(step);
  EXPECT_NE(job.id, "");
  EXPECT_EQ(job.seat, "rank 3");
  step["SLURM_PROCID"] = "2";
  EXPECT_EQ(find_job(step).id, job.id);
  EXPECT_NE(find_job(step).seat, job.seat);
  step["SLURM_STEP_ID"] = "1";
  EXPECT_NE(find_job(step).id, job.id);
  step["SLURM_STEP_ID"] = "0";
  step["SLURM_RESTART_COUNT"] = "1";
  EXPECT_NE(find_job(step).id, job.id) << "it runs again";
}

TEST(JobTest, TheInnerLauncherNamesTheJob) {
  Variables variables = {{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}, {"PMIX_NAMESPACE", "n1"},
                         {"MASTER_ADDR", "h"},  {"MASTER_PORT", "1"},   {"WORLD_SIZE", "2"},
                         {"SLURM_PROCID", "0"}};
  EXPECT_EQ(find_job(variables).id, "PMIX_NAMESPACE=n1");
  variables["TORCHELASTIC_RUN_ID"] = "none";
  EXPECT_EQ(find_job(variables).id, "TORCHELASTIC_RUN_ID=none MASTER_ADDR=h MASTER_PORT=1");
}

TEST(JobTest, RanksStartedByHandMeetByTheirMaster) {
  const Job job = find_job({{"MASTER_ADDR", "10.0.0.1"},
                            {"MASTER_PORT", "29500"},
                            {"WORLD_SIZE", "4"},
                            {"NODE_RANK", "1"}});
  EXPECT_EQ(job.id, "MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 WORLD_SIZE=4");
  EXPECT_EQ(job.seat, "node 1");
}

TEST(JobTest, ARestartedWorkerHasAnotherSeat) {
  Variables worker = {{"TORCHELASTIC_RUN_ID", "x"}, {"MASTER_ADDR", "h"},
                      {"MASTER_PORT", "1"},         {"RANK", "0"},
                      {"WORLD_SIZE", "2"},          {"TORCHELASTIC_RESTART_COUNT", "0"}};
  const Job before = find_job(worker);
  worker["TORCHELASTIC_RESTART_COUNT"] = "1";
  const Job after = find_job(worker);
  EXPECT_EQ(before.id, after.id);
  EXPECT_NE(before.seat, after.seat);
}

}  // namespace
}  // namespace dprof::recorder
