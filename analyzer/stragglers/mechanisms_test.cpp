// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/mechanisms.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "analyzer/stragglers/kinds.h"
#include "tests/support/paths.h"

namespace dprof::analyzer {
namespace {

TEST(MechanismsTest, EveryKindOfTimeHasOne) {
  for (const KindInfo& kind : kKinds) EXPECT_NE(mechanism_of(kind.cause), nullptr) << kind.cause;
  EXPECT_EQ(mechanism_of("bad luck"), nullptr);
}

TEST(MechanismsTest, ThePageHasTheSameTable) {
  std::ifstream file(test_support::source_dir() + "/docs/analysis/causes.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const Mechanism& one : kMechanisms) {
    const std::string row =
        fmt::format("| {} | {} | {} |\n", one.cause, one.seen, one.contradicted_by);
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace dprof::analyzer
