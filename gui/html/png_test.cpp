// SPDX-License-Identifier: Apache-2.0
#include "gui/html/png.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <vector>

namespace dprof::html {
namespace {

TEST(PngTest, HoldsTheLevelsLineByLine) {
  const std::array<uint8_t, 6> levels = {1, 2, 3, 4, 5, 6};
  const std::string png = grey_png(levels, 3, 2);
  ASSERT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png.substr(12, 4), "IHDR");
  EXPECT_EQ(png[19], 3);  // width
  EXPECT_EQ(png[23], 2);  // height
  EXPECT_EQ(png.substr(37, 4), "IDAT");
  const auto packed = static_cast<uint8_t>(png[36]);
  std::vector<Bytef> lines(8);
  uLongf size = lines.size();
  ASSERT_EQ(
      uncompress(lines.data(), &size, reinterpret_cast<const Bytef*>(png.data()) + 41, packed),
      Z_OK);
  EXPECT_EQ(lines, (std::vector<Bytef>{0, 1, 2, 3, 0, 4, 5, 6}));
  EXPECT_EQ(png.substr(png.size() - 8, 4), "IEND");
}

TEST(PngTest, BytesAsText) {
  EXPECT_EQ(base64_of(""), "");
  EXPECT_EQ(base64_of("a"), "YQ==");
  EXPECT_EQ(base64_of("ab"), "YWI=");
  EXPECT_EQ(base64_of("abc"), "YWJj");
  EXPECT_EQ(base64_of("\xff\xfe\xfd\xfc"), "//79/A==");
}

}  // namespace
}  // namespace dprof::html
