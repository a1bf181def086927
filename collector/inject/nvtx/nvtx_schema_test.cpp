// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nvtx/nvtx_schema.h"

#include <gtest/gtest.h>

#include <vector>

namespace dprof::inject::nvtx {
namespace {

TEST(NvtxSchema, KnowsTheBytesOfTypes) {
  EXPECT_EQ(bytes_of_type(1), 1u);    // CHAR
  EXPECT_EQ(bytes_of_type(5), 4u);    // INT
  EXPECT_EQ(bytes_of_type(18), 8u);   // UINT64
  EXPECT_EQ(bytes_of_type(19), 4u);   // FLOAT
  EXPECT_EQ(bytes_of_type(22), 8u);   // SIZE
  EXPECT_EQ(bytes_of_type(27), 4u);   // CHAR32
  EXPECT_EQ(bytes_of_type(50), 2u);   // BF16
  EXPECT_EQ(bytes_of_type(45), 16u);  // FLOAT128
  EXPECT_EQ(bytes_of_type(0), 0u);
  EXPECT_EQ(bytes_of_type(kSchemaIdStaticStart), 0u) << "a nested schema";
  EXPECT_EQ(bytes_of_type(~uint64_t{0}), 0u);
}

SchemaEntryAttributes entry(uint64_t type, uint64_t flags = 0, uint64_t detail = 0,
                            uint64_t offset = 0) {
  return {flags, type, nullptr, nullptr, detail, offset, nullptr, nullptr};
}

std::vector<uint64_t> layout(const std::vector<SchemaEntryAttributes>& entries,
                             uint64_t pack_align = 0, bool is_union = false) {
  SchemaLayout layout(is_union, pack_align);
  std::vector<uint64_t> offsets;
  for (const SchemaEntryAttributes& one : entries) offsets.push_back(layout.place(one));
  return offsets;
}

using Offsets = std::vector<uint64_t>;
constexpr uint64_t kUint8 = 12, kUint16 = 14, kUint32 = 16, kUint64 = 18, kChar = 1;
constexpr uint64_t kCString = 75, kCStringUtf16 = 77;
constexpr uint64_t kZeroTerminated = 2u << 4, kLengthIndex = 3u << 4;
constexpr uint64_t kNone = SchemaLayout::kUnknown;

TEST(NvtxSchema, FieldsLieWhereACompilerPutsThem) {
  struct Plain {
    uint8_t a;
    uint64_t b;
    uint16_t c;
    uint32_t d;
    size_t e;
  };
  EXPECT_EQ(
      layout({entry(kUint8), entry(kUint64), entry(kUint16), entry(kUint32), entry(22)}),
      (Offsets{0, offsetof(Plain, b), offsetof(Plain, c), offsetof(Plain, d), offsetof(Plain, e)}));
}

TEST(NvtxSchema, FixedArraysTakeTheirLength) {
  struct Arrays {
    uint8_t a;
    char name[13];
    uint32_t dims[5];
    uint16_t b;
    double values[3];
    char text[7];
    char16_t wide[3];
    uint64_t last;
  };
  EXPECT_EQ(
      layout({entry(kUint8), entry(kChar, kEntryFixedSize, 13), entry(kUint32, kEntryFixedSize, 5),
              entry(kUint16), entry(20, kEntryFixedSize, 3), entry(kCString, 0, 7),
              entry(kCStringUtf16, kEntryFixedSize, 3), entry(kUint64)}),
      (Offsets{0, offsetof(Arrays, name), offsetof(Arrays, dims), offsetof(Arrays, b),
               offsetof(Arrays, values), offsetof(Arrays, text), offsetof(Arrays, wide),
               offsetof(Arrays, last)}));
}

TEST(NvtxSchema, PointersTakeTheRoomOfPointers) {
  struct Pointers {
    uint8_t a;
    uint32_t* array;
    uint8_t b;
    const char* text;
    uint8_t c;
  };
  EXPECT_EQ(layout({entry(kUint8), entry(kUint32, kEntryIsPointer | kEntryFixedSize, 9),
                    entry(kUint8), entry(kCString), entry(kUint8)}),
            (Offsets{0, offsetof(Pointers, array), offsetof(Pointers, b), offsetof(Pointers, text),
                     offsetof(Pointers, c)}));
}

TEST(NvtxSchema, PackedStructsAndUnions) {
  EXPECT_EQ(layout({entry(kUint8), entry(kUint64), entry(kUint16), entry(kUint32)}, 1),
            (Offsets{0, 1, 9, 11}));
  EXPECT_EQ(layout({entry(kUint8), entry(kUint64), entry(kUint16), entry(kUint32)}, 2),
            (Offsets{0, 2, 10, 12}));
  EXPECT_EQ(layout({entry(kUint8), entry(kUint64), entry(kUint16)}, 0, true), (Offsets{0, 0, 0}));
}

TEST(NvtxSchema, AGivenOffsetCounts) {
  EXPECT_EQ(layout({entry(kUint32, 0, 0, 16), entry(kUint8), entry(kUint64, 0, 0, 40),
                    entry(kUint8, kEntryFixedSize, 3), entry(kUint16)}),
            (Offsets{16, 20, 40, 48, 52}));
}

// Offsets after a field without a fixed size are unknown, up to the next given offset.
TEST(NvtxSchema, BehindWhatVariesNothingIsKnown) {
  for (const SchemaEntryAttributes& varies :
       {entry(kChar, kZeroTerminated), entry(kUint32, kLengthIndex, 0),
        entry(kUint32, uint64_t{4} << 4, 0), entry(kUint64, 1u << 2), entry(kSchemaIdStaticStart),
        entry(kUint64, kEntryFixedSize, ~uint64_t{0}), entry(kCString, kZeroTerminated)}) {
    EXPECT_EQ(
        layout({entry(kUint64), varies, entry(kUint8), entry(kUint32, 0, 0, 32), entry(kUint64)}),
        (Offsets{0, 8, kNone, 32, 40}));
  }
}

TEST(NvtxSchema, ANestedSchemasAlignmentIsNotGuessed) {
  EXPECT_EQ(layout({entry(kUint8), entry(kSchemaIdStaticStart), entry(kUint8)}),
            (Offsets{0, kNone, kNone}));
}

TEST(NvtxSchema, NothingHappensWithoutASession) {
  const SchemaEntryAttributes entry{0, 18, "value", nullptr, 0, 0, nullptr, nullptr};
  const SchemaAttributes schema{
      kSchemaHasEntries | kSchemaHasEntryCount, nullptr, 1, 0, &entry, 1, 8, 0, 0, nullptr};
  EXPECT_EQ(register_schema(nullptr, &schema), 0u);
  EXPECT_EQ(register_schema(nullptr, nullptr), 0u);
}

}  // namespace
}  // namespace dprof::inject::nvtx
