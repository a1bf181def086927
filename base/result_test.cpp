// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/exit_code.h"

namespace dprof {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return fail(Code::kUsage, "odd", "give an even number");
  return n / 2;
}

TEST(ResultTest, CarriesTheValueOrTheError) {
  EXPECT_EQ(*half(4), 2);
  const Result<int> bad = half(3);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().what, "odd");
  EXPECT_EQ(bad.error().hint, "give an even number");
}

TEST(ResultTest, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> owner = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = *std::move(owner);
  EXPECT_EQ(*taken, 5);
}

TEST(ExitCodeTest, BadInputIsThreeAndUsageIsTwo) {
  for (const Code code : {Code::kNotFound, Code::kNotATrace, Code::kTraceTooNew, Code::kDamaged}) {
    EXPECT_EQ(exit_code_of(code), ExitCode::kUnreadable);
  }
  EXPECT_EQ(exit_code_of(Code::kUsage), ExitCode::kUsage);
  EXPECT_EQ(exit_code_of(Code::kInternal), ExitCode::kInternal);
}

}  // namespace
}  // namespace dprof
