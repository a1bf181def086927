// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "analyzer/report/report.h"

namespace dprof::analyzer {
namespace {

TEST(ReportTest, EveryCategoryHasItsOwnKeyAndTitle) {
  std::set<std::string_view> keys;
  std::set<std::string_view> titles;
  for (size_t c = 0; c < kCategories; ++c) {
    keys.insert(key_of(static_cast<Category>(c)));
    titles.insert(title_of(static_cast<Category>(c)));
  }
  EXPECT_EQ(keys.size(), kCategories);
  EXPECT_EQ(titles.size(), kCategories);
  EXPECT_EQ(key_of(Category::kExposedTransfer), "exposed_transfer");
  EXPECT_EQ(key_of(Category::kProfiler), "profiler");
}

TEST(ReportTest, DiagnosticsTakeTheirSeverityFromTheCatalogue) {
  EXPECT_EQ(make_diagnostic("absent_rank", "rank 1").severity, schema::Severity::kDataLoss);
  EXPECT_EQ(make_diagnostic("no_steps", "none").severity, schema::Severity::kError);
}

}  // namespace
}  // namespace dprof::analyzer
