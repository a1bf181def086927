// SPDX-License-Identifier: Apache-2.0
// libdprof_torch.so in a real LibTorch program, end to end: preloaded, found by the build id,
// recording ranges and collectives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>

#include "collector/inject/test_support/mini_recorder.h"
#include "collector/inject/torch/collective_ops.h"
#include "collector/inject/torch_build.h"
#include "collector/wire/enum_values.h"
#include "collector/wire/training_records.h"
#include "tests/support/paths.h"

namespace dprof::inject {
namespace {

using wire::Kind;

// The probe's records at a detail level.
struct Recorded {
  std::vector<SeenRecord> seen;
  std::unique_ptr<SeenSession> session;
  std::string memory_source;  // at the requested level

  [[nodiscard]] std::vector<SeenRecord> of(Kind kind) const {
    std::vector<SeenRecord> some;
    std::copy_if(seen.begin(), seen.end(), std::back_inserter(some),
                 [kind](const SeenRecord& one) { return one.record.kind == kind; });
    return some;
  }
  [[nodiscard]] std::multiset<std::string> names(Kind kind) const {
    std::multiset<std::string> some;
    for (const SeenRecord& one : of(kind)) some.insert(one.text);
    return some;
  }
  [[nodiscard]] std::vector<SeenRecord> calls(const std::string& name) const {
    std::vector<SeenRecord> some;
    for (SeenRecord& one : of(Kind::kCollectiveEnqueue)) {
      if (one.text == name) some.push_back(std::move(one));
    }
    return some;
  }
};

Recorded record(const std::string& detail) {
  Recorded recorded;
  const MiniRecorder recorder;
  Child child({test_support::test_bin_dir() + "/torch_probe"},
              {{"LD_PRELOAD", test_support::lib_dir() + "/libdprof.so"},
               {wire::kSocketVariable, recorder.path()},
               {wire::kDetailVariable, detail},
               {"OMP_NUM_THREADS", "1"}});
  recorded.session = recorder.accept();
  if (recorded.session == nullptr) {
    ADD_FAILURE() << "no hello";
    return recorded;
  }
  SeenSession& session = *recorded.session;
  child.hear();
  for (int i = 0; i < 2000 && session.fact(wire::Fact::kTorchSource).empty(); ++i) usleep(10'000);
  child.say("go on");
  child.hear();
  for (SeenRecord& one : session.drain()) recorded.seen.push_back(std::move(one));
  recorded.memory_source = session.fact(wire::Fact::kMemorySource);
  session.control(wire::CaptureState::kRecording, wire::DetailLevel::kFull);
  bool applied = detail == "full";
  for (int i = 0; i < 1000 && !applied; ++i, usleep(10'000)) {
    for (const SeenRecord& one : session.drain()) {
      applied |= one.record.kind == Kind::kDetail && one.record.detail.detail == 3;
    }
  }
  EXPECT_TRUE(applied);
  child.say("go on");
  EXPECT_EQ(child.wait(), 0);
  return recorded;
}

TEST(TorchSource, IsLoadedIntoItsOwnTorch) {
  const Recorded recorded = record("light");
  EXPECT_EQ(recorded.session->fact(wire::Fact::kTorchSource), "on");
  EXPECT_EQ(recorded.session->fact(wire::Fact::kTorchBuildId), kTorchBuildId);
  EXPECT_THAT(kTorchVersion,
              ::testing::StartsWith(recorded.session->fact(wire::Fact::kTorchVersion)));
  EXPECT_EQ(recorded.session->remarks(wire::Remark::kTorchVersionMismatch), 0u);
}

// As if this build were unknown: nothing of torch is recorded until the recorder says that it can
// be read; then everything except what needs virtual function slots.
TEST(TorchSource, ABuildThatIsNotKnownWaitsForTheVerdict) {
  const MiniRecorder recorder;
  Child child({test_support::test_bin_dir() + "/torch_probe"},
              {{"LD_PRELOAD", test_support::lib_dir() + "/libdprof.so"},
               {wire::kSocketVariable, recorder.path()},
               {"DPROF_TORCH_TRUST", "none"},
               {"OMP_NUM_THREADS", "1"}});
  const std::unique_ptr<SeenSession> session = recorder.accept();
  ASSERT_NE(session, nullptr);
  child.hear();
  for (int i = 0; i < 2000 && session->fact(wire::Fact::kTorchPath).empty(); ++i) usleep(10'000);
  EXPECT_THAT(session->fact(wire::Fact::kTorchPath), ::testing::EndsWith("/libtorch_cpu.so"));
  EXPECT_THAT(session->fact(wire::Fact::kTorchSource), ::testing::StartsWith("off: "));
  session->mapping().control()->torch_verdict.store(
      static_cast<uint32_t>(wire::TorchVerdict::kFits), std::memory_order_release);
  for (int i = 0; i < 2000 && session->fact(wire::Fact::kTorchSource) != "on"; ++i) usleep(10'000);
  EXPECT_EQ(session->fact(wire::Fact::kTorchSource), "on");
  child.say("go on");
  child.hear();
  child.say("go on");
  EXPECT_EQ(child.wait(), 0);
  int groups = 0;
  int all_reduces = 0;
  for (const SeenRecord& one : session->drain()) {
    EXPECT_NE(one.record.kind, Kind::kGroupMember);
    if (one.record.kind == Kind::kCommunicator) {
      ++groups;
      EXPECT_EQ(one.text, "the group");
    } else if (one.record.kind == Kind::kCollectiveEnqueue && one.text == "c10d::allreduce_") {
      ++all_reduces;
      EXPECT_EQ(one.record.enqueue.bytes, 32);
    }
  }
  EXPECT_EQ(groups, 1);
  EXPECT_EQ(all_reduces, 4);
}

TEST(TorchSource, LightDetailHasRangesAndExecutions) {
  const Recorded recorded = record("light");
  const auto begins = recorded.names(Kind::kRangeBegin);
  EXPECT_EQ(begins.count("step"), 1u);
  EXPECT_EQ(begins.count("forward"), 1u);
  EXPECT_EQ(begins.count("MulBackward1"), 1u);
  EXPECT_EQ(begins.count("SumBackward0"), 1u);
  for (const std::string& name : begins) {
    EXPECT_THAT(name, ::testing::Not(::testing::StartsWith("aten::")));
    EXPECT_THAT(name, ::testing::Not(::testing::StartsWith("c10d::")));
  }
  EXPECT_EQ(recorded.of(Kind::kRangeEnd).size(), begins.size());
  EXPECT_TRUE(recorded.of(Kind::kCollectiveEnqueue).empty());
  EXPECT_EQ(recorded.names(Kind::kCollectiveBegin).count("gloo:all_gather"), 2u);
  // The level can rise while the program runs.
  const auto later = recorded.session->drain();
  EXPECT_TRUE(std::any_of(later.begin(), later.end(),
                          [](const SeenRecord& one) { return one.text == "aten::mul"; }));
}

TEST(TorchSource, RangesNestAndKeepTheirKind) {
  const Recorded recorded = record("standard");
  std::map<uint32_t, std::vector<uint8_t>> open;
  for (const SeenRecord& one : recorded.seen) {
    if (one.record.kind == Kind::kRangeBegin && one.record.range_begin.key == 0) {
      open[one.ring].push_back(one.record.range_begin.category);
      EXPECT_EQ(one.record.range_begin.source, wire::source::kTorch);
      if (one.text == "step") {
        EXPECT_EQ(one.record.range_begin.category, wire::range_category::kUser);
      } else if (one.text == "MulBackward1") {
        EXPECT_EQ(one.record.range_begin.category, wire::range_category::kAutograd);
        EXPECT_GE(one.record.range_begin.sequence, 0);
      }
    } else if (one.record.kind == Kind::kRangeEnd && one.record.range_end.key == 0) {
      ASSERT_FALSE(open[one.ring].empty());
      EXPECT_EQ(open[one.ring].back(), one.record.range_end.category);
      open[one.ring].pop_back();
    }
  }
  for (const auto& [ring, left] : open) EXPECT_TRUE(left.empty()) << ring;
}

TEST(TorchSource, FullDetailHasOperators) {
  const Recorded recorded = record("full");
  const auto begins = recorded.names(Kind::kRangeBegin);
  EXPECT_GE(begins.count("aten::mul"), 1u);
  EXPECT_GE(begins.count("aten::sum"), 1u);
  EXPECT_EQ(recorded.of(Kind::kRangeEnd).size(), begins.size());
}

struct CallCase {
  const char* op;
  uint8_t function;
  int64_t bytes;
  int64_t count;
  int32_t root;
  uint8_t reduction;
};

TEST(TorchSource, CallsSayWhatTheyMove) {
  using namespace wire::function;
  const Recorded recorded = record("standard");
  const CallCase cases[] = {
      {"c10d::broadcast_", kBroadcast, 32, 8, 1, wire::reduction::kNone},
      {"c10d::allgather_", kAllGather, 32, 8, -1, wire::reduction::kNone},
      {"c10d::reduce_", kReduce, 32, 8, 1, wire::reduction::kSum},
      {"c10d::_reduce_scatter_base_", kReduceScatter, 32, 8, -1, wire::reduction::kSum},
      {"c10d::scatter_", kScatter, 64, 16, 0, wire::reduction::kNone},
      {"c10d::gather_", kGather, 32, 8, 0, wire::reduction::kNone},
      {"c10d::alltoall_base_", kAllToAll, 32, 8, -1, wire::reduction::kNone},
      {"c10d::barrier", kBarrier, 0, 0, -1, wire::reduction::kNone},
  };
  for (const CallCase& want : cases) {
    SCOPED_TRACE(want.op);
    const auto calls = recorded.calls(want.op);
    EXPECT_EQ(calls.size(), 2u) << "one per rank";
    for (const SeenRecord& one : calls) {
      const wire::CollectiveEnqueue& call = one.record.enqueue;
      EXPECT_EQ(call.function, want.function);
      EXPECT_EQ(call.bytes, want.bytes);
      EXPECT_EQ(call.count, want.count);
      EXPECT_EQ(call.root, want.root);
      EXPECT_EQ(call.peer, -1);
      EXPECT_EQ(call.reduction, want.reduction);
      EXPECT_EQ(call.backend, wire::backend::kGloo);
    }
  }
  const auto all_reduces = recorded.calls("c10d::allreduce_");
  ASSERT_EQ(all_reduces.size(), 4u);
  for (const SeenRecord& one : all_reduces) {
    const wire::CollectiveEnqueue& call = one.record.enqueue;
    const bool half = call.data_type == wire::data_type::kFloat16;
    EXPECT_EQ(call.bytes, 32);
    EXPECT_EQ(call.count, half ? 16 : 8);
    EXPECT_EQ(call.reduction, half ? wire::reduction::kSum : wire::reduction::kMax);
  }
  ASSERT_EQ(recorded.calls("c10d::send").size(), 1u);
  EXPECT_EQ(recorded.calls("c10d::send")[0].record.enqueue.peer, 1);
  EXPECT_EQ(recorded.calls("c10d::send")[0].record.enqueue.function, kSend);
  ASSERT_EQ(recorded.calls("c10d::recv_").size(), 1u);
  EXPECT_EQ(recorded.calls("c10d::recv_")[0].record.enqueue.peer, 0);
}

TEST(TorchSource, GroupIsReportedOnceAndNamedByAllCalls) {
  const Recorded recorded = record("standard");
  const auto groups = recorded.of(Kind::kCommunicator);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].text, "the group");
  EXPECT_EQ(groups[0].record.communicator.size, 2);
  EXPECT_EQ(groups[0].record.communicator.backend, wire::backend::kGloo);
  for (const SeenRecord& one : recorded.of(Kind::kCollectiveEnqueue)) {
    EXPECT_EQ(one.record.enqueue.group, groups[0].record.communicator.group);
  }
}

TEST(TorchSource, MembersOfAGroupAreReportedOnceByTheirGlobalRanks) {
  const Recorded recorded = record("standard");
  const auto groups = recorded.of(Kind::kCommunicator);
  ASSERT_EQ(groups.size(), 1u);
  std::map<int32_t, int32_t> ranks;
  const auto members = recorded.of(Kind::kGroupMember);
  EXPECT_EQ(members.size(), 2u);
  for (const SeenRecord& one : members) {
    const auto said = wire::body_of<wire::GroupMember>(one.record);
    EXPECT_EQ(said.group, groups[0].record.communicator.group);
    ranks[said.member] = said.rank;
  }
  EXPECT_EQ(ranks, (std::map<int32_t, int32_t>{{0, 3}, {1, 5}}));
}

TEST(TorchSource, AnAllReduceOutsideOfABackwardPassIsNoBuckets) {
  const Recorded recorded = record("standard");
  const auto calls = recorded.calls("c10d::allreduce_");
  ASSERT_FALSE(calls.empty());
  for (const SeenRecord& one : calls) {
    EXPECT_EQ(one.record.enqueue.bucket, 0);
    EXPECT_EQ(one.record.enqueue.ready_ticks, 0u);
  }
}

TEST(TorchSource, HostAllocationsAreWrittenAtFullDetailOnly) {
  const Recorded full = record("full");
  EXPECT_THAT(full.memory_source, ::testing::StartsWith("host allocations of torch"));
  int allocations = 0;
  int frees = 0;
  for (const SeenRecord& one : full.of(Kind::kMemoryEvent)) {
    const auto event = wire::body_of<wire::MemoryEvent>(one.record);
    EXPECT_EQ(event.device, wire::kHostDevice);
    EXPECT_NE(event.address, 0u);
    const bool allocation = event.kind == wire::memory_event_kind::kAlloc;
    (allocation ? allocations : frees) += 1;
    EXPECT_TRUE(!allocation || event.bytes > 0);
  }
  EXPECT_GT(allocations, 20);
  EXPECT_GT(frees, 20);
  const Recorded standard = record("standard");
  EXPECT_THAT(standard.memory_source, ::testing::StartsWith("host RSS"));
  EXPECT_TRUE(standard.of(Kind::kMemoryEvent).empty());
}

TEST(TorchSource, ExecutionsBeginAndEndOnTheirWorker) {
  const Recorded recorded = record("standard");
  const auto begins = recorded.of(Kind::kCollectiveBegin);
  EXPECT_EQ(begins.size(), recorded.of(Kind::kCollectiveEnqueue).size());
  std::map<uint64_t, SeenRecord> open;
  std::vector<SeenRecord> edges;
  for (const SeenRecord& one : recorded.seen) {
    if (one.record.kind == Kind::kCollectiveBegin || one.record.kind == Kind::kCollectiveEnd) {
      edges.push_back(one);
    }
  }
  std::stable_sort(edges.begin(), edges.end(), [](const SeenRecord& a, const SeenRecord& b) {
    return a.record.ticks < b.record.ticks;
  });
  for (const SeenRecord& one : edges) {
    if (one.record.kind == Kind::kCollectiveBegin) {
      EXPECT_TRUE(open.emplace(one.record.edge.key, one).second);
      continue;
    }
    ASSERT_EQ(open.count(one.record.edge.key), 1u);
    EXPECT_EQ(open[one.record.edge.key].os_tid, one.os_tid);
    open.erase(one.record.edge.key);
  }
  EXPECT_TRUE(open.empty());
}

TEST(TorchSource, WhatNobodyCaughtIsNotedAndEndsTheProgramAsWithoutUs) {
  const MiniRecorder recorder;
  Child child({test_support::test_bin_dir() + "/torch_probe"},
              {{"LD_PRELOAD", test_support::lib_dir() + "/libdprof.so"},
               {wire::kSocketVariable, recorder.path()}});
  const std::unique_ptr<SeenSession> session = recorder.accept();
  ASSERT_NE(session, nullptr);
  child.hear();
  for (int i = 0; i < 2000 && session->fact(wire::Fact::kTorchSource).empty(); ++i) usleep(10'000);
  child.say("throw");
  EXPECT_EQ(child.wait(), 128 + SIGABRT);
  EXPECT_EQ(session->fact(wire::Fact::kException), "std::invalid_argument: stoi");
}

TEST(CollectiveOps, NamesAreFoundWhole) {
  using torch_source::find_collective_op;
  ASSERT_NE(find_collective_op("c10d::allreduce_"), nullptr);
  EXPECT_EQ(find_collective_op("c10d::allreduce_")->function, wire::function::kAllReduce);
  EXPECT_EQ(find_collective_op("c10d::allreduce"), nullptr);
  EXPECT_EQ(find_collective_op("allreduce_"), nullptr);
  EXPECT_EQ(find_collective_op("aten::add"), nullptr);
  EXPECT_EQ(find_collective_op(""), nullptr);
}

}  // namespace
}  // namespace dprof::inject
