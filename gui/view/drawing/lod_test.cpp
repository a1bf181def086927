// SPDX-License-Identifier: Apache-2.0
#include "gui/view/drawing/lod.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace dprof::view {
namespace {

struct Columns {
  std::vector<int64_t> start_ns;
  std::vector<int64_t> duration_ns;
  std::vector<uint8_t> category;

  [[nodiscard]] Slices slices() const { return {start_ns, duration_ns, category}; }
  [[nodiscard]] Interval span() const {
    return {TraceNs{start_ns.front()}, TraceNs{start_ns.back() + duration_ns.back()}};
  }
};

// Slices of very different lengths, some touching, with gaps; some of zero length.
Columns random_slices(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Columns columns;
  int64_t at = 1000;
  for (size_t i = 0; i < count; ++i) {
    const auto length = static_cast<int64_t>(random() % (uint64_t{1} << (random() % 16)));
    columns.start_ns.push_back(at);
    columns.duration_ns.push_back(length);
    columns.category.push_back(static_cast<uint8_t>(random() % 4));
    at += length + (random() % 3 == 0 ? static_cast<int64_t>(random() % 5000) : 0);
    if (length == 0) ++at;
  }
  return columns;
}

TEST(LodIndex, FindsTheLongestAsASearchDoes) {
  const Columns columns = random_slices(5000, 3);
  const LodIndex index(columns.duration_ns);
  std::mt19937_64 random(4);
  for (int round = 0; round < 5000; ++round) {
    size_t first = random() % columns.duration_ns.size();
    size_t last = random() % columns.duration_ns.size();
    if (first > last) std::swap(first, last);
    ++last;
    const auto begin = columns.duration_ns.begin();
    const auto longest = std::max_element(begin + static_cast<std::ptrdiff_t>(first),
                                          begin + static_cast<std::ptrdiff_t>(last));
    ASSERT_EQ(index.longest(columns.duration_ns, first, last), longest - begin);
  }
}

struct LodCase {
  const char* name;
  size_t count;
  int width;
  double from, to;  // share of the whole
};

class LodBoxesTest : public ::testing::TestWithParam<LodCase> {};

TEST_P(LodBoxesTest, KeepsWhatABruteForceSees) {
  const LodCase& c = GetParam();
  const Columns columns = random_slices(c.count, 11);
  const LodIndex index(columns.duration_ns);
  const auto length = static_cast<double>(columns.span().length().ns);
  const TraceNs origin = columns.span().begin;
  const TimeScale scale({origin + DurationNs{static_cast<int64_t>(length * c.from)},
                         origin + DurationNs{static_cast<int64_t>(length * c.to)}},
                        c.width);
  std::vector<SliceBox> boxes;
  boxes_of(columns.slices(), index, scale, boxes);

  size_t visible = 0;
  uint32_t longest = 0;
  std::vector<bool> painted(static_cast<size_t>(c.width));
  for (const SliceBox& box : boxes) {
    ASSERT_GE(box.x1, box.x0 + 1);
    for (int x = std::max(box.x0, 0); x < std::min(box.x1, c.width); ++x) {
      painted[static_cast<size_t>(x)] = true;
    }
  }
  for (uint32_t i = 0; i < columns.start_ns.size(); ++i) {
    const int64_t end = columns.start_ns[i] + columns.duration_ns[i];
    const bool begins_inside = columns.start_ns[i] >= scale.range().begin.ns;
    if (columns.start_ns[i] >= scale.range().end.ns) continue;
    if (end <= scale.range().begin.ns && !begins_inside) continue;
    if (visible == 0 || columns.duration_ns[i] > columns.duration_ns[longest]) longest = i;
    ++visible;
    const int first = std::max(scale.pixel_of(TraceNs{columns.start_ns[i]}), 0);
    const int last =
        std::min(scale.pixel_of(TraceNs{std::max(end - 1, columns.start_ns[i])}), c.width - 1);
    for (int x = first; x <= last; ++x) {
      ASSERT_TRUE(painted[static_cast<size_t>(x)]) << "pixel " << x << " of slice " << i;
    }
  }
  size_t counted = 0;
  bool longest_shown = false;
  for (size_t i = 0; i < boxes.size(); ++i) {
    counted += boxes[i].count;
    longest_shown =
        longest_shown || columns.duration_ns[boxes[i].slice] == columns.duration_ns[longest];
    if (i > 0) {
      ASSERT_EQ(boxes[i].first, boxes[i - 1].first + boxes[i - 1].count);
    }
  }
  EXPECT_EQ(counted, visible);
  EXPECT_EQ(count_in(columns.slices(), scale.range()), visible);
  EXPECT_TRUE(longest_shown);
  EXPECT_LE(boxes.size(), static_cast<size_t>(c.width) * 2 + 2) << "cost follows the pixels";
}

INSTANTIATE_TEST_SUITE_P(Lod, LodBoxesTest,
                         ::testing::Values(LodCase{"whole", 20'000, 1000, 0, 1},
                                           LodCase{"tenth", 20'000, 1000, 0.4, 0.5},
                                           LodCase{"close", 20'000, 1920, 0.5, 0.5005},
                                           LodCase{"narrow", 20'000, 3, 0.1, 0.9},
                                           LodCase{"few", 5, 800, 0, 1}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Lod, NothingGivesNothing) {
  const Columns none;
  std::vector<SliceBox> boxes(3);
  boxes_of(none.slices(), LodIndex(none.duration_ns), TimeScale({TraceNs{0}, TraceNs{100}}, 100),
           boxes);
  EXPECT_TRUE(boxes.empty());
  EXPECT_EQ(first_ending_after(none.slices(), TraceNs{5}), 0U);
}

TEST(Lod, AMillionSlicesCostNoMoreThanAThousand) {
  // Counts boxes, not time: the machine can be busy.
  const Columns many = random_slices(1'000'000, 5);
  const LodIndex index(many.duration_ns);
  std::vector<SliceBox> boxes;
  boxes_of(many.slices(), index, TimeScale(many.span(), 1920), boxes);
  EXPECT_LE(boxes.size(), 2 * 1920U);
}

}  // namespace
}  // namespace dprof::view
