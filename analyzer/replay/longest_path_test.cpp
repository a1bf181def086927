// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "analyzer/replay/longest_path_internal.h"
#include "analyzer/replay/test_support/job.h"
#include "base/test_support/sanitized.h"

namespace dprof::analyzer {
namespace {

constexpr int kRandomRanks = 6;
constexpr int kRandomSteps = 12;
constexpr int kRandomJobs = kSanitized ? 30 : 60;

// Pairs of ranks meet, then everybody: each time after work of some kinds, of random lengths.
class RandomJob {
 public:
  explicit RandomJob(unsigned seed) : random_(seed) {
    std::vector<int> all;
    for (int r = 0; r < kRandomRanks; ++r) all.push_back(r);
    std::vector<size_t> pairs;
    for (int r = 0; r < kRandomRanks; r += 2) pairs.push_back(job_.group({r, r + 1}));
    const size_t everybody = job_.group(all);
    for (int s = 0; s < kRandomSteps; ++s) {
      job_.step_begins();
      for (int meeting = below(3); meeting >= 0; --meeting) {
        works();
        for (const size_t pair : pairs) {
          const int64_t bytes = 1000 << below(3);
          job_.meet(pair, 20'000 + bytes * (50 + below(10)), {}, {.bytes = bytes});
        }
      }
      for (int bucket = 0; bucket < 3; ++bucket) {
        works();
        const int64_t bytes = 100'000 << bucket;
        job_.meet(everybody, 50'000 + bytes + below(20'000), {}, {bytes, bucket});
      }
    }
    if (seed % 2 == 0) job_.on_device();
    if (seed % 3 == 0) job_.with_contention(1.3);
  }

  WhatIfModel model() { return job_.model(); }

 private:
  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }

  void works() {
    struct Kind {
      Category category;
      HostDetail detail;
    };
    constexpr Kind kKinds[] = {{Category::kForward, {}},
                               {Category::kBackward, {}},
                               {Category::kOverlapped, {}},
                               {Category::kInputWait, {}},
                               {Category::kSyncBubble, {}},
                               {Category::kLaunch, {}},
                               {Category::kHost, HostDetail::kGc},
                               {Category::kHost, HostDetail::kCheckpoint},
                               {Category::kHost, HostDetail::kUnattributed}};
    for (int r = 0; r < kRandomRanks; ++r) {
      for (const Kind& kind : kKinds) {
        if (below(4) == 0) job_.work(r, below(3'000'000), kind.category, kind.detail);
      }
    }
  }

  Job job_{kRandomRanks};
  std::mt19937 random_;
};

Contention with_factor(double factor) {
  Contention contention;
  contention.factor = factor;
  return contention;
}

std::vector<Change> questions(const WhatIfModel& model) {
  std::vector<Change> changes = model.catalogue();
  for (const char* text :
       {"rank:1=peers", "rank:2*0.7", "rank:3*1.5", "transfer=0", "transfer*0.3", "transfer*1.7",
        "bandwidth*1.2", "bandwidth*0.5", "latency*0.5", "input*0.5", "checkpoint*0.5", "gc=0",
        "phase:backward*0.6", "phase:forward=0", "phase:forward*1.2", "bucket_cap=200KB"}) {
    const Result<Change> change = parse_change(text);
    EXPECT_TRUE(change.ok()) << text;
    if (change.ok()) changes.push_back(*change);
  }
  return changes;
}

TEST(LongestPathTest, NoChangeGainsMoreThanItTakesOffThePath) {
  std::set<std::string> answered;
  std::set<std::string> close;  // those whose bound is not far from the gain, somewhere
  for (unsigned seed = 0; seed < kRandomJobs; ++seed) {
    RandomJob job(seed);
    const WhatIfModel model = job.model();
    const std::optional<LongestPath> path = LongestPath::of(model.run(), model.ends());
    ASSERT_TRUE(path);
    const std::optional<Contention> contention =
        seed % 3 == 0 ? std::optional(with_factor(1.3)) : std::nullopt;
    for (const Change& change : questions(model)) {
      const Result<WhatIf> what = model.answer(std::span(&change, 1));
      const auto bound = path->most_gained(model.run(), change, contention);
      ASSERT_TRUE(what.ok() && bound) << change.text;
      if (!what->gain_ns) continue;
      EXPECT_GE(*bound, static_cast<double>(*what->gain_ns)) << change.text << ", seed " << seed;
      answered.insert(change.text);
      if (*bound < 1.2 * static_cast<double>(*what->gain_ns)) close.insert(change.text);
    }
  }
  for (const char* text : {"input=0", "transfer=0", "latency=0", "bandwidth*2", "sync=none",
                           "launch=graphs", "gc=together", "checkpoint=0", "host-work=0",
                           "overlap=full", "stragglers=none", "rank:1=peers", "bucket_cap=200KB"})
    EXPECT_THAT(answered, testing::Contains(text));
  for (const char* text : {"input=0", "transfer=0", "latency=0", "checkpoint=0", "rank:2*0.7"})
    EXPECT_THAT(close, testing::Contains(text));
}

// Without work of a kind nothing can be gained from it, and nobody gains who never is last.
TEST(LongestPathTest, WhatIsNotOnThePathGainsNothing) {
  Job job(3);
  job.group({0, 1, 2});
  for (int s = 0; s < kRandomSteps; ++s) {
    job.step_begins();
    job.work(0, 20'000'000);
    job.work(1, 10'000'000);
    job.work(1, 5'000'000, Category::kInputWait);
    job.work(2, 12'000'000);
    job.meet(0, 4'000'000);
  }
  const WhatIfModel model = job.model();
  const std::optional<LongestPath> path = LongestPath::of(model.run(), model.ends());
  ASSERT_TRUE(path);
  const auto most = [&](const char* text) {
    return path->most_gained(model.run(), *parse_change(text), {}).value_or(-1);
  };
  EXPECT_NEAR(most("input=0"), 0, 10);
  EXPECT_NEAR(most("rank:2=peers"), 0, 10);
  EXPECT_NEAR(most("transfer*0.25"), 3'000'000, 10);
  EXPECT_NEAR(most("rank:0*0.5"), 10'000'000, 10);
  EXPECT_NEAR(most("bandwidth*0.5"), 0, 10);  // slower
}

// The same list as if all questions had been replayed.
TEST(LongestPathTest, TheBestAnswersAreThoseOfAllQuestions) {
  size_t listed = 0;
  size_t left_out = 0;
  for (unsigned seed = 0; seed < kRandomJobs; ++seed) {
    RandomJob job(seed);
    const WhatIfModel model = job.model();
    std::vector<WhatIf> all;
    for (const Change& change : model.catalogue()) {
      const Result<WhatIf> what = model.answer(std::span(&change, 1));
      ASSERT_TRUE(what.ok());
      const double least = 0.005 * static_cast<double>(model.mean_step_ns());
      if (!what->gain_ns || static_cast<double>(*what->gain_ns) < least)
        ++left_out;
      else
        all.push_back(*what);
    }
    std::ranges::stable_sort(all, std::greater{}, [](const WhatIf& w) { return *w.gain_ns; });
    const auto is_cap = [](const WhatIf& w) { return w.change.starts_with("bucket_cap"); };
    const auto first = std::ranges::find_if(all, is_cap);
    if (first != all.end()) all.erase(std::remove_if(first + 1, all.end(), is_cap), all.end());
    const std::vector<WhatIf> best = model.best(6);
    ASSERT_EQ(best.size(), std::min<size_t>(6, all.size())) << seed;
    for (size_t i = 0; i < best.size(); ++i) {
      EXPECT_EQ(best[i].change, all[i].change) << seed;
      EXPECT_EQ(best[i].gain_ns, all[i].gain_ns) << seed;
      EXPECT_EQ(best[i].step_ns, all[i].step_ns) << seed;
      EXPECT_EQ(best[i].bound_ns, all[i].bound_ns) << seed;
      EXPECT_EQ(best[i].valid_because, all[i].valid_because) << seed;
      EXPECT_EQ(best[i].bias, all[i].bias) << seed;
    }
    listed += best.size();
  }
  EXPECT_GT(listed, 100U);
  EXPECT_GT(left_out, 100U);
}

}  // namespace
}  // namespace dprof::analyzer
