// SPDX-License-Identifier: Apache-2.0
// Kinds of hangs with the exact set of ranks that cause them, and ends that are not hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "analyzer/digest/test_support/edit_records.h"
#include "analyzer/hang/hang.h"
#include "analyzer/match/test_support/test_run.h"
#include "analyzer/waits/test_support/matched.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kLong = 60 * kNsPerSecond;

std::optional<Hang> hang_of(const TestRun& run, bool aligned = true) {
  const Matching matching = matched(run.digests, aligned);
  return find_hang({.digests = run.digests,
                    .traces = run.traces,
                    .matching = matching,
                    .aligned = aligned,
                    .median_step_ns = 10 * TestRun::kMs});
}

struct Template {
  const char* name;
  const char* state;  // "" = no hang
  std::vector<int> culprits;
  const char* reason;  // part of it
  std::function<void(TestRun&)> happen;
};
void PrintTo(const Template& one, std::ostream* out) { *out << one.name; }

const std::vector<int> kAll = {0, 1, 2, 3};

// Every rank first completes some steps, with NCCL's or Gloo's numbering.
void begin(TestRun& run, size_t group) {
  for (int i = 0; i < 3; ++i) run.everybody(group, kAll, {});
}

void stuck(TestRun& run, size_t group, const std::vector<int>& ranks, TestRun::What what = {}) {
  for (const int rank : ranks) run.call(rank, group, what, false);
}

void end_as(TestRun& run, int rank, const char* ended, const char* exit_status) {
  run.traces[static_cast<size_t>(rank)].ended = ended;
  run.traces[static_cast<size_t>(rank)].exit_status = exit_status;
}

const Template kTemplates[] = {
    {"one_never_came",
     "waiting",
     {2},
     "rank 2, which never called it",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       stuck(run, world, {0, 1, 3});
       run.stand_still(kLong);
     }},
    {"two_never_came",
     "waiting",
     {0, 3},
     "ranks 0, 3, which never called it",
     [](TestRun& run) {
       const size_t world = run.group(kAll, Numbers::kNccl);
       begin(run, world);
       stuck(run, world, {1, 2});
       run.stand_still(kLong);
     }},
    {"left_early_by_itself",
     "waiting",
     {1},
     "which never called it",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       stuck(run, world, {0, 2, 3});
       run.stand_still(kLong);
       run.digests[1].last_sign = run.digests[1].span.end;
       end_as(run, 1, "complete", "exit:0");
     }},
    {"killed",
     "dead",
     {1},
     "whose process is gone",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       stuck(run, world, {0, 2, 3});
       run.stand_still(100 * TestRun::kMs);
       for (const int rank : {0, 2, 3}) end_as(run, rank, "process_killed", "signal:15");
       end_as(run, 1, "process_killed", "signal:9");
     }},
    {"killed_within_the_collective",
     "dead",
     {3},
     "whose process is gone",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       stuck(run, world, kAll);
       run.stand_still(100 * TestRun::kMs);
       for (const int rank : {0, 1, 2}) end_as(run, rank, "process_killed", "signal:15");
       end_as(run, 3, "process_killed", "signal:11");
     }},
    {"failed_with_an_exception",
     "dead",
     {0},
     "rank 0, whose process is gone",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       stuck(run, world, {1, 2, 3});
       run.stand_still(200 * TestRun::kMs);
       for (const int rank : {1, 2, 3}) end_as(run, rank, "process_killed", "signal:15");
       end_as(run, 0, "complete", "exit:1");
     }},
    {"other_size",
     "mismatch",
     {2},
     "rank 2 all_reduce 8 B",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       stuck(run, world, {0, 1, 3});
       stuck(run, world, {2}, {.bytes = 8});
       run.stand_still(kLong);
     }},
    {"other_operation",
     "mismatch",
     {3},
     "rank 3 broadcast",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       stuck(run, world, {0, 1, 2});
       stuck(run, world, {3}, {.function = Function::kBroadcast, .root = 0});
       run.stand_still(kLong);
     }},
    // NCCL counts by function: the two calls do not even share a number.
    {"other_operation_over_nccl",
     "mismatch",
     {1},
     "wait for each other",
     [](TestRun& run) {
       const size_t world = run.group(kAll, Numbers::kNccl);
       begin(run, world);
       stuck(run, world, {0, 2, 3});
       stuck(run, world, {1}, {.function = Function::kBarrier});
       run.stand_still(kLong);
     }},
    {"two_of_two_disagree",
     "mismatch",
     {0, 1},
     "call different collectives",
     [](TestRun& run) {
       const size_t pair = run.group({0, 1});
       run.everybody(pair, {0, 1}, {});
       stuck(run, pair, {0});
       stuck(run, pair, {1}, {.bytes = 24});
       run.stand_still(kLong);
     }},
    {"groups_in_another_order",
     "deadlock",
     {3},
     "wait for each other",
     [](TestRun& run) {
       const size_t a = run.group(kAll);
       const size_t b = run.group(kAll);
       begin(run, a);
       begin(run, b);
       stuck(run, a, {0, 1, 2});
       stuck(run, b, {3});
       run.stand_still(kLong);
     }},
    {"two_in_opposite_orders",
     "deadlock",
     {1, 2},
     "group1",
     [](TestRun& run) {
       const size_t a = run.group({1, 2});
       const size_t b = run.group({1, 2});
       run.everybody(a, {1, 2}, {});
       run.everybody(b, {1, 2}, {});
       stuck(run, a, {1});
       stuck(run, b, {2});
       run.stand_still(kLong);
     }},
    {"ring_of_sends",
     "deadlock",
     {0, 1, 2, 3},
     "the message from rank",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       for (int rank = 0; rank < 4; ++rank) run.message(rank, world, true, (rank + 1) % 4, false);
       run.stand_still(kLong);
     }},
    {"receiver_never_came",
     "waiting",
     {2},
     "the message from rank 1 to rank 2",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       run.message(1, world, true, 2, false);
       run.stand_still(kLong);
     }},
    // Rank 2 holds rank 1 up in a pair, and so rank 1 holds up the whole world: a victim.
    {"victim_is_not_the_culprit",
     "waiting",
     {2},
     "rank 2, which never called it",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       const size_t pair = run.group({1, 2});
       begin(run, world);
       run.everybody(pair, {1, 2}, {});
       stuck(run, pair, {1});
       stuck(run, world, {0, 3});
       run.stand_still(kLong);
     }},
    {"two_independent_culprits",
     "waiting",
     {1, 3},
     "rank",
     [](TestRun& run) {
       const size_t left = run.group({0, 1});
       const size_t right = run.group({2, 3});
       run.everybody(left, {0, 1}, {});
       run.everybody(right, {2, 3}, {});
       stuck(run, left, {0});
       stuck(run, right, {2});
       run.stand_still(kLong);
     }},
    {"one_gpu_does_not_finish",
     "waiting",
     {0},
     "although ranks 1-3 finished it",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       stuck(run, world, {0});
       run.everybody(world, {1, 2, 3}, {});
       stuck(run, world, {1, 2, 3});
       run.stand_still(kLong);
     }},
    // Called, but not begun although the others have: behind other work of its own GPU.
    {"queued_behind_its_own_work",
     "waiting",
     {3},
     "rank 3",
     [](TestRun& run) {
       const size_t world = run.group(kAll, Numbers::kNccl);
       begin(run, world);
       stuck(run, world, kAll);
       edit_last(run.digests[3].collectives).start.reset();
       run.stand_still(kLong);
     }},
    {"network",
     "waiting",
     {},
     "the network",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       stuck(run, world, kAll);
       run.stand_still(kLong);
     }},
    {"no_trace_of_one",
     "dead",
     {2},
     "no trace of rank 2",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       stuck(run, world, kAll);
       run.stand_still(kLong);
       run.digests.erase(run.digests.begin() + 2);
       run.traces.erase(run.traces.begin() + 2);
     }},
    // --- no hangs ---
    {"ordinary_end_within_a_step",
     "",
     {},
     "",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       stuck(run, world, {0, 1, 3});
       run.stand_still(50 * TestRun::kMs);
     }},
    {"stopped_by_the_user",
     "",
     {},
     "",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       stuck(run, world, {0, 1, 3});
       run.stand_still(50 * TestRun::kMs);
       for (const int rank : kAll) end_as(run, rank, "process_killed", "signal:15");
     }},
    {"only_the_end_of_a_record_was_lost",
     "",
     {},
     "",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       stuck(run, world, {1});
       run.everybody(world, {0, 2, 3}, {});
       begin(run, world);
       run.stand_still(kLong);
     }},
    {"only_a_record_was_lost",
     "",
     {},
     "",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       erase_record(run.digests[1].collectives, 1);
       run.stand_still(kLong);
     }},
    // The recorder of rank 2 stopped during a collective; the others continued for long.
    {"only_a_trace_ended",
     "",
     {},
     "",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       stuck(run, world, {2});
       for (int i = 0; i < 5; ++i) run.everybody(world, {0, 1, 3}, {});
       run.stand_still(kLong);
     }},
    {"only_a_trace_ended_in_a_message",
     "",
     {},
     "",
     [](TestRun& run) {
       const size_t world = run.group(kAll);
       begin(run, world);
       run.message(2, world, true, 3, false);
       run.message(3, world, false, 2);
       run.stand_still(kLong);
     }},
    {"nothing_open",
     "",
     {},
     "",
     [](TestRun& run) {
       begin(run, run.group(kAll));
       run.stand_still(kLong);
     }},
};

class HangTemplateTest : public ::testing::TestWithParam<Template> {};

TEST_P(HangTemplateTest, NamesExactlyTheCulprits) {
  TestRun run(4);
  GetParam().happen(run);
  const std::optional<Hang> hang = hang_of(run);
  if (*GetParam().state == '\0') {
    EXPECT_FALSE(hang) << hang->reason;
    return;
  }
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->state, GetParam().state) << hang->reason;
  EXPECT_EQ(hang->culprits, GetParam().culprits) << hang->reason;
  EXPECT_THAT(hang->reason, HasSubstr(GetParam().reason));
  // Every culprit is reported, before the other ranks.
  ASSERT_GE(hang->ranks.size(), hang->culprits.size());
  for (size_t i = 0; i < hang->culprits.size(); ++i) {
    EXPECT_EQ(hang->ranks[i].rank, hang->culprits[i]);
    EXPECT_FALSE(hang->ranks[i].last.empty());
    EXPECT_EQ(std::ranges::count(hang->waiting, hang->culprits[i]), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Hangs, HangTemplateTest, ::testing::ValuesIn(kTemplates),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(HangWordsTest, SayWhatTheCulpritWasAt) {
  TestRun run(4);
  const size_t world = run.group(kAll);
  begin(run, world);
  stuck(run, world, {0, 1, 3});
  run.stand_still(kLong);
  run.digests[2].last_activity.open = {{"load_file", 50 * kNsPerSecond, {}},
                                       {"input", 51 * kNsPerSecond, {}}};
  end_as(run, 2, "process_killed", "signal:15");
  const std::optional<Hang> hang = hang_of(run);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->ranks[0].state, "not_called");
  EXPECT_EQ(
      hang->ranks[0].last,
      "last called all_reduce #2 of group0; has been in `load_file` within `input` for 50.0 s; "
      "its process was killed (signal:15)");
  EXPECT_EQ(hang->ranks[0].since_ns, 50 * kNsPerSecond);
  EXPECT_EQ(hang->ranks[1].state, "running");
  EXPECT_EQ(hang->ranks[1].last, "waits in all_reduce #3 of group0");
}

TEST(HangWordsTest, SayWhereTheRanksStood) {
  TestRun run(4);
  const size_t world = run.group(kAll);
  begin(run, world);
  stuck(run, world, {0, 1, 3});
  run.stand_still(kLong);
  run.digests[2].last_activity.stack = {{"native", "pause", "libc.so.6", {}},
                                        {"python", "lock_twice", "/a/train.py", 58}};
  run.digests[3].last_activity.stack = {{"native", "gloo::wait()", "libtorch_cpu.so", {}}};
  const std::optional<Hang> hang = hang_of(run);
  ASSERT_TRUE(hang);
  EXPECT_THAT(hang->reason, ::testing::EndsWith("; rank 2 was in lock_twice (train.py:58)"));
  EXPECT_EQ(hang->ranks[0].stack.size(), 2U);
  EXPECT_THAT(hang->ranks[0].last, ::testing::Not(HasSubstr("was in")));
  EXPECT_THAT(hang->ranks[3].last, HasSubstr("; was in gloo::wait (libtorch_cpu.so)"));
}

// The signal was the recorder's own (`--on-hang kill`), after less time than a hang otherwise
// needs.
TEST(HangWordsTest, WhomTheRecorderEndedWasAlive) {
  TestRun run(4);
  const size_t world = run.group(kAll);
  begin(run, world);
  stuck(run, world, {0, 1, 3});
  run.stand_still(100 * TestRun::kMs);
  for (const int rank : kAll) {
    end_as(run, rank, "process_killed", rank == 2 ? "signal:9" : "signal:15");
    run.digests[static_cast<size_t>(rank)].remarks.push_back(
        {"hang_killed", schema::Severity::kInfo, 1, "ends 4 ranks"});
  }
  const std::optional<Hang> hang = hang_of(run);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->state, "waiting");
  EXPECT_THAT(hang->culprits, ElementsAre(2));
  EXPECT_THAT(hang->ranks[0].last, HasSubstr("dprof killed it because the job hung"));
}

TEST(HangWordsTest, LoaderIsSaidFirst) {
  TestRun run(4);
  const size_t world = run.group(kAll);
  begin(run, world);
  stuck(run, world, {0, 1, 3});
  run.stand_still(kLong);
  run.digests[2].last_activity.loading_for_ns = 40 * kNsPerSecond;
  EXPECT_THAT(hang_of(run)->ranks[0].last, HasSubstr("waiting for a batch for 40.0 s"));
}

// Without a common clock the first to end is unknown; a missing rank can still be named.
TEST(HangClockTest, UnalignedClocksChangeNothingForAMissingRank) {
  TestRun run(4);
  const size_t world = run.group(kAll);
  begin(run, world);
  stuck(run, world, {0, 1, 3});
  run.stand_still(kLong);
  const std::optional<Hang> hang = hang_of(run, false);
  ASSERT_TRUE(hang);
  EXPECT_THAT(hang->culprits, ElementsAre(2));
}

TEST(HangSizeTest, ThousandRanksWaitForOne) {
  constexpr int kRanks = 1000;
  TestRun run(kRanks);
  std::vector<int> ranks;
  for (int r = 0; r < kRanks; ++r) ranks.push_back(r);
  const size_t world = run.group(ranks);
  run.everybody(world, ranks, {});
  for (const int rank : ranks) {
    if (rank != 617) run.call(rank, world, {}, false);
  }
  run.stand_still(kLong);
  const std::optional<Hang> hang = hang_of(run);
  ASSERT_TRUE(hang);
  EXPECT_THAT(hang->culprits, ElementsAre(617));
  EXPECT_EQ(hang->waiting.size(), 999U);
}

}  // namespace
}  // namespace dprof::analyzer
