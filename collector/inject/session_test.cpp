// SPDX-License-Identifier: Apache-2.0
// The collector in real child processes, against the test's own recorder. Each case runs with the
// collector linked into the child and, if built, preloaded as libdprof.so.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include "collector/inject/test_support/mini_recorder.h"
#include "collector/inject/test_support/soon.h"
#include "collector/wire/enum_values.h"
#include "tests/support/paths.h"

namespace dprof::inject {
namespace {

using wire::Kind;
using Environment = std::vector<std::pair<std::string, std::string>>;

constexpr int kKilled = 128 + SIGKILL;

enum class How { kLinked, kPreloaded };

class SessionTest : public ::testing::TestWithParam<How> {
 protected:
  void SetUp() override {
    if (GetParam() == How::kPreloaded && !std::filesystem::exists(library())) {
      GTEST_SKIP() << "no libdprof.so in this build (sanitizers)";
    }
  }
  static std::string library() { return test_support::lib_dir() + "/libdprof.so"; }

  static std::unique_ptr<Child> run(std::vector<std::string> arguments, Environment environment) {
    if (GetParam() == How::kLinked) {
      arguments.insert(arguments.begin(), test_support::test_bin_dir() + "/inject_probe_linked");
    } else {
      arguments.insert(arguments.begin(), test_support::test_bin_dir() + "/inject_probe");
      environment.emplace_back("LD_PRELOAD", library());
      environment.emplace_back("NVTX_INJECTION64_PATH", library());
    }
    return std::make_unique<Child>(arguments, environment);
  }
  std::unique_ptr<Child> record(std::vector<std::string> arguments,
                                Environment environment = {}) const {
    environment.emplace_back(wire::kSocketVariable, recorder_.path());
    return run(std::move(arguments), std::move(environment));
  }

  MiniRecorder recorder_;
};

std::vector<SeenRecord> of_kind(const std::vector<SeenRecord>& seen, Kind kind) {
  std::vector<SeenRecord> some;
  std::copy_if(seen.begin(), seen.end(), std::back_inserter(some),
               [kind](const SeenRecord& one) { return one.record.kind == kind; });
  return some;
}

std::vector<std::string> names(const std::vector<SeenRecord>& seen) {
  std::vector<std::string> some;
  for (const SeenRecord& one : seen) some.push_back(one.text);
  return some;
}

std::vector<std::string> begun(const std::vector<SeenRecord>& seen) {
  return names(of_kind(seen, Kind::kRangeBegin));
}

TEST_P(SessionTest, HelloSaysWhoItIs) {
  const auto child = record({"everything"}, {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"PMI_RANK", ""}});
  const pid_t pid = child->pid();
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(child->wait(), 0);
  EXPECT_EQ(session->hello().magic, wire::kMagic);
  EXPECT_EQ(session->hello().wire_version, wire::kWireVersion);
  EXPECT_EQ(session->hello().pid, pid);
  EXPECT_EQ(session->hello().error_number, 0);
  EXPECT_EQ(session->texts().at("RANK"), "3");
  EXPECT_EQ(session->texts().at("WORLD_SIZE"), "8");
  EXPECT_EQ(session->texts().at("PMI_RANK"), "");
  EXPECT_THAT(session->texts().at("cmdline"), ::testing::EndsWith(" everything"));
  ASSERT_TRUE(session->has_memory());
  EXPECT_TRUE(session->sealed());
  EXPECT_EQ(session->header().magic, wire::kMagic);
  EXPECT_EQ(session->header().scale.source, wire::ClockSource::kMonotonic);
  EXPECT_TRUE(soon([&] { return session->hung_up(); }));
  EXPECT_EQ(session->header().clean_end.load(), wire::clean_end_of(0));
}

TEST_P(SessionTest, ClockComesFromTheEnvironment) {
  const auto child = record({"everything"}, {{wire::kClockVariable, "1 1000 4194304 23"}});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(child->wait(), 0);
  EXPECT_EQ(session->header().scale.source, wire::ClockSource::kTsc);
  EXPECT_EQ(session->header().scale.tick0, 1000u);
  EXPECT_EQ(session->header().scale.multiplier, 4194304u);
  EXPECT_EQ(session->header().scale.shift, 23u);
}

TEST_P(SessionTest, RangesKeepWhatNvtxSaid) {
  const auto child = record({"everything"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->wait(), 0);
  const std::vector<SeenRecord> seen = session->drain();
  const auto begins = of_kind(seen, Kind::kRangeBegin);
  EXPECT_THAT(names(begins),
              ::testing::ElementsAre("outer", "registered", "wide \u00e9\u4e16\U0001f600", "moment",
                                     "registered"));
  for (size_t i = 1; i < seen.size(); ++i) {
    if (seen[i].ring == seen[i - 1].ring) {
      EXPECT_GE(seen[i].record.ticks, seen[i - 1].record.ticks);
    }
  }
  const wire::RangeBegin& plain = begins[0].record.range_begin;
  EXPECT_EQ(plain.category, wire::range_category::kNvtx);
  EXPECT_EQ(plain.source, wire::source::kNvtx);
  EXPECT_EQ(plain.sequence, -1);
  EXPECT_EQ(plain.has, 0);
  const wire::RangeBegin& rich = begins[1].record.range_begin;
  EXPECT_EQ(begins[1].domain, "library");
  EXPECT_EQ(rich.color, 0xff112233u);
  EXPECT_EQ(rich.nvtx_category, 7u);
  EXPECT_EQ(rich.has, wire::kHasColor | wire::kHasNvtxCategory);
  EXPECT_EQ(rich.payload_kind, wire::payload_kind::kInt64);
  EXPECT_EQ(static_cast<int64_t>(rich.payload), -5);
  EXPECT_EQ(begins[2].record.range_begin.category, wire::range_category::kNvtxProcess);
  EXPECT_NE(begins[2].record.range_begin.key, 0u);
  EXPECT_EQ(begins[3].record.range_begin.category, wire::range_category::kNvtxMark);

  const auto ends = of_kind(seen, Kind::kRangeEnd);
  ASSERT_EQ(ends.size(), 4u) << "one per range, none for the mark and for the pop too many";
  const auto across = std::find_if(ends.begin(), ends.end(), [&](const SeenRecord& one) {
    return one.record.range_end.key == begins[2].record.range_begin.key;
  });
  ASSERT_NE(across, ends.end());
  EXPECT_NE(across->os_tid, begins[2].os_tid) << "it ended on another thread";
}

TEST_P(SessionTest, PayloadsComeWithTheirSchema) {
  const auto child = record({"everything"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->wait(), 0);
  const std::vector<SeenRecord> seen = session->drain();
  const auto fields = of_kind(seen, Kind::kSchemaEntry);
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_THAT(names(fields), ::testing::ElementsAre("hash", "op", "bytes"));
  const uint64_t offsets[] = {0, 8, 16};  // the last one found by natural alignment
  for (size_t i = 0; i < fields.size(); ++i) {
    EXPECT_EQ(fields[i].domain, "library");
    EXPECT_EQ(fields[i].record.schema_entry.index, i);
    EXPECT_EQ(fields[i].record.schema_entry.offset, offsets[i]);
  }
  const uint64_t id = fields[0].record.schema_entry.schema_id;
  EXPECT_GE(id, uint64_t{1} << 32) << "an id that the tool chose";

  const SeenRecord begin = of_kind(seen, Kind::kRangeBegin).back();
  EXPECT_EQ(begin.record.range_begin.payload_kind, wire::payload_kind::kSchema);
  EXPECT_EQ(begin.record.range_begin.schema_id, id);
  const uint64_t want[] = {0xabcdef, 3, 4096};
  ASSERT_EQ(begin.record.range_begin.payload, sizeof want);
  ASSERT_GE(begin.more.size(), sizeof want);
  EXPECT_EQ(memcmp(begin.more.data(), want, sizeof want), 0);
  const auto ends = of_kind(seen, Kind::kRangeEnd);
  const auto end = std::find_if(ends.begin(), ends.end(), [](const SeenRecord& one) {
    return one.record.range_end.payload_kind == wire::payload_kind::kSchema;
  });
  ASSERT_NE(end, ends.end());
  ASSERT_EQ(end->record.range_end.payload, sizeof want);
  EXPECT_EQ(memcmp(end->more.data(), want, sizeof want), 0);
}

TEST_P(SessionTest, ThreadsAreNamed) {
  const auto child = record({"everything"});
  const pid_t pid = child->pid();
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->wait(), 0);
  const auto named = of_kind(session->drain(), Kind::kThreadName);
  EXPECT_TRUE(std::any_of(named.begin(), named.end(), [pid](const SeenRecord& one) {
    return one.text.rfind("inject_probe", 0) == 0 && one.os_tid == static_cast<uint32_t>(pid) &&
           one.record.thread_name.os_tid == 0;
  }));
  EXPECT_TRUE(std::any_of(named.begin(), named.end(), [](const SeenRecord& one) {
    return one.text == "named" && one.record.thread_name.os_tid == 4242;
  }));
}

TEST_P(SessionTest, SeveralLinkageUnitsShareDomains) {
  const auto child = record({"units"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->wait(), 0);
  std::set<uint32_t> domains;
  size_t ranges = 0;
  for (const SeenRecord& one : of_kind(session->drain(), Kind::kRangeBegin)) {
    EXPECT_EQ(one.text, "from a unit");
    EXPECT_EQ(one.domain, "shared");
    domains.insert(one.record.range_begin.domain);
    ++ranges;
  }
  EXPECT_EQ(ranges, 3u);
  EXPECT_EQ(domains.size(), 1u);
}

TEST_P(SessionTest, RingsAreReusedWhenThreadsEnd) {
  const auto child = record({"threads", "300"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  std::vector<SeenRecord> seen;
  while (!session->hung_up()) {
    for (SeenRecord& one : session->drain()) seen.push_back(std::move(one));
  }
  for (SeenRecord& one : session->drain()) seen.push_back(std::move(one));
  EXPECT_EQ(child->wait(), 0);
  EXPECT_EQ(of_kind(seen, Kind::kRangeBegin).size(), 300u * 50u);
  EXPECT_EQ(of_kind(seen, Kind::kRangeEnd).size(), 300u * 50u);
  EXPECT_EQ(session->loss(wire::SharedLoss::kNoRing), 0u);
  EXPECT_EQ(session->dropped(), 0u);
  std::set<uint32_t> tids;
  for (const SeenRecord& one : of_kind(seen, Kind::kRangeBegin)) tids.insert(one.os_tid);
  EXPECT_EQ(tids.size(), 300u);
}

TEST_P(SessionTest, ThreadsWithoutARingAreCounted) {
  const auto child = record({"live_threads", "140"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->wait(), 0);
  const std::vector<SeenRecord> seen = session->drain();
  const size_t recorded = of_kind(seen, Kind::kRangeBegin).size();
  EXPECT_LE(recorded, wire::kMaxRings);
  EXPECT_GE(recorded, wire::kMaxRings - 2) << "the helper has one ring, and may hold a spare one";
  EXPECT_EQ(of_kind(seen, Kind::kRangeEnd).size(), recorded);
  EXPECT_EQ(session->loss(wire::SharedLoss::kNoRing), 140 - recorded);
}

TEST_P(SessionTest, FullRingDropsAndCounts) {
  const auto child = record({"ranges", "20000"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  child->hear();
  session->drain();
  child->say("go on");
  ASSERT_EQ(child->wait(), 0);
  const std::vector<SeenRecord> seen = session->drain();
  const size_t begins = of_kind(seen, Kind::kRangeBegin).size();
  EXPECT_GT(begins, (wire::kRingSlots - wire::kEndReserve) / 2 - 100);
  EXPECT_EQ(of_kind(seen, Kind::kRangeEnd).size(), begins) << "what was begun was ended";
  EXPECT_EQ(session->dropped(), 40000 - begins) << "every lost range is counted once";
}

TEST_P(SessionTest, KilledProcessLosesNothing) {
  const auto child = record({"killed"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(child->wait(), kKilled);
  const std::vector<SeenRecord> seen = session->drain();
  EXPECT_EQ(of_kind(seen, Kind::kRangeBegin).size(), 1000u);
  EXPECT_EQ(of_kind(seen, Kind::kRangeEnd).size(), 1000u);
  EXPECT_EQ(session->header().clean_end.load(), 0u);
}

TEST_P(SessionTest, UnderscoreExitIsAGoodEnd) {
  if (GetParam() == How::kLinked) GTEST_SKIP() << "_exit is wrapped by the preloaded library only";
  const auto child = record({"_exit"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(child->wait(), 0);
  EXPECT_EQ(session->header().clean_end.load(), wire::clean_end_of(0));
}

TEST_P(SessionTest, ForkChildRecordsNothing) {
  const auto child = record({"fork"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  child->hear();
  EXPECT_EQ(session->header().clean_end.load(), 0u) << "the child's end is not the parent's";
  child->say("go on");
  EXPECT_EQ(child->wait(), 0);
  EXPECT_THAT(begun(session->drain()), ::testing::ElementsAre("before", "after"));
  EXPECT_EQ(recorder_.accept(100), nullptr) << "and it makes no session of its own";
}

TEST_P(SessionTest, RawForkChildRecordsNothing) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers do not support a raw fork";
#endif
  const auto child = record({"raw_fork"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  child->hear();
  child->say("go on");
  EXPECT_EQ(child->wait(), 0);
  EXPECT_THAT(begun(session->drain()), ::testing::ElementsAre("before", "after"));
}

TEST_P(SessionTest, ForkChildMayCallTheLoader) {
  const auto child = record({"forks", "400"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(child->wait(), 0);
}

TEST_P(SessionTest, ForkChildDoesNotHideTheParentsEnd) {
  const auto child = record({"orphan"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(child->wait(), 0);
  EXPECT_TRUE(soon([&] { return session->hung_up(); }));
}

TEST_P(SessionTest, VforkChildsExitIsNotTheParents) {
  const auto child = record({"vfork"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  child->hear();
  EXPECT_EQ(session->header().clean_end.load(), 0u);
  child->say("go on");
  EXPECT_EQ(child->wait(), kKilled);
  EXPECT_EQ(session->header().clean_end.load(), 0u);
}

TEST_P(SessionTest, ExecStartsANewSession) {
  const auto child = record({"exec"});
  const auto first = recorder_.accept();
  ASSERT_NE(first, nullptr);
  const auto second = recorder_.accept();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(child->wait(), 0);
  EXPECT_EQ(first->hello().pid, second->hello().pid);
  EXPECT_LT(first->hello().first_event_ticks, second->hello().first_event_ticks);
  EXPECT_TRUE(soon([&] { return first->hung_up(); }));
  EXPECT_THAT(begun(first->drain()), ::testing::ElementsAre("before exec"));
  EXPECT_EQ(first->header().clean_end.load(), 0u);
  EXPECT_THAT(begun(second->drain()), ::testing::Contains("outer"));
  EXPECT_EQ(second->header().clean_end.load(), wire::clean_end_of(0));
}

TEST_P(SessionTest, ClosedDescriptorsDoNotEndTheRecording) {
  const auto child = record({"closed"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(child->wait(), 0) << "the program's own descriptor was left alone";
  EXPECT_TRUE(session->hung_up());
  EXPECT_THAT(begun(session->drain()), ::testing::ElementsAre("before", "after"));
}

TEST_P(SessionTest, NoSocketVariableMeansNothingHappens) {
  const auto child = run({"nothing"}, {});
  EXPECT_EQ(child->wait(), 0);
}

TEST_P(SessionTest, DeadRecorderMeansNothingHappens) {
  const auto gone = run({"nothing"}, {{wire::kSocketVariable, recorder_.folder() + "/none"}});
  EXPECT_EQ(gone->wait(), 0);
  const std::string path = recorder_.folder() + "/dead";
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const auto refused = run({"nothing"}, {{wire::kSocketVariable, path}});
  EXPECT_EQ(refused->wait(), 0);
  close(socket);
  const auto too_long = run({"nothing"}, {{wire::kSocketVariable, std::string(300, 'x')}});
  EXPECT_EQ(too_long->wait(), 0);
}

TEST_P(SessionTest, SmallFileLimitIsReported) {
  const auto child = record({"small_files"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(child->wait(), 0) << "and the process lives on";
  EXPECT_FALSE(session->has_memory());
  EXPECT_EQ(session->hello().error_number, EFBIG);
  EXPECT_EQ(session->texts().at("error"), "RLIMIT_FSIZE");
}

TEST_P(SessionTest, FullBacklogIsWaitedFor) {
  const MiniRecorder busy(0);
  std::vector<int> others;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  busy.path().copy(address.sun_path, sizeof address.sun_path - 1);
  for (;;) {
    const int other = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    others.push_back(other);
    if (connect(other, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) break;
  }
  ASSERT_EQ(errno, EAGAIN);
  const auto child = run({"ranges", "10"}, {{wire::kSocketVariable, busy.path()}});
  EXPECT_EQ(child->hear(), "ready") << "the program does not wait";
  for (const int other : others) close(other);
  std::unique_ptr<SeenSession> session;
  for (int i = 0; i < 50 && session == nullptr; ++i) session = busy.accept(100);
  ASSERT_NE(session, nullptr);
  child->say("go on");
  EXPECT_EQ(child->wait(), 0);
  EXPECT_EQ(begun(session->drain()).size(), 20u);
}

TEST_P(SessionTest, CaptureFollowsTheControlPage) {
  const auto child = record({"until_disabled"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  child->hear();
  session->control(wire::CaptureState::kArmed, wire::DetailLevel::kStandard);
  child->say("go on");
  child->hear();
  session->control(wire::CaptureState::kRecording, wire::DetailLevel::kFull);
  child->say("go on");
  EXPECT_EQ(child->wait(), 0);
  const std::vector<SeenRecord> seen = session->drain();
  EXPECT_THAT(begun(seen), ::testing::ElementsAre("before", "again"));
  EXPECT_EQ(of_kind(seen, Kind::kRangeEnd).size(), 2u);
  std::vector<std::pair<uint32_t, uint32_t>> details;
  for (const SeenRecord& one : of_kind(seen, Kind::kDetail)) {
    details.emplace_back(one.record.detail.state, one.record.detail.detail);
  }
  const auto recording = static_cast<uint32_t>(wire::CaptureState::kRecording);
  const auto armed = static_cast<uint32_t>(wire::CaptureState::kArmed);
  EXPECT_THAT(details,
              ::testing::ElementsAre(::testing::Pair(recording, 2u), ::testing::Pair(armed, 2u),
                                     ::testing::Pair(recording, 3u)));
}

TEST_P(SessionTest, DeadRecorderSwitchesEverythingOff) {
  const auto child = record({"until_disabled"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  child->hear();
  session->hang_up();
  child->say("go on");
  child->hear();
  child->say("go on");
  EXPECT_EQ(child->wait(), 0) << "training goes on";
  EXPECT_THAT(begun(session->drain()), ::testing::ElementsAre("before"));
}

INSTANTIATE_TEST_SUITE_P(Inject, SessionTest, ::testing::Values(How::kLinked, How::kPreloaded),
                         [](const auto& test) {
                           return test.param == How::kLinked ? "Linked" : "Preloaded";
                         });

}  // namespace
}  // namespace dprof::inject
