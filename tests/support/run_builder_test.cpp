// SPDX-License-Identifier: Apache-2.0
#include "tests/support/run_builder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "schema/trace_reader.h"
#include "tests/support/temporary_folder.h"

namespace dprof::test_support {
namespace {

using schema::CollectiveRow;
using schema::HostRangeRow;
using schema::TraceReader;

TraceReader open_rank(const std::filesystem::path& run, int rank) {
  Result<TraceReader> reader = TraceReader::open(run / trace_file_name(rank));
  EXPECT_TRUE(reader.ok()) << (reader.ok() ? "" : reader.error().what);
  return *std::move(reader);
}

template <typename Row>
std::vector<Row> rows_of(const TraceReader& reader) {
  Result<std::vector<Row>> rows = reader.read_all<Row>();
  EXPECT_TRUE(rows.ok());
  return rows.ok() ? *std::move(rows) : std::vector<Row>();
}

TEST(RunBuilder, SameSpecGivesSameTimes) {
  RunSpec spec;
  spec.noise = 0.05;
  const RunTimes a = simulate(spec);
  const RunTimes b = simulate(spec);
  spec.seed = 2;
  const RunTimes other = simulate(spec);
  EXPECT_EQ(a.ranks[1].end_ns, b.ranks[1].end_ns);
  EXPECT_NE(a.ranks[1].end_ns, other.ranks[1].end_ns);
}

TEST(RunBuilder, PeersWaitForTheDelayedRankAndSoDoesEveryStep) {
  RunSpec spec;
  spec.ranks = 4;
  spec.steps = 10;
  const RunTimes healthy = simulate(spec);
  constexpr int64_t kDelay = 7'000'000;
  spec.delays = {{.rank = 2, .phase = Phase::kForward, .ns = kDelay}};
  const RunTimes delayed = simulate(spec);
  for (size_t r = 0; r < 4; ++r) {
    const StepTimes& before = healthy.ranks[r].steps[5];
    const StepTimes& after = delayed.ranks[r].steps[5];
    EXPECT_NEAR(static_cast<double>(after.step.length() - before.step.length()), kDelay, 20'000)
        << "rank " << r;
    const int64_t waited = after.buckets[0].wait_ns - before.buckets[0].wait_ns;
    EXPECT_NEAR(static_cast<double>(waited), r == 2 ? 0 : kDelay, 20'000) << "rank " << r;
  }
}

TEST(RunBuilder, EveryRankSeesACollectiveEndAfterTheLastHasBegun) {
  RunSpec spec;
  spec.ranks = 3;
  spec.noise = 0.2;
  const RunTimes times = simulate(spec);
  for (size_t step = 0; step < static_cast<size_t>(spec.steps); ++step) {
    for (size_t b = 0; b < spec.bucket_bytes.size(); ++b) {
      int64_t last_start = 0;
      for (const RankTimes& rank : times.ranks) {
        last_start = std::max(last_start, *rank.steps[step].buckets[b].start_ns);
      }
      for (const RankTimes& rank : times.ranks) {
        const CollectiveTimes& c = rank.steps[step].buckets[b];
        EXPECT_GE(*c.end_ns, last_start + spec.transfer_ns[b]);
        EXPECT_EQ(c.wait_ns, last_start - *c.start_ns);
      }
    }
  }
}

TEST(RunBuilder, WritesTracesThatReadBack) {
  const TemporaryFolder folder;
  RunSpec spec;
  spec.hosts = 2;
  spec.losses = {{.rank = 1, .count = 17}};
  const Result<RunTimes> times = write_run(folder.path() / "run", spec);
  ASSERT_TRUE(times.ok()) << times.error().what;

  const TraceReader reader = open_rank(folder.path() / "run", 1);
  EXPECT_EQ(reader.meta_int("rank"), 1);
  EXPECT_EQ(reader.meta("host"), "node-b");
  EXPECT_EQ(reader.meta_int("local_rank"), 0);
  EXPECT_EQ(reader.meta("ended"), "complete");
  const std::vector<CollectiveRow> collectives = rows_of<CollectiveRow>(reader);
  ASSERT_EQ(collectives.size(), 1 + 2 * static_cast<size_t>(spec.steps));
  EXPECT_EQ(collectives.back().start_ns, times->ranks[1].steps.back().buckets[1].start_ns);
  EXPECT_EQ(rows_of<schema::StepRow>(reader).size(), static_cast<size_t>(spec.steps));
  EXPECT_EQ(rows_of<schema::LossRow>(reader).front().count, 17);

  std::ifstream file(folder.path() / "run" / "run.json");
  const nlohmann::json run = nlohmann::json::parse(file);
  EXPECT_EQ(run["schema"], "dprof.run/1");
  EXPECT_EQ(run["traces"].size(), 2u);
}

TEST(RunBuilder, RangesOfAThreadNestAndStandInStartOrder) {
  for (const StepMarks marks : {StepMarks::kMarker, StepMarks::kOptimizer, StepMarks::kNone}) {
    const TemporaryFolder folder;
    RunSpec spec;
    spec.steps = 5;
    spec.marks = marks;
    spec.op_depth = 4;
    spec.noise = 0.1;
    spec.delays = {{.rank = 0, .phase = Phase::kBackward, .ns = 3'000'000},
                   {.rank = 0, .phase = Phase::kCheckpoint, .ns = 5'000'000, .every = 2}};
    ASSERT_TRUE(write_run(folder.path(), spec).ok());
    std::vector<int64_t> open_ends;
    int64_t last_start = 0;
    for (const HostRangeRow& row : rows_of<HostRangeRow>(open_rank(folder.path(), 0))) {
      ASSERT_GE(row.start_ns, last_start);
      last_start = row.start_ns;
      while (!open_ends.empty() && open_ends.back() <= row.start_ns) open_ends.pop_back();
      const int64_t end = row.start_ns + row.duration_ns.value();
      if (!open_ends.empty()) {
        ASSERT_LE(end, open_ends.back()) << "row " << row.id;
      }
      open_ends.push_back(end);
    }
  }
}

TEST(RunBuilder, MicroStepsAreWithinTheStepAndReduceAsConfigured) {
  for (const bool sync_each : {false, true}) {
    RunSpec spec;
    spec.steps = 4;
    spec.micro_steps = 3;
    spec.sync_each = sync_each;
    for (const RankTimes& rank : simulate(spec).ranks) {
      for (const StepTimes& step : rank.steps) {
        ASSERT_EQ(step.earlier.size(), 2U);
        int64_t end = step.input.end;
        for (const MicroStepTimes& micro :
             {step.earlier[0], step.earlier[1], MicroStepTimes(step)}) {
          EXPECT_GE(micro.micro_step.begin, end);
          EXPECT_GE(micro.forward.begin, micro.micro_step.begin);
          EXPECT_GE(micro.backward.begin, micro.forward.end);
          EXPECT_EQ(micro.backward.end, micro.micro_step.end);
          end = micro.micro_step.end;
        }
        EXPECT_GE(step.optimizer.begin, end);
        EXPECT_EQ(step.earlier[0].buckets.size(), sync_each ? 2U : 0U);
        EXPECT_EQ(step.buckets.size(), 2U);
      }
    }
  }
}

TEST(RunBuilder, BothSidesOfAMessageEndATransferAfterTheLastHasCome) {
  const TemporaryFolder folder;
  RunSpec spec;
  spec.ranks = 3;
  spec.steps = 4;
  spec.noise = 0.1;
  spec.messages = {{.from = 0, .to = 2, .bytes = 64, .transfer_ns = 7000, .per_step = 2},
                   {.from = 1, .to = 2, .bytes = 64, .transfer_ns = 7000, .any_source = true}};
  const Result<RunTimes> times = write_run(folder.path(), spec);
  ASSERT_TRUE(times.ok());
  for (size_t s = 0; s < 4; ++s) {
    const std::vector<MessageTimes>& sent = times->ranks[0].steps[s].messages;
    const std::vector<MessageTimes>& received = times->ranks[2].steps[s].messages;
    ASSERT_EQ(sent.size(), 2U);
    ASSERT_EQ(received.size(), 3U);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(sent[i].span.end, received[i].span.end);
      EXPECT_EQ(sent[i].span.end, std::max(sent[i].span.begin, received[i].span.begin) + 7000);
    }
  }
  std::map<std::optional<int64_t>, int> peers;
  for (const CollectiveRow& row : rows_of<CollectiveRow>(open_rank(folder.path(), 2))) {
    if (row.function == schema::Function::kRecv) ++peers[row.peer];
  }
  EXPECT_EQ(peers, (std::map<std::optional<int64_t>, int>{{std::nullopt, 4}, {0, 8}}));
}

TEST(RunBuilder, AKilledRankLeavesItsPeersInACollective) {
  const TemporaryFolder folder;
  RunSpec spec;
  spec.ranks = 3;
  spec.kill = Kill{.rank = 1, .step = 6};
  ASSERT_TRUE(write_run(folder.path(), spec).ok());

  const TraceReader culprit = open_rank(folder.path(), 1);
  EXPECT_EQ(culprit.meta("exit_status"), "signal:9");
  EXPECT_EQ(rows_of<CollectiveRow>(culprit).back().state, schema::CollectiveState::kComplete);

  const TraceReader peer = open_rank(folder.path(), 0);
  const std::vector<CollectiveRow> waiting = rows_of<CollectiveRow>(peer);
  EXPECT_EQ(waiting.end()[-2].state, schema::CollectiveState::kRunning);
  EXPECT_EQ(waiting.end()[-1].state, schema::CollectiveState::kEnqueued);
  std::map<std::string, int> open;
  for (const HostRangeRow& row : rows_of<HostRangeRow>(peer)) {
    if (!row.duration_ns) ++open[peer.string(row.name_id)];
  }
  EXPECT_EQ(open, (std::map<std::string, int>{{"step", 1}, {"backward", 1}}));
}

TEST(RunBuilder, VolumeSpecHoldsWhatItPromises) {
  const TemporaryFolder folder;
  const RunSpec spec = volume_spec(20'000, 1);
  ASSERT_TRUE(write_run(folder.path(), spec).ok());
  EXPECT_GE(*open_rank(folder.path(), 0).count("host_range"), 20'000);
}

TEST(RunBuilder, RefusesASpecThatMakesNoRun) {
  RunSpec hosts;
  hosts.hosts = 3;
  RunSpec message;
  message.messages = {{.from = 0, .to = 2}};
  RunSpec kill;
  kill.micro_steps = 2;
  kill.kill = Kill{};
  for (const RunSpec& spec : {hosts, message, kill}) {
    const TemporaryFolder folder;
    EXPECT_FALSE(write_run(folder.path(), spec).ok());
  }
}

}  // namespace
}  // namespace dprof::test_support
