// SPDX-License-Identifier: Apache-2.0
// A recording with a malicious process beside an honest rank. Whatever it does is counted and
// reported, the recorder survives it, and the honest rank's trace is complete.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "schema/trace_reader.h"
#include "tests/support/paths.h"
#include "tests/support/running.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;
using schema::LossReason;
using schema::TraceReader;
using test_support::TemporaryFolder;
using test_support::test_bin_dir;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

constexpr int kRanges = 2000;

class RecordHostileTest : public ::testing::Test {
 protected:
  // Records an honest rank 0 of 2, which lives until the hostile rank 1 has done everything it was
  // asked to, and checks that nothing of rank 0 is missing.
  void record(const std::string& hostile, const std::string& variables = "RANK=1 WORLD_SIZE=2") {
    const std::string honest = fmt::format(
        "RANK=0 WORLD_SIZE=2 {0}/recorder_writer hello ranges={1} sleep=100 ranges={1} clean",
        test_bin_dir(), kRanges / 2);
    const std::string script =
        fmt::format("{} & sleep 0.05; {} {}/recorder_hostile {}; code=$?; {}; wait; exit $code",
                    honest, variables, test_bin_dir(), hostile, "sleep 0.05");
    ended_ = test_support::run(scratch_,
                               {test_bin_dir() + "/recorder_record", "r", "/bin/sh", "-c", script});
    EXPECT_THAT(ended_.code, AnyOf(0, 5)) << ended_.err;
    index_ = nlohmann::json::parse(test_support::text_of(scratch_.path() / "r/run.json"));
    const Result<TraceReader> trace = TraceReader::open(scratch_.path() / "r/rank-00000.dprof");
    ASSERT_TRUE(trace.ok()) << trace.error().what;
    EXPECT_EQ(trace->meta("ended"), "complete");
    EXPECT_EQ(*trace->count("host_range"), kRanges);
    EXPECT_EQ(*trace->count("loss"), 0);
  }

  [[nodiscard]] Result<TraceReader> hostile_trace() const {
    return TraceReader::open(scratch_.path() / "r/rank-00001.dprof");
  }
  [[nodiscard]] std::vector<std::string> run_diagnostics() const {
    std::vector<std::string> codes;
    for (const nlohmann::json& one : index_["diagnostics"]) codes.push_back(one["code"]);
    return codes;
  }
  static std::vector<std::string> trace_diagnostics(const TraceReader& trace) {
    std::vector<std::string> codes;
    const auto rows = *trace.read_all<schema::DiagnosticRow>();
    for (const schema::DiagnosticRow& row : rows) codes.push_back(row.code);
    return codes;
  }
  static int64_t lost(const TraceReader& trace, LossReason reason) {
    int64_t sum = 0;
    const auto rows = *trace.read_all<schema::LossRow>();
    for (const schema::LossRow& row : rows) sum += row.reason == reason ? row.count : 0;
    return sum;
  }

  TemporaryFolder scratch_;
  test_support::Ended ended_;
  nlohmann::json index_;
};

// --- the contents of the shared memory ---

TEST_F(RecordHostileTest, NoiseInTheRingIsCounted) {
  ASSERT_NO_FATAL_FAILURE(record("hello ranges=10 noise=5000 ranges=10 sleep=50 clean"));
  EXPECT_EQ(ended_.code, 5);
  const Result<TraceReader> trace = hostile_trace();
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_GE(*trace->count("host_range"), 10) << "what came before the noise";
  EXPECT_GT(lost(*trace, LossReason::kBadRecord), 1000);
  EXPECT_THAT(trace_diagnostics(*trace), IsSupersetOf({"records_lost", "damaged_ring"}));
}

TEST_F(RecordHostileTest, HeadsThatJumpAreCounted) {
  ASSERT_NO_FATAL_FAILURE(record("hello ranges=10 drained heads=60 clean"));
  const Result<TraceReader> trace = hostile_trace();
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_GE(*trace->count("host_range"), 10);
  EXPECT_GT(lost(*trace, LossReason::kBadRecord), 0);
  EXPECT_THAT(trace_diagnostics(*trace), Contains("damaged_ring"));
}

TEST_F(RecordHostileTest, ADamagedControlPageDoesNoHarm) {
  ASSERT_NO_FATAL_FAILURE(record("hello ranges=10 drained control=200 ranges=10 clean"));
  const Result<TraceReader> trace = hostile_trace();
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(*trace->count("host_range"), 20) << "nothing is read from that page";
}

TEST_F(RecordHostileTest, ADamagedDirectoryIsCounted) {
  ASSERT_NO_FATAL_FAILURE(record("hello ranges=10 drained directory=200"));
  EXPECT_EQ(ended_.code, 5);
  const Result<TraceReader> trace = hostile_trace();
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_GE(*trace->count("host_range"), 10);
  EXPECT_THAT(trace_diagnostics(*trace), Contains("damaged_ring"));
}

TEST_F(RecordHostileTest, ADamagedHeaderDoesNoHarm) {
  ASSERT_NO_FATAL_FAILURE(record("hello ranges=10 drained header=200"));
  const Result<TraceReader> trace = hostile_trace();
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(*trace->count("host_range"), 10);
}

TEST_F(RecordHostileTest, AFullArenaIsCounted) {
  ASSERT_NO_FATAL_FAILURE(record("hello arena ranges=10 clean"));
  EXPECT_EQ(ended_.code, 5);
  const Result<TraceReader> trace = hostile_trace();
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(lost(*trace, LossReason::kArenaFull), 10);
  EXPECT_EQ(*trace->count("host_range"), 10) << "names that are known already stay known";
}

// --- who says hello ---

TEST_F(RecordHostileTest, StrangeHellosAreTurnedAway) {
  for (const char* hello : {"hello-noise", "hello-cut", "hello-empty"}) {
    SCOPED_TRACE(hello);
    fs::remove_all(scratch_.path() / "r");
    ASSERT_NO_FATAL_FAILURE(record(hello));
    EXPECT_THAT(ended_.err, HasSubstr("turned_away: 1 connections"));
    EXPECT_THAT(run_diagnostics(), Contains("turned_away"));
  }
}

TEST_F(RecordHostileTest, OddMemoryIsRefusedWithItsReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"memory-small", "too small"},       {"memory-open", "not sealed"},
      {"memory-file", "not sealed"},       {"memory-read-only", "cannot map"},
      {"hello-descriptors", "not sealed"}, {"hello-version", "speaks version 77"},
  };
  for (const auto& [action, reason] : cases) {
    SCOPED_TRACE(action);
    fs::remove_all(scratch_.path() / "r");
    ASSERT_NO_FATAL_FAILURE(record(action));
    EXPECT_THAT(ended_.err, HasSubstr(reason));
  }
}

TEST_F(RecordHostileTest, AThousandRefusalsAreNamedOnlyAtFirst) {
  std::string many;
  for (int i = 0; i < 100; ++i) many += "hello-version ";
  ASSERT_NO_FATAL_FAILURE(record(many));
  EXPECT_THAT(ended_.err, HasSubstr("and 84 more like these"));
}

TEST_F(RecordHostileTest, AFloodOfSilentConnectionsIsSurvived) {
  ASSERT_NO_FATAL_FAILURE(record("silent=500 hello ranges=10 clean"));
  EXPECT_THAT(ended_.err, HasSubstr("turned_away: 500 connections"));
  const Result<TraceReader> trace = hostile_trace();
  ASSERT_TRUE(trace.ok()) << "one that does say hello in the end is recorded";
  EXPECT_EQ(*trace->count("host_range"), 10);
}

TEST_F(RecordHostileTest, ConnectionsThatHangUpAreCounted) {
  ASSERT_NO_FATAL_FAILURE(record("hangups=500 hello ranges=10 clean"));
  EXPECT_THAT(ended_.err, HasSubstr("turned_away: 500 connections"));
}

TEST_F(RecordHostileTest, ASecondHelloEndsTheFirstRecording) {
  ASSERT_NO_FATAL_FAILURE(record("hello ranges=10 drained again sleep=50"));
  const Result<TraceReader> trace = hostile_trace();
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(*trace->count("host_range"), 10) << "the second trace is another file";
}

// --- what they say of their rank ---

TEST_F(RecordHostileTest, RankZeroTwiceMakesTwoTraces) {
  ASSERT_NO_FATAL_FAILURE(record("hello ranges=10 clean sleep=400", "RANK=0 WORLD_SIZE=2"));
  const Result<TraceReader> second = TraceReader::open(scratch_.path() / "r/rank-00000.1.dprof");
  ASSERT_TRUE(second.ok()) << second.error().what;
  EXPECT_EQ(*second->count("host_range"), 10);
}

TEST_F(RecordHostileTest, AWorldSizeThatCannotBeIsNotTaken) {
  ASSERT_NO_FATAL_FAILURE(
      record("hello ranges=10 clean",
             "RANK=1 WORLD_SIZE=2147483647 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2147483647"));
  EXPECT_EQ(index_["world_size"], 2);
}

TEST_F(RecordHostileTest, OneLiarDoesNotChangeTheJobsSize) {
  const std::string honest =
      fmt::format("RANK=2 WORLD_SIZE=2 {}/recorder_writer hello ranges=1 clean;", test_bin_dir());
  ASSERT_NO_FATAL_FAILURE(
      record("hello ranges=10 clean", honest + " RANK=900000 WORLD_SIZE=1000000"));
  EXPECT_EQ(index_["world_size"], 2);
  EXPECT_THAT(ended_.err, HasSubstr("odd_rank"));
  EXPECT_THAT(ended_.err, HasSubstr("is rank 2 of 2"));
}

TEST_F(RecordHostileTest, ARankThatIsNoRankLeavesATraceWithoutOne) {
  for (const char* rank : {"-1", "99999999999999999999", "one", "2097152"}) {
    SCOPED_TRACE(rank);
    fs::remove_all(scratch_.path() / "r");
    ASSERT_NO_FATAL_FAILURE(
        record("hello ranges=10 clean", fmt::format("RANK={} WORLD_SIZE=2", rank)));
    ASSERT_EQ(index_["traces"].size(), 2u);
    EXPECT_TRUE(index_["traces"][1]["rank"].is_null());
    const Result<TraceReader> trace =
        TraceReader::open(scratch_.path() / "r" / index_["traces"][1]["file"].get<std::string>());
    ASSERT_TRUE(trace.ok()) << trace.error().what;
    EXPECT_EQ(*trace->count("host_range"), 10);
  }
}

}  // namespace
}  // namespace dprof::recorder
