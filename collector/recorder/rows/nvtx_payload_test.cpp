// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/nvtx_payload.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace dprof::recorder {
namespace {

constexpr uint32_t kDomain = 7;
constexpr uint64_t kSchema = uint64_t{1} << 24;
constexpr uint32_t kPointer = 1u << 1, kFixedSize = 1u << 4, kZeroTerminated = 2u << 4;
constexpr uint64_t kChar = 1, kInt = 5, kUint8 = 12, kInt16 = 13, kUint64 = 18, kFloat = 19,
                   kSize = 22, kString = 75;

wire::SchemaEntry entry(uint32_t index, uint64_t type, uint64_t offset, uint32_t flags = 0,
                        uint64_t detail = 0) {
  wire::SchemaEntry entry{};
  entry.schema_id = kSchema;
  entry.type = type;
  entry.offset = offset;
  entry.domain = kDomain;
  entry.index = index;
  entry.flags = flags;
  entry.detail = detail;
  return entry;
}

template <typename... Values>
std::string packed(Values... values) {
  std::string bytes;
  const auto put = [&](auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  (put(values), ...);
  return bytes;
}

class NvtxPayloadTest : public ::testing::Test {
 protected:
  const PayloadSchemas::Schema& schema() {
    const PayloadSchemas::Schema* found = schemas_.find(kDomain, kSchema);
    EXPECT_NE(found, nullptr);
    return *found;
  }
  PayloadSchemas schemas_;
};

TEST_F(NvtxPayloadTest, IntegersOfEachSizeAreReadAtTheirOffsets) {
  EXPECT_TRUE(schemas_.add(entry(0, kUint64, 0), "params", "comm"));
  EXPECT_TRUE(schemas_.add(entry(1, kSize, 8), "params", "bytes"));
  EXPECT_TRUE(schemas_.add(entry(2, kInt, 16), "params", "root"));
  EXPECT_TRUE(schemas_.add(entry(3, kInt16, 20), "params", "short"));
  EXPECT_TRUE(schemas_.add(entry(4, kUint8, 22), "params", "byte"));
  const std::string bytes = packed(uint64_t{0xFEDC'BA98'7654'3210}, uint64_t{4096}, int32_t{-3},
                                   int16_t{-2}, uint8_t{200});
  EXPECT_EQ(schema().name, "params");
  EXPECT_EQ(integer_field(schema(), bytes, "comm"), static_cast<int64_t>(0xFEDC'BA98'7654'3210));
  EXPECT_EQ(integer_field(schema(), bytes, "bytes"), 4096);
  EXPECT_EQ(integer_field(schema(), bytes, "root"), -3);
  EXPECT_EQ(integer_field(schema(), bytes, "short"), -2);
  EXPECT_EQ(integer_field(schema(), bytes, "byte"), 200);
  EXPECT_EQ(integer_field(schema(), bytes, "none"), std::nullopt);
}

TEST_F(NvtxPayloadTest, APayloadThatIsTooShortHasNoSuchField) {
  schemas_.add(entry(0, kUint64, 0), "s", "first");
  schemas_.add(entry(1, kUint64, 8), "s", "second");
  schemas_.add(entry(2, kUint64, UINT64_MAX), "s", "far");
  schemas_.add(entry(3, kUint64, UINT64_MAX - 7), "s", "wraps");
  const std::string bytes(15, '\1');
  EXPECT_TRUE(integer_field(schema(), bytes, "first").has_value());
  EXPECT_EQ(integer_field(schema(), bytes, "second"), std::nullopt);
  EXPECT_EQ(integer_field(schema(), bytes, "far"), std::nullopt);
  EXPECT_EQ(integer_field(schema(), bytes, "wraps"), std::nullopt);
  EXPECT_EQ(integer_field(schema(), "", "first"), std::nullopt);
}

TEST_F(NvtxPayloadTest, WhatIsNoIntegerIsNotReadAsOne) {
  schemas_.add(entry(0, kFloat, 0), "s", "float");
  schemas_.add(entry(1, kInt, 0, kFixedSize, 2), "s", "array");
  schemas_.add(entry(2, kInt, 0, kPointer), "s", "pointer");
  schemas_.add(entry(3, kSchema + 20, 0), "s", "enumeration");
  schemas_.add(entry(4, 99999, 0), "s", "unknown");
  const std::string bytes = packed(int32_t{2}, int32_t{0});
  for (const char* name : {"float", "array", "pointer", "enumeration", "unknown", ""}) {
    EXPECT_EQ(integer_field(schema(), bytes, name), std::nullopt) << name;
  }
  EXPECT_EQ(enum_field(schema(), bytes, "enumeration"), 2);
  EXPECT_EQ(enum_field(schema(), bytes, "float"), std::nullopt);
  EXPECT_EQ(enum_field(schema(), "abc", "enumeration"), std::nullopt) << "too short";
}

TEST_F(NvtxPayloadTest, TextLiesInThePayloadItself) {
  schemas_.add(entry(0, kChar, 0, kFixedSize, 6), "s", "characters");
  schemas_.add(entry(1, kString, 6, 0, 3), "s", "fixed");
  schemas_.add(entry(2, kString, 9, kZeroTerminated), "s", "terminated");
  schemas_.add(entry(3, kString, 0), "s", "pointer by type");
  schemas_.add(entry(4, kString, 0, kPointer, 4), "s", "pointer by flag");
  schemas_.add(entry(5, kChar, 4, kFixedSize, 1000), "s", "too long");
  schemas_.add(entry(6, kChar, 0), "s", "one character");
  schemas_.add(entry(7, kString, UINT64_MAX, 0, UINT64_MAX), "s", "nowhere");
  const std::string bytes("8x3\0zzabcend\0", 13);
  EXPECT_EQ(text_field(schema(), bytes, "characters"), "8x3");
  EXPECT_EQ(text_field(schema(), bytes, "fixed"), "abc");
  EXPECT_EQ(text_field(schema(), bytes, "terminated"), "end");
  EXPECT_EQ(text_field(schema(), bytes.substr(0, 12), "terminated"), std::nullopt) << "cut off";
  for (const char* name :
       {"pointer by type", "pointer by flag", "too long", "one character", "nowhere"}) {
    EXPECT_EQ(text_field(schema(), bytes, name), std::nullopt) << name;
  }
  EXPECT_EQ(text_field(schema(),
                       std::string("\xFF"
                                   "12345"),
                       "characters"),
            "\xEF\xBF\xBD"
            "12345")
      << "made fit for SQLite";
}

TEST_F(NvtxPayloadTest, IdsAreOfTheirDomainAndAFieldThatIsSaidAgainReplaces) {
  schemas_.add(entry(0, kUint64, 0), "mine", "a");
  wire::SchemaEntry other = entry(0, kUint64, 8);
  other.domain = kDomain + 1;
  schemas_.add(other, "theirs", "a");
  const std::string bytes = packed(uint64_t{1}, uint64_t{2});
  EXPECT_EQ(integer_field(*schemas_.find(kDomain, kSchema), bytes, "a"), 1);
  EXPECT_EQ(integer_field(*schemas_.find(kDomain + 1, kSchema), bytes, "a"), 2);
  EXPECT_EQ(schemas_.find(kDomain, kSchema + 1), nullptr);
  schemas_.add(entry(0, kUint64, 8), "mine", "a");
  EXPECT_EQ(integer_field(schema(), bytes, "a"), 2);
}

TEST_F(NvtxPayloadTest, AFieldMayComeBeforeThoseInFrontOfIt) {
  schemas_.add(entry(2, kInt, 4), "s", "third");
  const std::string bytes = packed(int32_t{0}, int32_t{5});
  EXPECT_EQ(integer_field(schema(), bytes, "third"), 5);
  EXPECT_EQ(integer_field(schema(), bytes, ""), std::nullopt) << "those are not there yet";
}

TEST_F(NvtxPayloadTest, WhatIsKeptIsBounded) {
  EXPECT_FALSE(schemas_.add(entry(256, kInt, 0), "s", "f"));
  EXPECT_FALSE(schemas_.add(entry(UINT32_MAX, kInt, 0), "s", "f"));
  int kept = 0;
  for (uint64_t id = 0; id < 5000; ++id) {
    wire::SchemaEntry one = entry(0, kInt, 0);
    one.schema_id = id;
    kept += schemas_.add(one, "s", "f") ? 1 : 0;
  }
  EXPECT_EQ(kept, 4096);
  EXPECT_TRUE(schemas_.add(
      [] {
        wire::SchemaEntry one = entry(1, kInt, 4);
        one.schema_id = 0;
        return one;
      }(),
      "s", "g"))
      << "one that is known may still grow";
  PayloadSchemas wide;
  kept = 0;
  for (uint64_t id = 0; id < 1000; ++id) {
    wire::SchemaEntry one = entry(255, kInt, 0);
    one.schema_id = id;
    kept += wide.add(one, std::string(100000, 'n'), std::string(100000, 'n')) ? 1 : 0;
  }
  EXPECT_EQ(kept, 256);
  EXPECT_LE(wide.find(kDomain, 0)->name.size(), 256u);
  EXPECT_LE(wide.find(kDomain, 0)->fields[255].name.size(), 256u);
}

}  // namespace
}  // namespace dprof::recorder
