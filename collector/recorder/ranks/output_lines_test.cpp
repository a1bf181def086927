// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/output_lines.h"

#include <gtest/gtest.h>

namespace dprof::recorder {
namespace {

TEST(LinePrefixerTest, GivesWholeLinesOnly) {
  LinePrefixer lines("[3] ");
  EXPECT_EQ(lines.add("one\ntw"), "[3] one\n");
  EXPECT_EQ(lines.add("o\n\nthree"), "[3] two\n[3] \n");
  EXPECT_EQ(lines.rest(), "[3] three\n");
  EXPECT_EQ(lines.rest(), "");
}

TEST(LinePrefixerTest, CutsALineWithoutEnd) {
  LinePrefixer lines("[0] ");
  const std::string cut = lines.add(std::string(LinePrefixer::kMaxLine, 'x'));
  EXPECT_EQ(cut.size(), LinePrefixer::kMaxLine + 5);
  EXPECT_EQ(lines.rest(), "");
}

}  // namespace
}  // namespace dprof::recorder
