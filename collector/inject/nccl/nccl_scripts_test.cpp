// SPDX-License-Identifier: Apache-2.0
// Odd orders, several threads, pauses, and missing NCCLs and recorders.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "collector/inject/test_support/nccl_run.h"
#include "tests/support/paths.h"

namespace dprof::inject::nccl {
namespace {

using wire::Kind;
constexpr uint64_t kScriptHash = 0xfeed'beef'0123'4567;

class NcclScriptTest : public NcclHostTest {};

std::vector<uint64_t> sequences_of(const std::vector<SeenRecord>& seen) {
  std::vector<uint64_t> sequences;
  for (const auto& one : of_kind<wire::NcclPointToPoint>(seen, Kind::kNcclPointToPoint)) {
    sequences.push_back(one.body.sequence);
  }
  return sequences;
}

TEST_P(NcclScriptTest, OddOrdersDoNoHarmAndMakeNoRecords) {
  const auto seen = recorded({"odd"});
  EXPECT_EQ(of_kind<wire::NcclCommunicator>(seen, Kind::kNcclCommunicator).size(), 1u);
  const auto collectives = of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective);
  ASSERT_EQ(collectives.size(), 3u);
  for (const auto& one : collectives) {
    EXPECT_EQ(one.body.hash, 0u) << "of no known communicator";
    EXPECT_EQ(one.text, "");
    EXPECT_EQ(one.body.function, wire::function::kUnknown);
  }
  EXPECT_EQ(of_kind<wire::NcclLaunch>(seen, Kind::kNcclLaunch).size(), 2u);
  EXPECT_EQ(sequences_of(seen), std::vector<uint64_t>({wire::kNoSequence}));
  EXPECT_TRUE(of_kind<wire::NcclProxy>(seen, Kind::kNcclProxy).empty());
  EXPECT_TRUE(of_kind<wire::NcclKernelChannel>(seen, Kind::kNcclKernelChannel).empty());
}

TEST_P(NcclScriptTest, OneRankIsACommunicatorWithoutEvents) {
  const auto seen = recorded({"one_rank"});
  const auto communicators = of_kind<wire::NcclCommunicator>(seen, Kind::kNcclCommunicator);
  ASSERT_EQ(communicators.size(), 1u);
  EXPECT_EQ(communicators[0].text, "alone");
  EXPECT_EQ(communicators[0].body.ranks, 1);
  EXPECT_EQ(session_->fact(wire::Fact::kNcclSource), "on");
}

TEST_P(NcclScriptTest, CommunicatorsThatComeAgainAreOthers) {
  const auto seen = recorded({"again"});
  std::vector<std::pair<std::string, uint64_t>> ordinals;
  for (const auto& one : of_kind<wire::NcclCommunicator>(seen, Kind::kNcclCommunicator)) {
    ordinals.emplace_back(one.text, one.body.ordinal);
  }
  EXPECT_EQ(ordinals, (std::vector<std::pair<std::string, uint64_t>>{
                          {"again", 0}, {"again", 1}, {"again", 2}, {"first", 0}, {"second", 1}}));
  EXPECT_EQ(sequences_of(seen), std::vector<uint64_t>({0, 1, 0, 1, 0, 1, 0}))
      << "counted anew for each";
}

TEST_P(NcclScriptTest, CapturedCallsHaveNoNumbers) {
  const auto seen = recorded({"captured"});
  const auto calls = of_kind<wire::NcclCall>(seen, Kind::kNcclCall);
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].body.flags & wire::nccl_flag::kCaptured, 0);
  EXPECT_NE(calls[1].body.flags & wire::nccl_flag::kCaptured, 0);
  EXPECT_NE(calls[2].body.flags & wire::nccl_flag::kCaptured, 0);
  const auto collectives = of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective);
  ASSERT_EQ(collectives.size(), 1u);
  EXPECT_EQ(collectives[0].body.flags, wire::nccl_flag::kCaptured);
  EXPECT_EQ(collectives[0].body.sequence, wire::kNoSequence);
  EXPECT_EQ(sequences_of(seen), std::vector<uint64_t>({0, wire::kNoSequence, 1}));
}

TEST_P(NcclScriptTest, ThreadsAndCommunicatorsAtOnce) {
  constexpr size_t kThreads = 6;
  constexpr size_t kCalls = 200;
  const auto seen = recorded({"threads", std::to_string(kThreads)});
  std::set<uint64_t> hashes;
  for (const auto& one : of_kind<wire::NcclCommunicator>(seen, Kind::kNcclCommunicator)) {
    hashes.insert(one.body.hash);
  }
  EXPECT_EQ(hashes.size(), kThreads);
  std::map<uint64_t, std::vector<uint64_t>> sends;
  for (const auto& one : of_kind<wire::NcclPointToPoint>(seen, Kind::kNcclPointToPoint)) {
    if (one.body.function == wire::function::kSend) {
      sends[one.body.hash].push_back(one.body.sequence);
    }
  }
  EXPECT_EQ(sends.size(), kThreads);
  for (const auto& [hash, sequences] : sends) {
    ASSERT_EQ(sequences.size(), kCalls) << std::hex << hash;
    for (size_t i = 0; i < kCalls; ++i) EXPECT_EQ(sequences[i], i);
  }
  std::set<uint64_t> begun;
  for (const auto& one : of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective)) {
    EXPECT_TRUE(begun.insert(one.body.id).second) << "an id twice";
  }
  EXPECT_EQ(begun.size(), kThreads * (kCalls + 1));
}

TEST_P(NcclScriptTest, PauseSwitchesNcclItselfAndKeepsTheCounts) {
  const auto child = record({"switched"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), "ready");
  std::vector<SeenRecord> seen = session->drain();
  EXPECT_EQ(of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective).size(), 2u);
  EXPECT_EQ(sequences_of(seen), std::vector<uint64_t>({0}));
  session->control(wire::CaptureState::kArmed, wire::DetailLevel::kStandard);
  child->say("go");
  ASSERT_EQ(child->hear(), "ready");
  seen = session->drain();
  EXPECT_TRUE(of_kind<wire::NcclCall>(seen, Kind::kNcclCall).empty());
  EXPECT_TRUE(of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective).empty());
  EXPECT_TRUE(sequences_of(seen).empty());
  EXPECT_EQ(of_kind<wire::NcclCommunicator>(seen, Kind::kNcclCommunicator).size(), 1u)
      << "a communicator is never missed";
  session->control(wire::CaptureState::kRecording, wire::DetailLevel::kLight);
  child->say("go");
  EXPECT_EQ(child->wait(), 0);
  seen = session->drain();
  EXPECT_EQ(of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective).size(), 1u);
  EXPECT_EQ(sequences_of(seen), std::vector<uint64_t>({3})) << "two were counted in the pause";
}

TEST_P(NcclScriptTest, NothingGoesOnWhenTheRecorderIsGone) {
  const auto child = record({"gone"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), "ready");
  session->hang_up();
  child->say("go");
  EXPECT_EQ(child->wait(), 0);
}

TEST_P(NcclScriptTest, WithoutARecorderTheMaskStaysEmpty) {
  EXPECT_EQ(run({"nobody"})->wait(), 0) << "no socket";
  EXPECT_EQ(run({"nobody"}, {{wire::kSocketVariable, "/nowhere/socket"}})->wait(), 0) << "refused";
}

TEST_P(NcclScriptTest, ForkChildrenRecordNothing) {
  const auto seen = recorded({"forked"});
  EXPECT_EQ(of_kind<wire::NcclCommunicator>(seen, Kind::kNcclCommunicator).size(), 1u);
  EXPECT_EQ(of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective).size(), 2u);
}

TEST_P(NcclScriptTest, MorePeersThanCanBeCountedAreUnknownNotWrong) {
  constexpr size_t kPeers = 20'000;
  const auto child = record({"many_peers", std::to_string(kPeers)});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  std::vector<uint64_t> sequences;
  const auto take = [&] {
    for (const uint64_t sequence : sequences_of(session->drain())) sequences.push_back(sequence);
  };
  for (size_t part = 0; part < kPeers / 4000; ++part) {
    ASSERT_EQ(child->hear(), "ready");
    take();
    child->say("go");
  }
  EXPECT_EQ(child->wait(), 0);
  take();
  EXPECT_EQ(session->dropped(), 0u);
  ASSERT_EQ(sequences.size(), kPeers + 1);
  const auto first_unknown = std::find(sequences.begin(), sequences.end(), wire::kNoSequence);
  EXPECT_GT(first_unknown - sequences.begin(), 1000);
  for (auto at = sequences.begin(); at != first_unknown; ++at) EXPECT_EQ(*at, 0u);
  for (auto at = first_unknown; at != sequences.end(); ++at) EXPECT_EQ(*at, wire::kNoSequence);
}

TEST_P(NcclScriptTest, MoreCommunicatorsThanPlacesAreNotKnownByHash) {
  const auto seen = recorded({"many_communicators", "1030"});
  EXPECT_EQ(of_kind<wire::NcclCommunicator>(seen, Kind::kNcclCommunicator).size(), 1024u);
  const auto collectives = of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective);
  ASSERT_EQ(collectives.size(), 1u);
  EXPECT_EQ(collectives[0].body.hash, 0u);
}

TEST_P(NcclScriptTest, RankVariablesAreReadAgain) {
  const auto seen = recorded({"one_rank"}, {{"RANK", "3"}, {"WORLD_SIZE", "4"}});
  EXPECT_THAT(session_->fact(wire::Fact::kRankVariables), ::testing::HasSubstr("RANK=3"));
}

TEST(NcclLibrary, TooOldIsNamed) {
  const std::string library = test_support::lib_dir() + "/libdprof.so";
  if (!std::filesystem::exists(library)) {
    GTEST_SKIP() << "no libdprof.so in this build (sanitizers)";
  }
  const MiniRecorder recorder;
  Child child({test_support::test_bin_dir() + "/nccl_host", "loaded",
               test_support::test_bin_dir() + "/old_nccl/libnccl.so.2"},
              {{"NVTX_INJECTION64_PATH", library},
               {"NCCL_PROFILER_PLUGIN", library},
               {wire::kSocketVariable, recorder.path()}});
  const auto session = recorder.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(child.hear(), "ready");
  EXPECT_TRUE(soon([&] { return session->remarks(wire::Remark::kNcclTooOld) == 1; }));
  EXPECT_TRUE(soon([&] { return session->fact(wire::Fact::kNcclVersion) == "2.25.5"; }));
  EXPECT_TRUE(soon(
      [&] { return session->fact(wire::Fact::kNcclSource).rfind("off: NCCL 2.25.5", 0) == 0; }));
  child.say("end");
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(session->remarks(wire::Remark::kNcclTooOld), 1u);
}

INSTANTIATE_TEST_SUITE_P(Host, NcclScriptTest, ::testing::Values(How::kLinked, How::kPlugin),
                         [](const auto& test) {
                           return test.param == How::kLinked ? "Linked" : "Plugin";
                         });

}  // namespace
}  // namespace dprof::inject::nccl
