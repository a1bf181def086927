// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/run_queue.h"

#include <gtest/gtest.h>

#include <random>

#include "analyzer/breakdown/sums.h"

namespace dprof::analyzer {
namespace {

LatticePiece queue_piece(int64_t begin, int64_t end, Category category,
                         HostDetail detail = HostDetail::kNone) {
  return {{{begin}, {end}}, category, category, detail};
}

int64_t total(const Lattice& pieces, HostDetail detail) {
  int64_t ns = 0;
  for (const LatticePiece& p : pieces) {
    if (p.detail == detail) ns += p.span.length().ns;
  }
  return ns;
}

TEST(RunQueueTest, WaitingIsDealtToWhatWantedACore) {
  const Lattice pieces = {queue_piece(0, 400, Category::kForward),
                          queue_piece(400, 600, Category::kExposedWait),
                          queue_piece(600, 800, Category::kHost, HostDetail::kUnattributed),
                          queue_piece(800, 1000, Category::kHost, HostDetail::kGc)};
  const std::vector<RunQueueSample> samples = {{{0}, 50}, {{1000}, 350}};
  const auto on_host = with_run_queue(pieces, samples, true);
  EXPECT_EQ(total(on_host, HostDetail::kRunnable), 200);
  EXPECT_EQ(total(on_host, HostDetail::kPreempted), 100);
  EXPECT_EQ(total(on_host, HostDetail::kGc), 200);
  // With GPUs the host does not compute.
  const auto on_device = with_run_queue(pieces, samples, false);
  EXPECT_EQ(total(on_device, HostDetail::kRunnable), 0);
  EXPECT_EQ(total(on_device, HostDetail::kPreempted), 200);
}

TEST(RunQueueTest, WithoutSamplesNothingChanges) {
  const Lattice pieces = {queue_piece(0, 400, Category::kForward)};
  EXPECT_EQ(with_run_queue(pieces, {}, true).size(), 1U);
  const std::vector<RunQueueSample> still = {{{0}, 50}, {{400}, 51}};  // less than 1 %
  EXPECT_EQ(with_run_queue(pieces, still, true).size(), 1U);
}

TEST(RunQueueTest, CategoriesStayToTheNanosecond) {
  std::mt19937_64 random(5);
  const auto number = [&](uint64_t limit) { return static_cast<int64_t>(random() % limit); };
  for (int round = 0; round < 2000; ++round) {
    Lattice pieces;
    int64_t at = number(50);
    for (int64_t n = 1 + number(12); n > 0; --n) {
      const int64_t end = at + 1 + number(90);
      constexpr Category kSome[] = {Category::kForward, Category::kHost, Category::kExposedTransfer,
                                    Category::kOtherCompute};
      const Category category = kSome[number(4)];
      pieces.push_back(queue_piece(
          at, end, category, category == Category::kHost ? HostDetail::kRange : HostDetail::kNone));
      at = end;
    }
    std::vector<RunQueueSample> samples;
    int64_t time = -number(60);
    int64_t waited = 0;
    for (int64_t n = number(8); n > 0; --n) {
      samples.push_back({{time}, waited});
      time += number(120);  // two samples can have equal times
      waited += number(150);
    }
    const auto divided = with_run_queue(pieces, samples, number(2) == 0);
    const std::vector<Interval> window = {{pieces.span().begin, {at}}};
    ASSERT_EQ(sum_over(divided, window).front().category_ns,
              sum_over(pieces, window).front().category_ns)
        << round;
    for (size_t p = 0; p < divided.size(); ++p) {
      ASSERT_FALSE(divided[p].span.empty());
      if (p > 0) {
        ASSERT_EQ(divided[p].span.begin, divided[p - 1].span.end);
      }
    }
  }
}

}  // namespace
}  // namespace dprof::analyzer
