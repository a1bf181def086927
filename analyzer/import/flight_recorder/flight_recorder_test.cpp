// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/import/flight_recorder/dump.h"
#include "analyzer/import/format.h"
#include "analyzer/import/plain_data.h"

namespace dprof::analyzer::flight_recorder {
namespace {

using schema::CollectiveState;
using schema::Function;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// --- pickles, byte by byte ---

std::string pickle(std::string_view body) {
  return std::string("\x80\x02") + std::string(body) + '.';
}
std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

TEST(PickleTest, ValuesOfEveryKind) {
  const std::string list = "](" + bytes({'K', 7, 'M', 0x34, 0x12, 'J', 0xfe, 0xff, 0xff, 0xff}) +
                           bytes({0x8a, 5, 0, 0, 0, 0, 1, 0x88, 0x89, 'N'}) +
                           bytes({'X', 2, 0, 0, 0, 'h', 'i', 'G', 0x3f, 0xf8, 0, 0, 0, 0, 0, 0}) +
                           "e";
  const Result<PlainData> data = read_pickle(pickle(list));
  ASSERT_TRUE(data.ok()) << data.error().what;
  const auto root = data->root();
  ASSERT_EQ(data->size(root), 9U);
  EXPECT_EQ(data->integer(data->item(root, 0)), 7);
  EXPECT_EQ(data->integer(data->item(root, 1)), 0x1234);
  EXPECT_EQ(data->integer(data->item(root, 2)), -2);
  EXPECT_EQ(data->integer(data->item(root, 3)), int64_t{1} << 32);
  EXPECT_EQ(data->boolean(data->item(root, 4)), true);
  EXPECT_EQ(data->boolean(data->item(root, 5)), false);
  EXPECT_EQ(data->kind(data->item(root, 6)), PlainData::Kind::kNone);
  EXPECT_EQ(data->text(data->item(root, 7)), "hi");
  EXPECT_EQ(data->kind(data->item(root, 8)), PlainData::Kind::kReal);
}

TEST(PickleTest, DictsAndReferences) {
  // {"a": x, "b": x} where x = [1], memoised before it is filled.
  const std::string body =
      "}(" + bytes({'U', 1, 'a', ']', 'q', 0, 'K', 1, 'a'}) + bytes({'U', 1, 'b', 'h', 0}) + "u";
  const Result<PlainData> data = read_pickle(pickle(body));
  ASSERT_TRUE(data.ok()) << data.error().what;
  for (const char* key : {"a", "b"})
    EXPECT_EQ(data->integer(data->item(data->find(data->root(), key), 0)), 1);
}

TEST(PickleTest, ListThatHoldsItselfIsRead) {
  const Result<PlainData> data = read_pickle(pickle(bytes({']', 'q', 0, 'h', 0, 'a'})));
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->item(data->root(), 0), data->root());
}

struct Refused {
  const char* name;
  std::string body;
  const char* what;
};
class RefusedPickleTest : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedPickleTest, SaysWhy) {
  const Result<PlainData> data = read_pickle(pickle(GetParam().body));
  ASSERT_FALSE(data.ok());
  EXPECT_THAT(data.error().what, HasSubstr(GetParam().what));
}

INSTANTIATE_TEST_SUITE_P(
    Bodies, RefusedPickleTest,
    ::testing::Values(Refused{"global", "cos\nsystem\n", "opcode 0x63"},
                      Refused{"stack_global", bytes({0x93}), "opcode 0x93"},
                      Refused{"reduce", ")R", "opcode 0x52"}, Refused{"build", "}b", "opcode 0x62"},
                      Refused{"newobj", bytes({0x81}), "opcode 0x81"},
                      Refused{"persistent", "Q", "opcode 0x51"},
                      Refused{"extension", bytes({0x82, 1}), "opcode 0x82"},
                      Refused{"nothing", "", "one value"}, Refused{"two_values", "NN", "one value"},
                      Refused{"append_to_none", "NNa", "not a container"},
                      Refused{"odd_dict", "}(Nu", "key without a value"},
                      Refused{"unknown_memo", bytes({'h', 9}), "never stored"},
                      Refused{"text_too_long", bytes({'X', 0xff, 0xff, 0xff, 0x7f, 'a'}),
                              "cut off"},
                      Refused{"pop_beyond_mark", "N(0", "missing value"},
                      Refused{"deep_marks", std::string(5000, '('), "too deeply"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(PickleTest, EveryCutIsAnError) {
  const std::string whole = pickle("}(" + bytes({'U', 1, 'a', 'X', 2, 0, 0, 0, 'h', 'i'}) + "u");
  ASSERT_TRUE(read_pickle(whole).ok());
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(read_pickle(std::string_view(whole).substr(0, length)).ok()) << length;
}

TEST(JsonTest, TooDeepIsRefused) {
  EXPECT_TRUE(read_json(std::string(60, '[') + std::string(60, ']')).ok());
  EXPECT_FALSE(read_json(std::string(100'000, '[')).ok());
}

// --- dumps ---

std::string json_dump(const std::string& entries) {
  return R"({"version": "2.10", "rank": 3, "pg_config": {"0": {"name": "0", "desc": "default_pg",
             "ranks": "[0, 1, 2, 3]"}}, "entries": [)" +
         entries + "]}";
}

Result<Dump> dump_from(const std::string& json) {
  const Result<PlainData> data = read_json(json);
  if (!data.ok()) return fail(data.error());
  return dump_of(*data);
}

std::string entry(const std::string& name, int64_t seq, const std::string& state,
                  const std::string& more = "") {
  return fmt::format(
      R"({{"record_id": 1, "process_group": ["0", "default_pg"], "collective_seq_id": {}, "p2p_seq_id": 4,
          "profiling_name": "{}", "time_created_ns": 1758610505592849034, "state": "{}",
          "input_sizes": [[2, 3]], "input_dtypes": ["Float"], "output_sizes": [[6]],
          "output_dtypes": ["Half"], "time_discovered_started_ns": null{}}})",
      seq, name, state, more);
}

TEST(DumpTest, EntryIsACollective) {
  const Result<Dump> dump = dump_from(json_dump(entry("nccl:_all_gather_base", 12, "scheduled")));
  ASSERT_TRUE(dump.ok()) << dump.error().what;
  EXPECT_EQ(dump->rank, 3);
  ASSERT_THAT(dump->groups, SizeIs(1));
  EXPECT_THAT(dump->groups[0].members, ElementsAre(0, 1, 2, 3));
  ASSERT_THAT(dump->entries, SizeIs(1));
  const DumpEntry& one = dump->entries[0];
  EXPECT_EQ(one.function, Function::kAllGather);
  EXPECT_EQ(one.sequence, 12);
  EXPECT_EQ(one.bytes, 24);
  EXPECT_EQ(one.count, 6);
  EXPECT_EQ(one.state, CollectiveState::kEnqueued);
  EXPECT_EQ(one.created_ns, 1758610505592849034);
  EXPECT_FALSE(one.started_ns);
}

TEST(DumpTest, MessagesSayTheirPeerAndCountByThemselves) {
  const Result<Dump> dump =
      dump_from(json_dump(entry("nccl:recv 3<-0", 12, "started", R"(, "is_p2p": true)")));
  ASSERT_TRUE(dump.ok());
  const DumpEntry& one = dump->entries.at(0);
  EXPECT_EQ(one.function, Function::kRecv);
  EXPECT_EQ(one.own, 3);
  EXPECT_EQ(one.peer, 0);
  EXPECT_EQ(one.sequence, 4);
  EXPECT_EQ(one.bytes, 12) << "what is received: 6 of 2 bytes";
  EXPECT_EQ(one.state, CollectiveState::kRunning);
}

// The ends of calls in a coalesced group are not observed; the end of its last entry is.
TEST(DumpTest, EndOfACoalescedGroupIsThatOfItsCalls) {
  const Result<Dump> dump = dump_from(json_dump(entry("nccl:all_reduce", 7, "scheduled") + "," +
                                                entry("nccl:all_reduce", 8, "scheduled") + "," +
                                                entry("nccl:all_reduce", 8, "scheduled") + "," +
                                                entry("nccl:coalesced", 8, "completed")));
  ASSERT_TRUE(dump.ok());
  ASSERT_THAT(dump->entries, SizeIs(3));
  EXPECT_EQ(dump->entries[0].state, CollectiveState::kEnqueued);
  EXPECT_EQ(dump->entries[1].state, CollectiveState::kComplete);
  EXPECT_EQ(dump->entries[2].state, CollectiveState::kComplete);
}

TEST(DumpTest, InnermostFrameOfTheProgramIsKept) {
  const Result<Dump> dump = dump_from(json_dump(entry(
      "nccl:all_reduce", 7, "scheduled",
      R"(, "frames": [{"name": "all_reduce", "filename": "/x/torch/distributed/c10d.py", "line": 1},
                      {"name": "step", "filename": "/home/me/train.py", "line": 88}])")));
  EXPECT_EQ(dump->entries.at(0).frame, "train.py:88 step");
}

TEST(DumpTest, WhatCannotBeUsedIsCounted) {
  const Result<Dump> dump =
      dump_from(json_dump(R"({"profiling_name": 3}, 17, {"profiling_name": "nccl:all_reduce"}, )" +
                          entry("nccl:new_window", 1, "scheduled")));
  ASSERT_TRUE(dump.ok());
  EXPECT_THAT(dump->entries, SizeIs(0));
  int64_t skipped = 0;
  for (const auto& [why, count] : dump->skipped) skipped += count;
  EXPECT_EQ(skipped, 4);
}

TEST(DumpTest, OtherJsonIsNone) {
  EXPECT_FALSE(dump_from(R"({"traceEvents": []})").ok());
  EXPECT_FALSE(dump_from("[1]").ok());
  EXPECT_FALSE(dump_from("7").ok());
}

TEST(DumpTest, RankOfAFileName) {
  EXPECT_EQ(rank_in_name("_dump_12"), 12);
  EXPECT_EQ(rank_in_name("nccl_trace_rank_3.json"), 3);
  EXPECT_EQ(rank_in_name("trace"), std::nullopt);
  EXPECT_EQ(rank_in_name("dump_99999999999999"), std::nullopt);
}

TEST(FormatTest, IsKnownByItsContent) {
  EXPECT_TRUE(kFormat.recognises(json_dump("")));
  EXPECT_TRUE(kFormat.recognises(bytes({0x80, 2, '}'}) + "(X\x07version pg_config"));
  EXPECT_FALSE(kFormat.recognises(R"({"traceEvents": [{"name": "pg_config"}]})"));
  EXPECT_FALSE(kFormat.recognises(""));
}

}  // namespace
}  // namespace dprof::analyzer::flight_recorder
