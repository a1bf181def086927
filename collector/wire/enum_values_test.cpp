// SPDX-License-Identifier: Apache-2.0
// The wire does not include the schema; this test includes both and compares their values.
#include "collector/wire/enum_values.h"

#include <gtest/gtest.h>

#include "collector/inject/hot_bits.h"
#include "collector/wire/layout.h"
#include "schema/generated/rows.h"
#include "schema/thread_exception.h"

namespace dprof::wire {
namespace {

template <typename Enum>
::testing::AssertionResult same(uint8_t wire, Enum schema) {
  if (int64_t{wire} == static_cast<int64_t>(schema)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << int{wire} << " here, " << static_cast<int64_t>(schema) << " in the trace";
}

TEST(EnumValues, RangesAreTheTraces) {
  using schema::PayloadKind;
  using schema::RangeCategory;
  using schema::Source;
  EXPECT_TRUE(same(range_category::kOp, RangeCategory::kOp));
  EXPECT_TRUE(same(range_category::kUser, RangeCategory::kUser));
  EXPECT_TRUE(same(range_category::kAutograd, RangeCategory::kAutograd));
  EXPECT_TRUE(same(range_category::kNvtx, RangeCategory::kNvtx));
  EXPECT_TRUE(same(range_category::kNvtxProcess, RangeCategory::kNvtxProcess));
  EXPECT_TRUE(same(range_category::kNvtxMark, RangeCategory::kNvtxMark));
  EXPECT_TRUE(same(range_category::kPython, RangeCategory::kPython));
  EXPECT_TRUE(same(source::kTorch, Source::kTorch));
  EXPECT_TRUE(same(source::kNvtx, Source::kNvtx));
  EXPECT_EQ(inject::kMaskTorch, 1u << source::kTorch);
  EXPECT_EQ(inject::kMaskNvtx, 1u << source::kNvtx);
  EXPECT_TRUE(same(payload_kind::kNone, PayloadKind::kNone));
  EXPECT_TRUE(same(payload_kind::kUint64, PayloadKind::kUint64));
  EXPECT_TRUE(same(payload_kind::kInt64, PayloadKind::kInt64));
  EXPECT_TRUE(same(payload_kind::kDouble, PayloadKind::kDouble));
  EXPECT_TRUE(same(payload_kind::kUint32, PayloadKind::kUint32));
  EXPECT_TRUE(same(payload_kind::kInt32, PayloadKind::kInt32));
  EXPECT_TRUE(same(payload_kind::kFloat, PayloadKind::kFloat));
  EXPECT_TRUE(same(payload_kind::kSchema, PayloadKind::kSchema));
}

TEST(EnumValues, TextsAreTheTraces) { EXPECT_EQ(kEndedItsThread, schema::kEndedItsThread); }

TEST(EnumValues, CollectivesAreTheTraces) {
  using schema::Backend;
  using schema::Function;
  EXPECT_TRUE(same(backend::kUnknown, Backend::kUnknown));
  EXPECT_TRUE(same(backend::kGloo, Backend::kGloo));
  EXPECT_TRUE(same(backend::kNccl, Backend::kNccl));
  EXPECT_TRUE(same(backend::kMpi, Backend::kMpi));
  EXPECT_TRUE(same(backend::kOther, Backend::kOther));
  EXPECT_TRUE(same(function::kUnknown, Function::kUnknown));
  EXPECT_TRUE(same(function::kAllReduce, Function::kAllReduce));
  EXPECT_TRUE(same(function::kReduceScatter, Function::kReduceScatter));
  EXPECT_TRUE(same(function::kAllGather, Function::kAllGather));
  EXPECT_TRUE(same(function::kBroadcast, Function::kBroadcast));
  EXPECT_TRUE(same(function::kReduce, Function::kReduce));
  EXPECT_TRUE(same(function::kGather, Function::kGather));
  EXPECT_TRUE(same(function::kScatter, Function::kScatter));
  EXPECT_TRUE(same(function::kAllToAll, Function::kAllToAll));
  EXPECT_TRUE(same(function::kBarrier, Function::kBarrier));
  EXPECT_TRUE(same(function::kSend, Function::kSend));
  EXPECT_TRUE(same(function::kRecv, Function::kRecv));
}

TEST(EnumValues, TypesAndReductionsAreTheTraces) {
  using schema::DataType;
  using schema::Reduction;
  EXPECT_TRUE(same(data_type::kUnknown, DataType::kUnknown));
  EXPECT_TRUE(same(data_type::kUint8, DataType::kUint8));
  EXPECT_TRUE(same(data_type::kInt8, DataType::kInt8));
  EXPECT_TRUE(same(data_type::kInt16, DataType::kInt16));
  EXPECT_TRUE(same(data_type::kInt32, DataType::kInt32));
  EXPECT_TRUE(same(data_type::kInt64, DataType::kInt64));
  EXPECT_TRUE(same(data_type::kFloat16, DataType::kFloat16));
  EXPECT_TRUE(same(data_type::kBfloat16, DataType::kBfloat16));
  EXPECT_TRUE(same(data_type::kFloat32, DataType::kFloat32));
  EXPECT_TRUE(same(data_type::kFloat64, DataType::kFloat64));
  EXPECT_TRUE(same(data_type::kBool, DataType::kBool));
  EXPECT_TRUE(same(data_type::kComplex64, DataType::kComplex64));
  EXPECT_TRUE(same(data_type::kComplex128, DataType::kComplex128));
  EXPECT_TRUE(same(data_type::kFloat8, DataType::kFloat8));
  EXPECT_TRUE(same(reduction::kNone, Reduction::kNone));
  EXPECT_TRUE(same(reduction::kSum, Reduction::kSum));
  EXPECT_TRUE(same(reduction::kAvg, Reduction::kAvg));
  EXPECT_TRUE(same(reduction::kProduct, Reduction::kProduct));
  EXPECT_TRUE(same(reduction::kMin, Reduction::kMin));
  EXPECT_TRUE(same(reduction::kMax, Reduction::kMax));
  EXPECT_TRUE(same(reduction::kBitwise, Reduction::kBitwise));
  EXPECT_TRUE(same(reduction::kOther, Reduction::kOther));
}

TEST(Layout, PartsDoNotOverlap) {
  Mapping mapping;
  mapping.base = nullptr;
  const auto offset = [](const void* part) { return reinterpret_cast<uintptr_t>(part); };
  EXPECT_GE(offset(mapping.control()), offset(mapping.header()) + sizeof(Header));
  EXPECT_GE(offset(mapping.ring(0)), offset(mapping.control()) + sizeof(ControlPage));
  EXPECT_GE(offset(mapping.ring(1)), offset(mapping.ring(0)) + sizeof(RingShared));
  EXPECT_GE(offset(mapping.arena()), offset(mapping.ring(kMaxRings - 1)) + sizeof(RingShared));
  EXPECT_GE(offset(mapping.slots(0)), offset(mapping.arena()) + kArenaBytes);
  EXPECT_EQ(offset(mapping.slots(kMaxRings - 1)) + kRingBytes, kTotalBytes);
}

TEST(Layout, TicksBecomeNanosecondsWithoutOverflow) {
  const TickScale scale{1'000'000, 3'238'002, 23, ClockSource::kTsc};  // about 2.59 GHz
  EXPECT_EQ(ticks_to_ns(scale, 1'000'000), 0);
  EXPECT_NEAR(static_cast<double>(ticks_to_ns(scale, 1'000'000 + 2'590'677'000)), 1e9, 1e4);
  EXPECT_LT(ticks_to_ns(scale, 0), 0) << "before the origin";
  const uint64_t year = 2'590'677'000ull * 86'400 * 365;
  EXPECT_NEAR(static_cast<double>(ticks_to_ns(scale, year)), 86'400.0 * 365 * 1e9, 1e13);
}

}  // namespace
}  // namespace dprof::wire
