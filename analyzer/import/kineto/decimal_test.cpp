// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/kineto/decimal.h"

#include <gtest/gtest.h>

namespace dprof::analyzer::kineto {
namespace {

struct TimeCase {
  const char* text;
  std::optional<int64_t> ns;
};

TEST(DecimalTest, MicrosecondsAreExactToTheNanosecond) {
  const TimeCase cases[] = {
      {"0", 0},
      {"17", 17'000},
      {"5.1", 5'100},
      {"4458676416431.397", 4'458'676'416'431'397},
      {"1712195495501688.5", 1'712'195'495'501'688'500},
      {"1694128201426602", 1'694'128'201'426'602'000},
      // A double's resolution is 0.25 us here: it cannot represent 1712195495501688.123.
      {"1712195495501688.123", 1'712'195'495'501'688'123},
      {"0.0004", 0},
      {"0.0005", 1},
      {"0.9996", 1'000},
      {"12.3456", 12'346},
      {"-1.5", -1'500},
      {"-0.0006", -1},
      {"+10.5", 10'500},
      {".75", 750},
      {"246.", 246'000},
      {"01.23", 1'230},
      {"1e3", 1'000'000},
      {"1.5E6", 1'500'000'000},
      {"25e-1", 2'500},
      {"0e99", 0},
      {"", std::nullopt},
      {".", std::nullopt},
      {"-", std::nullopt},
      {"+", std::nullopt},
      {"1.5e", std::nullopt},
      {"2e+", std::nullopt},
      {"100a", std::nullopt},
      {"invalid", std::nullopt},
      {"null", std::nullopt},
      {"NaN", std::nullopt},
      {"1e99", std::nullopt},
      {"9999999999999999", std::nullopt},
      {"99999999999999999999999999", std::nullopt},
  };
  for (const TimeCase& c : cases) EXPECT_EQ(ns_of_us(c.text), c.ns) << "'" << c.text << "'";
}

TEST(DecimalTest, SaysHowManyDecimalsThereWere) {
  const auto decimals = [](std::string_view text) {
    int most = 0;
    (void)ns_of_us(text, &most);
    return most;
  };
  EXPECT_EQ(decimals("12"), 0);
  EXPECT_EQ(decimals("12.5"), 1);
  EXPECT_EQ(decimals("12.345"), 3);
  EXPECT_EQ(decimals("12.3456789"), 3);
  EXPECT_EQ(decimals("1.5e3"), 0);
}

TEST(DecimalTest, WholeNumbers) {
  EXPECT_EQ(whole_number("137877174353920"), 137'877'174'353'920);
  EXPECT_EQ(whole_number("-4"), -4);
  EXPECT_EQ(whole_number("5.0"), 5);
  EXPECT_EQ(whole_number("18446744073709551615"), -1) << "an address";
  EXPECT_EQ(whole_number("5.5"), std::nullopt);
  EXPECT_EQ(whole_number("0x10"), std::nullopt);
  EXPECT_EQ(whole_number("stream 7"), std::nullopt);
  EXPECT_EQ(whole_number(""), std::nullopt);
}

}  // namespace
}  // namespace dprof::analyzer::kineto
