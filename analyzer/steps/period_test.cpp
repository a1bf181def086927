// SPDX-License-Identifier: Apache-2.0
// Token grammars: collectives of common training methods, with inserted operations.
#include "analyzer/steps/period.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analyzer/match/result.h"
#include "base/test_support/sanitized.h"

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAreArray;

constexpr size_t kPeriodSteps = 40;

// Tokens of one step.
using Grammar = std::vector<uint32_t>;

Grammar ddp_distinct() {
  Grammar step;
  for (uint32_t bucket = 0; bucket < 12; ++bucket) step.push_back(bucket);
  return step;
}

Grammar ddp_equal() {
  Grammar step(10, 0);
  step.push_back(1);  // what is left over is smaller
  return step;
}

// Gathers each layer's parameters in forward and in backward, where it also scatters gradients.
Grammar fsdp(size_t layers, size_t accumulated = 1) {
  Grammar step;
  for (size_t micro = 0; micro < accumulated; ++micro) {
    step.insert(step.end(), layers, 0);
    for (size_t i = 0; i < layers; ++i) step.insert(step.end(), {0, 1});
  }
  if (accumulated > 1) step.push_back(2);  // the norm of the gradients
  return step;
}

Grammar zero() {
  Grammar step;
  for (uint32_t bucket = 0; bucket < 8; ++bucket) step.push_back(bucket);
  step.push_back(8);              // the norm
  step.insert(step.end(), 8, 9);  // parameters back
  return step;
}

// A middle stage of four, one forward one backward, 12 micro-batches, then data parallel.
Grammar pipeline() {
  constexpr uint32_t kTakeForward = 0, kGiveForward = 1, kTakeBackward = 2, kGiveBackward = 3;
  Grammar step;
  for (int i = 0; i < 2; ++i) step.insert(step.end(), {kTakeForward, kGiveForward});
  for (int i = 0; i < 10; ++i)
    step.insert(step.end(), {kTakeForward, kGiveForward, kTakeBackward, kGiveBackward});
  for (int i = 0; i < 2; ++i) step.insert(step.end(), {kTakeBackward, kGiveBackward});
  step.insert(step.end(), {4, 5, 5, 6});
  return step;
}

struct Sequence {
  std::vector<uint32_t> tokens;
  std::vector<TraceNs> times;
  std::vector<size_t> begins;  // the truth
};

enum class Inserted : uint8_t { kInSteps, kBeforeTokens };

// 40 steps, with one foreign op inserted per step or per token with the given probability, and 15
// of them at one place.
Sequence made(const Grammar& step, double probability, Inserted where, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  Sequence made;
  int64_t now = 0;
  const auto add = [&](uint32_t token, int64_t after) {
    now += after;
    made.tokens.push_back(token);
    made.times.push_back({now});
  };
  const auto foreign = [&] { add(static_cast<uint32_t>(100 + random() % 3), 50'000); };
  const size_t burst_step = 7 + random() % 25;
  const size_t burst_at = random() % step.size();
  for (size_t s = 0; s < kPeriodSteps; ++s) {
    const bool in_step = where == Inserted::kInSteps && uniform(random) < probability;
    const size_t at = random() % step.size();
    for (size_t i = 0; i < step.size(); ++i) {
      if (s == burst_step && i == burst_at) {
        for (int n = 0; n < 15; ++n) foreign();
      }
      if (in_step && i == at) foreign();
      if (where == Inserted::kBeforeTokens && uniform(random) < probability) foreign();
      if (i == 0) made.begins.push_back(made.tokens.size());
      const auto jitter = static_cast<int64_t>(random() % 200'000);
      add(step[i], (i == 0 ? 20'000'000 : 1'000'000) + jitter);
    }
  }
  return made;
}

// Tokens as dense numbers, as tokens_of() gives them.
Sequence dense(Sequence sequence) {
  std::vector<uint32_t> known;
  for (uint32_t& token : sequence.tokens) {
    auto found = std::ranges::find(known, token);
    if (found == known.end()) found = known.insert(known.end(), token);
    token = static_cast<uint32_t>(found - known.begin());
  }
  return sequence;
}

struct GrammarCase {
  const char* name;
  Grammar step;
};

class PeriodTest : public ::testing::TestWithParam<GrammarCase> {};

TEST_P(PeriodTest, FindsEachStepWhateverIsInserted) {
  for (const double probability : {0.0, 0.02, 0.1}) {
    for (const Inserted where : {Inserted::kInSteps, Inserted::kBeforeTokens}) {
      for (uint32_t seed = 1; seed <= (kSanitized ? 2 : 5); ++seed) {
        const Sequence sequence = dense(made(GetParam().step, probability, where, seed));
        const auto period = find_period(sequence.tokens, sequence.times);
        const auto what = ::testing::Message()
                          << probability << " " << static_cast<int>(where) << " seed " << seed;
        ASSERT_TRUE(period) << what;
        EXPECT_EQ(period->tokens, GetParam().step.size()) << what;
        EXPECT_THAT(period->begins, ElementsAreArray(sequence.begins)) << what;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Grammars, PeriodTest,
                         ::testing::Values(GrammarCase{"ddp_distinct", ddp_distinct()},
                                           GrammarCase{"ddp_equal", ddp_equal()},
                                           GrammarCase{"fsdp_32", fsdp(32)},
                                           GrammarCase{"fsdp_80", fsdp(80)},
                                           GrammarCase{"fsdp_accumulated", fsdp(32, 4)},
                                           GrammarCase{"zero", zero()},
                                           GrammarCase{"pipeline", pipeline()}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PeriodOfEqualTokensTest, PausesTell) {
  const Sequence sequence = dense(made(Grammar(9, 0), 0, Inserted::kInSteps, 1));
  const auto period = find_period(sequence.tokens, sequence.times);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->tokens, 9U);
  EXPECT_THAT(period->begins, ElementsAreArray(sequence.begins));
}

TEST(PeriodOfEqualTokensTest, OneCollectiveAStep) {
  const Sequence sequence = dense(made(Grammar(1, 0), 0, Inserted::kInSteps, 1));
  const auto period = find_period(sequence.tokens, sequence.times);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->tokens, 1U);
  EXPECT_THAT(period->begins, ElementsAreArray(sequence.begins));
}

TEST(PeriodOfNothingTest, RandomTokensHaveNone) {
  std::mt19937 random(3);
  std::vector<uint32_t> tokens;
  std::vector<TraceNs> times;
  for (int64_t i = 0; i < 2000; ++i) {
    tokens.push_back(static_cast<uint32_t>(random() % 20));
    times.push_back({i * 1000});
  }
  EXPECT_FALSE(find_period(tokens, times));
  EXPECT_FALSE(find_period({}, {}));
}

TEST(IsSteadyTest, WarmUpAndOutliersDoNotCount) {
  std::vector<TraceNs> begins;
  int64_t now = 0;
  for (int i = 0; i < 30; ++i) {
    begins.push_back({now});
    now += i < 3 ? 900'000 : i == 20 ? 5'000'000 : 100'000 + (i % 7) * 1000;
  }
  EXPECT_TRUE(is_steady(begins));
  std::mt19937 random(1);
  std::exponential_distribution<double> length(1e-6);
  for (TraceNs& begin : begins) begin = {now += static_cast<int64_t>(length(random))};
  EXPECT_FALSE(is_steady(begins));
  EXPECT_FALSE(is_steady({}));
}

}  // namespace
}  // namespace dprof::analyzer
