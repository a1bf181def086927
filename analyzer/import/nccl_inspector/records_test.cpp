// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nccl_inspector/records.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/import/format.h"

namespace dprof::analyzer::nccl_inspector {
namespace {

using schema::Function;

std::string json(const std::string& collective, const std::string& rank = "2") {
  return R"({"header": {"id": "0x7f8c496ae9f661", "rank": )" + rank +
         R"(, "n_ranks": 8, "nnodes": 1}, "metadata": {"dump_timestamp_us": 1748030377748202,
            "hostname": "h1", "pid": 77}, "coll_perf": {)" +
         collective + "}}";
}

TEST(InspectorTest, RecordWithoutEventTimes) {
  const Result<Record> record =
      record_of(json(R"("coll": "AllReduce", "coll_sn": 1407, "coll_msg_size_bytes": 4096,
              "coll_exec_time_us": 61, "coll_algobw_gbs": 1.5)"));
  ASSERT_TRUE(record.ok()) << record.error().what;
  EXPECT_EQ(record->communicator, 0x7f8c496ae9f661U);
  EXPECT_EQ(record->function, Function::kAllReduce);
  EXPECT_EQ(record->sequence, 1407);
  EXPECT_EQ(record->duration_ns, 61'000);
  EXPECT_FALSE(record->start_ns);
  EXPECT_EQ(record->written_ns, 1748030377748202'000);
  EXPECT_EQ(input_bytes(*record), 4096);
  EXPECT_EQ(record->algbw_gbs, 1.5);
}

TEST(InspectorTest, BeginIsThatOfTheFirstChannel) {
  const Result<Record> record =
      record_of(json(R"("coll": "ReduceScatter", "coll_msg_size_bytes": 100, "coll_exec_time_us": 5,
              "event_trace_ts": {"coll_start_ts": 10, "kernel_events": [
                {"kernel_start_ts": 30}, {"kernel_start_ts": 20}]})"));
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->start_ns, 20'000);
  EXPECT_EQ(input_bytes(*record), 800) << "what one rank gets, from each of 8";
}

TEST(InspectorTest, SenselessRecordsAreNone) {
  const std::string good =
      R"("coll": "AllReduce", "coll_msg_size_bytes": 4096, "coll_exec_time_us": 61)";
  EXPECT_TRUE(record_of(json(good)).ok());
  EXPECT_FALSE(record_of(json(good, "8")).ok()) << "there are 8";
  EXPECT_FALSE(record_of(json(good, "-1")).ok());
  EXPECT_FALSE(record_of(json(good, "NaN")).ok());
  EXPECT_FALSE(record_of(json(R"("coll": "AllReduce")")).ok());
  EXPECT_FALSE(record_of(R"({"p2p_perf": {}})").ok());
  EXPECT_FALSE(record_of("{").ok());
  EXPECT_FALSE(record_of(std::string(1000, '{')).ok());
}

TEST(InspectorTest, ObjectsAreTakenOneByOne) {
  std::string_view rest = "\n{\"a\": \"}{\\\"\"}\n, {\"b\": {}} {\"cut";
  EXPECT_EQ(next_object(rest), "{\"a\": \"}{\\\"\"}");
  EXPECT_EQ(next_object(rest), "{\"b\": {}}");
  EXPECT_EQ(next_object(rest), std::nullopt);
  std::string_view nothing = "  \n";
  EXPECT_EQ(next_object(nothing), "");
}

TEST(InspectorTest, IsKnownByItsContent) {
  EXPECT_TRUE(kFormat.recognises(json("")));
  EXPECT_FALSE(kFormat.recognises(R"({"traceEvents": []})"));
}

}  // namespace
}  // namespace dprof::analyzer::nccl_inspector
