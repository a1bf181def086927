// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyzer/import/kineto/event.h"
#include "analyzer/import/kineto/json_scan.h"

namespace dprof::analyzer::kineto {
namespace {

using namespace std::string_literals;

std::string raw_of(const Event& event, Field field) { return std::string(event[field].raw); }
std::string raw_of(const Event& event, Arg arg) { return std::string(event[arg].raw); }

Scan read(std::string_view text, Event& event) {
  Cursor cursor(text);
  return read_event(cursor, event);
}

TEST(JsonTest, FindsTheMembersThatCount) {
  Event event;
  ASSERT_EQ(read(R"({"ph": "X", "cat":"kernel", "name": "k<\"a\">", "pid": 0, "tid": 7, "ts": 1.5,
                     "dur": 2, "zzz": [{"ph": "no"}], "args": {"correlation": 12, "grid": [1, 2, 3],
                     "unknown": {"stream": 9}, "stream": 7}})",
                 event),
            Scan::kDone);
  EXPECT_EQ(raw_of(event, Field::kPh), "X");
  EXPECT_EQ(raw_of(event, Field::kName), R"(k<\"a\">)");
  EXPECT_TRUE(event[Field::kName].escaped);
  EXPECT_EQ(raw_of(event, Field::kTs), "1.5");
  EXPECT_EQ(raw_of(event, Arg::kCorrelation), "12");
  EXPECT_EQ(raw_of(event, Arg::kGrid), "[1, 2, 3]");
  EXPECT_EQ(raw_of(event, Arg::kStream), "7") << "the one in a nested object is another's";
  EXPECT_FALSE(event.has(Field::kId));
}

TEST(JsonTest, TakesWhatToolsReallyWrite) {
  Event event;
  EXPECT_EQ(read("{\"ph\":\"X\",\"args\":{\"a\":NaN,\"b\":-inf,\"stream\":nan,},}", event),
            Scan::kDone);
  EXPECT_EQ(raw_of(event, Arg::kStream), "nan");
  EXPECT_EQ(read("{\"name\":\"a\nb\\z\"}", event), Scan::kDone);
  EXPECT_EQ(unescape(event[Field::kName].raw), "a\nb\\z");
  EXPECT_EQ(read("{}", event), Scan::kDone);
  EXPECT_TRUE(event.empty());
}

TEST(JsonTest, EveryCutIsSeenAsOne) {
  const std::string text =
      R"({"ph":"X","name":"a\"b","ts":12,"args":{"stream":[1,{"a":"}"}],"device":0}})";
  Event event;
  ASSERT_EQ(read(text, event), Scan::kDone);
  for (size_t length = 1; length < text.size(); ++length) {
    EXPECT_EQ(read(text.substr(0, length), event), Scan::kMore) << text.substr(0, length);
  }
}

TEST(JsonTest, NestingHasALimit) {
  Event event;
  const auto nested = [](size_t levels) {
    return "{\"args\":{\"x\":" + std::string(levels, '[') + std::string(levels, ']') + "}}";
  };
  EXPECT_EQ(read(nested(kMaxDepth), event), Scan::kDone);
  EXPECT_EQ(read(nested(kMaxDepth + 1), event), Scan::kTooDeep);
  EXPECT_EQ(read(nested(1'000'000), event), Scan::kTooDeep);
}

TEST(JsonTest, WhatIsNoJsonIsBad) {
  Event event;
  EXPECT_EQ(read("{\"ph\" \"X\"}", event), Scan::kBad);
  EXPECT_EQ(read("{ph: 1}", event), Scan::kBad);
  EXPECT_EQ(read("{\"ph\": }", event), Scan::kBad);
}

TEST(JsonTest, EscapesBecomeUtf8) {
  EXPECT_EQ(unescape(R"(\u00e9\u20AC\ud83d\ude00)"), "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(unescape(R"(\ud83dx)"), "\xEF\xBF\xBDx") << "half a pair";
  EXPECT_EQ(unescape(R"(\u12)"), "\\u12");
  EXPECT_EQ(unescape(R"(a\u0000b)"), "a b");
  EXPECT_EQ(unescape("a\xFF"), "a\xEF\xBF\xBD");
  EXPECT_EQ(unescape("a\\"), "a\\");
}

}  // namespace
}  // namespace dprof::analyzer::kineto
