// SPDX-License-Identifier: Apache-2.0
// Ways in which a run ends, and the ranks reported as first to fail.
#include "analyzer/ending/ending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "analyzer/digest/test_support/edit_records.h"
#include "analyzer/match/failed_ends.h"
#include "analyzer/match/test_support/test_run.h"
#include "analyzer/waits/test_support/matched.h"

namespace dprof::analyzer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<int> kRanks = {0, 1, 2, 3};
constexpr int64_t kMs = TestRun::kMs;

struct Job : TestRun {
  Job() : TestRun(4), world(group(kRanks)) {
    for (int i = 0; i < 3; ++i) everybody(world, kRanks, {});
    for (RankDigest& digest : digests) {
      digest.recorder_cpu_ns = 1;
      digest.phases.push_back({.span = {{0}, {1}}, .marker = schema::Marker::kOptimizer});
    }
    for (const int rank : kRanks) ends(rank, "exit:0");
  }

  void ends(int rank, const char* exit_status) {
    TraceFile& trace = traces[static_cast<size_t>(rank)];
    trace.exit_status = exit_status;
    trace.ended = std::string_view(exit_status).starts_with("exit") ? "complete" : "process_killed";
  }
  void ends_at(int rank, int64_t ns) { digests[static_cast<size_t>(rank)].last_sign = {ns}; }

  void fails_in_collective(int rank, std::string text) {
    CollectiveRecords::Edited record = call(rank, world, {});
    record.failed = std::exchange(record.end, std::nullopt);
    record.state = schema::CollectiveState::kFailed;
    digests[static_cast<size_t>(rank)].remarks.push_back(
        {.code = "collective_failed", .text = std::move(text)});
    ends(rank, "exit:1");
  }

  Ending ending() {
    Matching matching = matched(digests, true);
    if (take_ends_of_failed(digests, traces, matching)) matching = matched(digests, true);
    const std::optional<Hang> hang = find_hang({.digests = digests,
                                                .traces = traces,
                                                .matching = matching,
                                                .aligned = true,
                                                .median_step_ns = 10 * kMs});
    const std::optional<Ending> found = ending_of({.digests = digests,
                                                   .traces = traces,
                                                   .matching = matching,
                                                   .hang = hang ? &*hang : nullptr,
                                                   .median_step_ns = 10 * kMs});
    EXPECT_TRUE(found);
    return found.value_or(Ending());
  }

  size_t world;
};

TEST(EndingTest, AJobWhoseRanksEndWithZeroIsGood) {
  Job job;
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "ok");
  EXPECT_THAT(ending.verdict.ranks, IsEmpty());
  ASSERT_EQ(ending.ranks.size(), 4u);
  EXPECT_EQ(ending.ranks[2].how, "exit");
  EXPECT_EQ(ending.ranks[2].code, 0);
}

TEST(EndingTest, ATraceOfAnotherToolSaysNothingOfItsProcess) {
  Job job;
  for (RankDigest& digest : job.digests) digest.recorder_cpu_ns.reset();
  const Matching matching = matched(job.digests, true);
  EXPECT_FALSE(ending_of({.digests = job.digests, .traces = job.traces, .matching = matching}));
}

TEST(EndingTest, ACrashIsNamedByItsSignalAndNotByWhoFollowed) {
  Job job;
  for (const int rank : {0, 2, 3}) {
    job.call(rank, job.world, {}, false);
    job.ends(rank, "signal:15");
  }
  job.ends(1, "signal:11");
  job.stand_still(30 * kMs);
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "crash");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(1));
  EXPECT_THAT(ending.verdict.title,
              AllOf(HasSubstr("rank 1 crashed (SIGSEGV)"), HasSubstr("all_reduce #3 of group0")));
  EXPECT_TRUE(ending.ranks[1].first);
  EXPECT_FALSE(ending.ranks[0].first);
}

TEST(EndingTest, ACrashOfARankThatNobodyWaitedFor) {
  Job job;
  job.ends(2, "signal:6");
  for (const int rank : {0, 1, 3}) job.ends(rank, "signal:15"), job.ends_at(rank, 900 * kMs);
  job.ends_at(2, 800 * kMs);
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "crash");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(2));
}

TEST(EndingTest, ATimeOutInACollectiveIsTheHangOfWhoNeverCame) {
  Job job;
  for (const int rank : {0, 2, 3})
    job.fails_in_collective(rank, "Timed out waiting 5000ms for recv operation to complete");
  job.ends(1, "signal:15");
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "hang");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(1));
  EXPECT_THAT(ending.verdict.title,
              AllOf(HasSubstr("rank 1 hung"), HasSubstr("ranks 0, 2, 3"),
                    HasSubstr("all_reduce #3"), HasSubstr("until it failed")));
  EXPECT_THAT(ending.ranks[0].message, HasSubstr("Timed out"));
}

TEST(EndingTest, AnErrorThatWasNotRecordedIsSeenByWhoNeverCame) {
  Job job;
  for (const int rank : {0, 2, 3}) {
    job.call(rank, job.world, {});
    job.ends(rank, "exit:1");
  }
  job.ends(1, "signal:15");
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "hang");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(1));
}

TEST(EndingTest, WhoLeavesWithZeroWhileOthersExpectItLeftEarly) {
  Job job;
  for (const int rank : {0, 2, 3}) job.fails_in_collective(rank, "Connection closed by peer");
  job.ends(1, "exit:0");
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "early_exit");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(1));
  EXPECT_THAT(ending.verdict.title, HasSubstr("rank 1 ended early, with exit code 0"));
}

TEST(EndingTest, WhoWasLeavingWhenTheLauncherEndedItLeftEarly) {
  Job job;
  for (const int rank : {0, 2, 3}) job.fails_in_collective(rank, "Connection closed by peer");
  job.ends(1, "signal:15");
  job.traces[1].exit_declared = 0;
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "early_exit");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(1));
  EXPECT_EQ(ending.ranks[1].code, 0);
}

// On a busy machine the end of a process takes longer than the others wait for it.
TEST(EndingTest, WhoRaisedBeforeTheLauncherEndedItDidNotHang) {
  const auto verdict_with = [](std::string exception, const char* end) {
    Job job;
    for (const int rank : {0, 2, 3})
      job.fails_in_collective(rank, "Timed out waiting 4000ms for recv operation to complete");
    job.ends(1, end);
    job.traces[1].exception = std::move(exception);
    return job.ending().verdict;
  };
  const EndVerdict raised =
      verdict_with("KeyError: 'label'\n\t/home/me/train.py:17 load", "signal:15");
  EXPECT_EQ(raised.kind, "exception");
  EXPECT_THAT(raised.ranks, ElementsAre(1));
  EXPECT_THAT(raised.title, AllOf(HasSubstr("rank 1 raised KeyError"), HasSubstr("waited for it")));
  EXPECT_EQ(verdict_with("MemoryError", "signal:15").kind, "out_of_memory");
  for (const char* other : {"KeyError: 'label' (in a thread; the process went on)",
                            "SIGTERMException", "RuntimeError: Connection closed by peer"}) {
    EXPECT_EQ(verdict_with(other, "signal:15").kind, "hang") << other;
  }
  EXPECT_EQ(verdict_with("KeyError: 'label'", "signal:2").kind, "hang") << "a handler may raise";
}

TEST(EndingTest, WhoRaisedIsNotTakenForOneThatTheLauncherEnded) {
  Job job;
  job.ends(0, "exit:1");
  job.ends_at(0, 900 * kMs);
  job.ends(2, "signal:15");
  job.ends_at(2, 800 * kMs);
  job.traces[2].exception = "KeyError: 'label'";
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "exception");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(2));
}

// SIGTERM or Ctrl-C to one rank alone: the others fail because of it, and the launcher ends none.
TEST(EndingTest, WhoWasAskedToEndBeforeTheOthersFailedWasKilled) {
  const auto kind_where = [](int64_t others_end_ms) {
    Job job;
    for (const int rank : {0, 2, 3}) {
      job.fails_in_collective(rank, "Connection closed by peer");
      job.ends_at(rank, others_end_ms * kMs);
    }
    job.ends(1, "signal:15");
    job.ends_at(1, 5'000 * kMs);
    return job.ending().verdict.kind;
  };
  EXPECT_EQ(kind_where(5'500), "killed");
  EXPECT_EQ(kind_where(4'500), "early_exit") << "the launcher's";
}

TEST(EndingTest, WhoHungBeforeCtrlCWasNotEndedByIt) {
  const auto kind_where = [](int64_t waited_ms) {
    Job job;
    for (const int rank : {0, 2, 3}) {
      job.call(rank, job.world, {}, false);
      job.ends(rank, "signal:2");
    }
    job.ends(1, "signal:2");
    job.stand_still(waited_ms * kMs);
    for (const int rank : {0, 2, 3})
      job.digests[static_cast<size_t>(rank)].last_sign.ns += 50 * kMs;
    return job.ending().verdict.kind;
  };
  EXPECT_EQ(kind_where(5'000), "hang");
  EXPECT_EQ(kind_where(20), "killed") << "it ended a little before the others";
}

// On a busy machine it takes a second until its connections are closed.
TEST(EndingTest, WhoAloneGotCtrlCDidNotHangWhileItsProcessEnded) {
  Job job;
  for (const int rank : {0, 2, 3}) {
    job.fails_in_collective(rank, "Connection closed by peer");
    job.ends(rank, "signal:15");
    job.ends_at(rank, 5'500 * kMs);
    edit_last(job.digests[static_cast<size_t>(rank)].collectives).failed = TraceNs{5'000 * kMs};
  }
  job.ends(1, "signal:2");
  job.ends_at(1, 5'000 * kMs);
  EXPECT_EQ(job.ending().verdict.kind, "killed");
}

// NCCL's collectives have no end without GPU rows.
struct NcclJob : Job {
  void calls_last(int rank) {
    CollectiveRecords::Edited record = call(rank, world, {});
    record.end.reset();
    record.state = schema::CollectiveState::kUnobserved;
  }
  void is_ended_by_the_watchdog(int rank) {
    ends(rank, "signal:6");
    traces[static_cast<size_t>(rank)].output =
        "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, "
        "OpType=ALLREDUCE, Timeout(ms)=2000) ran for 2000 milliseconds before timing out.\n";
  }
};

TEST(EndingTest, WhomNcclsWatchdogWaitedForHung) {
  NcclJob job;
  for (const int rank : {0, 2, 3}) job.calls_last(rank), job.is_ended_by_the_watchdog(rank);
  job.ends(1, "signal:15");
  job.stand_still(2'000 * kMs);
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "hang");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(1));
}

TEST(EndingTest, AnImportedTraceDoesNotSayHowItsProcessEnded) {
  Job job;
  for (const int rank : {0, 2, 3}) {
    CollectiveRecords::Edited record = job.call(rank, job.world, {});
    record.end.reset();
    record.state = schema::CollectiveState::kRunning;
  }
  for (TraceFile& trace : job.traces) {
    trace.exit_status.clear();
    trace.imported_format = "flight_recorder";
  }
  job.stand_still(2'000 * kMs);
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "hang");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(1));
  EXPECT_THAT(ending.verdict.title, testing::Not(HasSubstr("exit code")));
  EXPECT_THAT(ending.verdict.title, HasSubstr(" for 2.00 s"));
}

TEST(EndingTest, ACollectiveThatAllCalledAndTheWatchdogGaveUpIsTheNetworks) {
  NcclJob job;
  for (const int rank : kRanks) job.calls_last(rank), job.is_ended_by_the_watchdog(rank);
  job.stand_still(2'000 * kMs);
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "network_stall");
  EXPECT_THAT(ending.verdict.ranks, IsEmpty());
  EXPECT_THAT(ending.verdict.decided_by, testing::Contains(HasSubstr("OpType=ALLREDUCE")));
}

TEST(EndingTest, WhoClosedItsConnectionsDidNotHang) {
  Job job;
  for (const int rank : {0, 2, 3})
    job.fails_in_collective(rank, "Read error [10.0.0.2]:19878: Connection reset by peer");
  job.ends(1, "signal:15");
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "early_exit");
  EXPECT_LT(ending.verdict.confidence, 0.7);
}

// Gloo writes to a connection closed by its peer, in a program that does not ignore SIGPIPE.
TEST(EndingTest, WhoDiesOfABrokenPipeFollowedItsPeer) {
  Job job;
  for (const int rank : {0, 2, 3}) {
    job.call(rank, job.world, {}, false);
    job.ends(rank, "signal:13");
  }
  job.ends(1, "signal:15");
  job.stand_still(kMs);
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "early_exit");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(1));
}

TEST(EndingTest, OfThoseThatWereWaitedForWhoDiesOfABrokenPipeFollowedAsWell) {
  Job job;
  for (const int rank : {0, 2}) {
    job.call(rank, job.world, {}, false);
    job.ends(rank, "signal:15");
  }
  job.ends(1, "signal:13");
  job.ends(3, "signal:11");
  job.stand_still(30 * kMs);
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "crash");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(3));
}

TEST(EndingTest, WhoTimesOutClosesItsConnectionsToo) {
  Job job;
  job.fails_in_collective(0, "Timed out waiting 5000ms for recv operation to complete");
  for (const int rank : {2, 3}) {
    job.fails_in_collective(rank, "Connection closed by peer [127.0.0.1]:2256");
    CollectiveRecords::Edited last = edit_last(job.digests[static_cast<size_t>(rank)].collectives);
    last.failed = *last.failed + DurationNs{kMs};
  }
  job.ends(1, "signal:15");
  EXPECT_EQ(job.ending().verdict.kind, "hang");
}

// A stopped process survives torchrun's SIGTERM, and is killed half a minute after the others
// ended.
TEST(EndingTest, RanksThatWaitForEachOtherInACollectiveAndInTheStoreHaveParted) {
  Job job;
  for (const int rank : {0, 2, 3}) job.fails_in_collective(rank, "Timed out waiting 5000ms");
  job.ends(1, "exit:1");
  job.traces[1].exception = "DistStoreError: wait timeout after 5000ms, keys: /checksum/0";
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "desync");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(1));
  EXPECT_THAT(ending.verdict.title, HasSubstr("rank 1 waited for the others in c10d's store"));
}

TEST(EndingTest, ThePeersErrorMayBeRecordedBeforeTheTimeOutThatCausedIt) {
  const auto kind_where = [](int64_t timed_out_after_ms) {
    Job job;
    for (const int rank : {2, 3}) job.fails_in_collective(rank, "Connection closed by peer");
    job.fails_in_collective(0, "Timed out waiting 5000ms for recv operation to complete");
    edit_last(job.digests[0].collectives).failed =
        *job.digests[2].collectives.back().failed + DurationNs{timed_out_after_ms * kMs};
    job.ends(1, "signal:15");
    return job.ending().verdict.kind;
  };
  EXPECT_EQ(kind_where(2), "hang");
  EXPECT_EQ(kind_where(4'000), "early_exit");
}

TEST(EndingTest, WhoWasKilledAfterTheOthersHadTimedOutHung) {
  Job job;
  for (const int rank : {0, 2, 3}) {
    job.fails_in_collective(rank, "Timed out waiting 5000ms for recv operation to complete");
    job.ends_at(rank, 5'000 * kMs);
  }
  job.ends(1, "signal:9");
  job.ends_at(1, 35'000 * kMs);
  EXPECT_EQ(job.ending().verdict.kind, "hang");
  job.ends_at(1, 4'000 * kMs);
  EXPECT_EQ(job.ending().verdict.kind, "killed");
}

TEST(EndingTest, AHangInACheckpointIsAStallOfTheStorage) {
  const auto kind_where = [](const auto& make) {
    Job job;
    for (const int rank : {0, 2, 3}) job.fails_in_collective(rank, "Timed out waiting 5000ms");
    job.ends(1, "signal:15");
    make(job.digests[1].last_activity);
    return job.ending().verdict.kind;
  };
  EXPECT_EQ(kind_where([](LastActivity& last) { last.open = {{.name = "checkpoint"}}; }),
            "storage_stall");
  EXPECT_EQ(kind_where([](LastActivity& last) {
              last.stack = {{.kind = "python",
                             .function = "_save",
                             .file = "/lib/python3/site-packages/torch/serialization.py"}};
            }),
            "storage_stall");
  EXPECT_EQ(kind_where([](LastActivity& last) { last.open = {{.name = "forward"}}; }), "hang");
  EXPECT_EQ(kind_where([](LastActivity& last) {
              last.stack = {{.kind = "python", .function = "_save", .file = "/home/me/train.py"}};
            }),
            "hang");
}

TEST(EndingTest, WhoWasPausedMayHaveComeToIt) {
  Job job;
  for (const int rank : {0, 2, 3}) {
    job.call(rank, job.world, {});
    job.ends(rank, "exit:1");
  }
  job.digests[1].paused_at_end = true;
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "exception");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(0, 2, 3));
}

TEST(EndingTest, WhoFailsFirstByTheClockIsNamed) {
  Job job;
  for (const int rank : kRanks) job.ends(rank, "exit:1"), job.ends_at(rank, 1000 * kMs);
  job.ends_at(2, 900 * kMs);
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "exception");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(2));
}

TEST(EndingTest, WhoFailsWithinTheClocksBoundFailsTogether) {
  Job job;
  for (const int rank : {0, 3}) job.ends(rank, "exit:1"), job.ends_at(rank, 900 * kMs + rank);
  EXPECT_THAT(job.ending().verdict.ranks, ElementsAre(0, 3));
}

TEST(EndingTest, WhoFailedBeforeTrainingFailedAtStart) {
  Job job;
  for (RankDigest& digest : job.digests) digest.phases.clear();
  for (const int rank : kRanks) job.ends(rank, "exit:2"), job.ends_at(rank, 10 * kMs);
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "startup_failure");
  EXPECT_THAT(ending.verdict.title, HasSubstr("exit code 2"));
}

TEST(EndingTest, AKilledRankIsOutOfMemoryOnlyWhereTheKernelCountedOne) {
  for (const bool counted : {false, true}) {
    Job job;
    job.ends(3, "signal:9");
    job.digests[0].system.oom_kills = counted ? 1 : 0;  // where its host's samples are
    for (const int rank : {0, 1, 2}) job.ends(rank, "signal:15"), job.ends_at(rank, 900 * kMs);
    const Ending ending = job.ending();
    EXPECT_EQ(ending.verdict.kind, counted ? "out_of_memory" : "killed");
    EXPECT_THAT(ending.verdict.ranks, ElementsAre(3));
  }
}

TEST(EndingTest, AKillOnAnotherHostIsNotThisRanks) {
  Job job;
  job.ends(3, "signal:9");
  job.traces[0].host = "other";
  job.digests[0].system.oom_kills = 1;
  for (const int rank : {0, 1, 2}) job.ends(rank, "signal:15"), job.ends_at(rank, 900 * kMs);
  EXPECT_EQ(job.ending().verdict.kind, "killed");
}

TEST(EndingTest, ATerminatedJobWasEndedFromOutside) {
  Job job;
  for (const int rank : kRanks) job.ends(rank, "signal:15"), job.ends_at(rank, 900 * kMs);
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "killed");
  EXPECT_THAT(ending.verdict.title, HasSubstr("from outside"));
}

TEST(EndingTest, DifferentCallsAreADesynchronisedJob) {
  Job job;
  for (const int rank : {0, 1, 3}) job.call(rank, job.world, {}, false);
  job.call(2, job.world, {.bytes = 8}, false);
  for (const int rank : kRanks) job.ends(rank, "exit:1");
  job.stand_still(5 * kNsPerSecond);
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "desync");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(2));
}

TEST(EndingTest, WhatWasRaisedIsSaidWithItsPlace) {
  Job job;
  job.ends(2, "exit:1");
  job.traces[2].exception =
      "ValueError: bad batch\nof 7\n\t/home/me/train.py:17 load\n\t/home/me/train.py:40 main";
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "exception");
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(2));
  EXPECT_EQ(ending.verdict.title, "rank 2 raised ValueError: bad batch (train.py:17 load)");
  EXPECT_EQ(ending.ranks[2].exception, "ValueError: bad batch\nof 7");
  EXPECT_THAT(ending.ranks[2].frames,
              ElementsAre("/home/me/train.py:17 load", "/home/me/train.py:40 main"));
}

TEST(EndingTest, AnAbortThatAnExceptionLedToIsAnException) {
  Job job;
  job.ends(1, "signal:6");
  job.traces[1].exception = "std::out_of_range: index 3";
  const Ending ending = job.ending();
  EXPECT_EQ(ending.verdict.kind, "exception");
  EXPECT_EQ(ending.verdict.title, "rank 1 raised std::out_of_range: index 3");
}

TEST(EndingTest, AllocatorsThatHaveNothingLeftAreOutOfMemory) {
  for (const char* raised :
       {"MemoryError", "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes",
        "std::bad_alloc: std::bad_alloc", "OSError: [Errno 12] Cannot allocate memory"}) {
    Job job;
    job.ends(3, "exit:1");
    job.traces[3].exception = raised;
    const Ending ending = job.ending();
    EXPECT_EQ(ending.verdict.kind, "out_of_memory") << raised;
    EXPECT_THAT(ending.verdict.ranks, ElementsAre(3)) << raised;
  }
}

TEST(EndingTest, WhoRaisedForAPeerThatHadGoneFollowsIt) {
  Job job;
  job.ends(0, "exit:1");
  job.traces[0].exception = "RuntimeError: [gloo] Connection closed by peer [127.0.0.1]:1234";
  job.ends(2, "exit:1");
  job.traces[2].exception = "KeyError: 'label'";
  const Ending ending = job.ending();
  EXPECT_THAT(ending.verdict.ranks, ElementsAre(2));
}

TEST(EndingTest, AnExceptionThatASignalRaisedIsAnEndFromOutside) {
  Job job;
  for (const int rank : kRanks) {
    job.ends(rank, "signal:2");
    job.traces[static_cast<size_t>(rank)].exception = "KeyboardInterrupt";
  }
  EXPECT_EQ(job.ending().verdict.kind, "killed");
}

TEST(EndingTest, LongMessagesAreCutBetweenLetters) {
  Job job;
  job.ends(2, "exit:1");
  std::string letters;
  for (int i = 0; i < 300; ++i) letters += "ü";
  job.traces[2].exception = "Error: " + letters;
  const Ending ending = job.ending();
  EXPECT_THAT(ending.verdict.title, HasSubstr("üü…"));
  EXPECT_LT(ending.verdict.title.size(), 200u);
}

TEST(EndingTest, WhatItSaidLastIsEvidence) {
  Job job;
  job.ends(2, "exit:3");
  job.traces[2].output = "loading\n\nno such file: data.bin";
  const Ending ending = job.ending();
  EXPECT_THAT(ending.ranks[2].output, ElementsAre("loading", "", "no such file: data.bin"));
  EXPECT_THAT(ending.verdict.decided_by,
              ElementsAre(HasSubstr("its last line: no such file: data.bin")));
}

}  // namespace
}  // namespace dprof::analyzer
