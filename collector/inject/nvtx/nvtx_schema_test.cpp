// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nvtx/nvtx_schema.h"

#include <gtest/gtest.h>

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

TEST(NvtxSchema, AlignsNaturally) {
  EXPECT_EQ(naturally_aligned(0, 18), 0u);
  EXPECT_EQ(naturally_aligned(1, 18), 8u);
  EXPECT_EQ(naturally_aligned(12, 22), 16u);
  EXPECT_EQ(naturally_aligned(13, 15), 16u);
  EXPECT_EQ(naturally_aligned(13, kSchemaIdStaticStart), 13u);
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
