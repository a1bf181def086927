// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/attribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <tuple>

namespace dprof::analyzer {
namespace {

// The definition, by examining every range: the innermost one that covers `at`, among those before
// `self` in the order of begin, length and row.
int32_t by_search(const std::vector<NestedRange>& ranges, int32_t thread, TraceNs at,
                  std::optional<size_t> self) {
  const auto place = [&](size_t r) {
    return std::tuple(ranges[r].begin, TraceNs{-ranges[r].end.ns}, r);
  };
  int32_t found = kNoRange;
  for (size_t r = 0; r < ranges.size(); ++r) {
    if (ranges[r].thread != thread || ranges[r].begin > at || ranges[r].end <= at) continue;
    if (self && place(r) >= place(*self)) continue;
    if (found == kNoRange || place(static_cast<size_t>(found)) < place(r))
      found = static_cast<int32_t>(r);
  }
  return found;
}

// Random nested ranges on some threads, including lengths of 0, equal borders and twins.
class NestedSets : public testing::TestWithParam<uint64_t> {
 protected:
  int64_t random(int64_t limit) { return static_cast<int64_t>(random_() % limit); }

  void nest(int32_t thread, int64_t begin, int64_t end, int depth) {
    ranges_.push_back({{begin}, {end}, thread});
    if (depth == 0) return;
    for (int64_t at = begin; at < end && random(4) != 0;) {
      const int64_t from = at + random(std::min<int64_t>(3, end - at));
      const int64_t to = from + random(end - from + 1);
      nest(thread, from, to, depth - 1);
      at = to + random(2);
    }
  }

  void make() {
    ranges_.clear();
    const int64_t length = 5 + random(60);
    for (int32_t thread = 0; thread < 1 + random(3); ++thread) {
      for (int64_t at = random(10); at < length;) {
        const int64_t end = at + random(20);
        nest(thread * 7, at, end, 3);
        at = end + random(3);
      }
    }
    // Cut at the trace's ends.
    const int64_t first = random(5);
    const int64_t last = first + length - random(10);
    std::erase_if(ranges_,
                  [&](const NestedRange& r) { return r.end.ns < first || r.begin.ns > last; });
    for (NestedRange& r : ranges_) {
      r.begin = std::max(r.begin, TraceNs{first});
      r.end = std::min(r.end, TraceNs{last});
    }
    // Threads are mixed in a trace, and ranges with equal begins come in any order.
    std::ranges::shuffle(ranges_, random_);
    std::ranges::stable_sort(ranges_, {}, &NestedRange::begin);
    launches_.clear();
    for (int64_t at = 0; at < length + 5; at += random(4)) {
      if (launches_.size() > 40) break;
      launches_.push_back({{at}, at, static_cast<int32_t>(random(3)) * 7});
    }
  }

  void compare(size_t round) {
    const Attribution found = attribute(ranges_, launches_);
    ASSERT_EQ(found.parent.size(), ranges_.size());
    ASSERT_EQ(found.owner.size(), launches_.size());
    for (size_t r = 0; r < ranges_.size(); ++r) {
      ASSERT_EQ(found.parent[r], by_search(ranges_, ranges_[r].thread, ranges_[r].begin, r))
          << "range " << r << " [" << ranges_[r].begin.ns << ", " << ranges_[r].end.ns
          << "), round " << round;
    }
    for (size_t l = 0; l < launches_.size(); ++l) {
      ASSERT_EQ(found.owner[l], by_search(ranges_, launches_[l].thread, launches_[l].at, {}))
          << "launch at " << launches_[l].at.ns << ", round " << round;
    }
  }

  std::mt19937_64 random_{GetParam()};
  std::vector<NestedRange> ranges_;
  std::vector<LaunchCall> launches_;
};

TEST_P(NestedSets, ParentsAndOwnersAreThoseOfABruteForceSearch) {
  for (size_t round = 0; round < 1000; ++round) {
    make();
    compare(round);
    if (HasFatalFailure()) return;
  }
}

TEST_P(NestedSets, RowsOutOfOrderGiveTheSame) {
  for (size_t round = 0; round < 100; ++round) {
    make();
    std::ranges::shuffle(launches_, random_);
    // Only the time order is lost: ranges with equal begins keep their row order.
    std::vector<NestedRange> later;
    std::vector<NestedRange> earlier;
    for (const NestedRange& r : ranges_) (r.begin.ns % 2 == 0 ? later : earlier).push_back(r);
    later.insert(later.end(), earlier.begin(), earlier.end());
    ranges_ = std::move(later);
    compare(round);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, NestedSets, testing::Range<uint64_t>(1, 11));

TEST(AttributionTest, NothingGivesNothing) {
  EXPECT_TRUE(attribute({}, {}).parent.empty());
  const std::vector<LaunchCall> launches = {{{5}, 1, 0}};
  EXPECT_EQ(attribute({}, launches).owner, std::vector<int32_t>{kNoRange});
}

TEST(LaunchIndexTest, FindsTheEarliestOfACorrelation) {
  std::vector<LaunchCall> launches;
  for (int64_t i = 0; i < 1000; ++i) launches.push_back({{i}, i * 1'000'003, 0});
  launches.push_back({{-1}, 500 * 1'000'003, 0});  // the runtime call around call 500
  launches.push_back({{2000}, 501 * 1'000'003, 0});
  const LaunchIndex index(launches);
  EXPECT_EQ(index.find(500 * 1'000'003), 1000);
  EXPECT_EQ(index.find(501 * 1'000'003), 501);
  EXPECT_EQ(index.find(999 * 1'000'003), 999);
  EXPECT_EQ(index.find(7), kNoRange);
  EXPECT_EQ(LaunchIndex({}).find(7), kNoRange);
}

}  // namespace
}  // namespace dprof::analyzer
