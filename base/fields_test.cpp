// SPDX-License-Identifier: Apache-2.0
#include "base/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dprof {
namespace {

using ::testing::ElementsAre;

struct Sample {
  int64_t count = 3;
  std::optional<double> share = 0.5;
  std::string name = "a";
  DPROF_FIELDS(name, count, share);
};

std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(const std::optional<double>& value) { return value ? "some" : "none"; }
std::string text_of(const std::string& value) { return value; }

TEST(FieldsTest, ComeInTheOrderOfTheirDeclaration) {
  Sample sample;
  std::vector<std::string> texts;
  for_each_field(sample, [&](const auto& field) { texts.push_back(text_of(field)); });
  EXPECT_THAT(texts, ElementsAre("3", "some", "a"));
}

TEST(FieldsTest, CanBeChanged) {
  Sample sample;
  for_each_field(sample, [](auto& field) { field = {}; });
  EXPECT_EQ(sample.count, 0);
  EXPECT_EQ(sample.name, "");
}

TEST(FieldsTest, HaveNamesInTheOrderInWhichTheseAreWritten) {
  std::vector<std::string> texts;
  for_each_named_field(Sample{}, [&](std::string_view name, const auto& field) {
    texts.push_back(std::string(name) + "=" + text_of(field));
  });
  EXPECT_THAT(texts, ElementsAre("name=a", "count=3", "share=some"));
}

}  // namespace
}  // namespace dprof
