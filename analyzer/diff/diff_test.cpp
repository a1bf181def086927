// SPDX-License-Identifier: Apache-2.0
#include "analyzer/diff/diff.h"

#include <gmock/gmock.h>

#include <random>

#include "analyzer/diff/render.h"

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

RunFacts made_run(const std::string& name, double forward_ns = 60, double wait_ns = 40) {
  RunFacts run{.source = name, .name = name, .ranks = 2, .hosts = 1, .world_size = 2, .steady = 20};
  for (int i = 0; i < 20; ++i) run.lengths_ns.push_back(1000 + i % 3);
  for (int rank = 0; rank < 2; ++rank)
    run.per_rank.push_back(
        {rank, forward_ns + wait_ns, {{"forward", forward_ns}, {"exposed_wait", wait_ns}}});
  run.stragglers.emplace();
  run.names = Names{{0}, {{"mm", false, 2, 60, 60}}, 0};
  return run;
}

Diff diff_one(const RunFacts& a, const RunFacts& b) {
  return diff_of(std::span(&a, 1), std::span(&b, 1));
}

// The parts of the change sum to it, in whole nanoseconds, for any runs.
TEST(Diff, PartsAddUpToTheChange) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<RunFacts> sides[2];
    for (auto& side : sides) {
      const auto runs = 1 + random() % 3;
      for (uint64_t r = 0; r < runs; ++r) {
        RunFacts run{.name = "r", .steady = static_cast<int64_t>(1 + random() % 50)};
        const auto ranks = 1 + random() % 5;
        for (uint64_t rank = 0; rank < ranks; ++rank) {
          RankFacts facts{.rank = static_cast<int>(rank), .category_ns = {}};
          for (const char* key :
               {"forward", "backward", "exposed_wait", "host", "of_a_later_dprof"}) {
            if (random() % 4 == 0) continue;
            const double ns = static_cast<double>(random() % 1'000'000'007) / 7.0;
            facts.category_ns.emplace_back(key, ns);
            facts.wall_ns += ns;
          }
          run.per_rank.push_back(std::move(facts));
        }
        side.push_back(std::move(run));
      }
    }
    const Diff diff = diff_of(sides[0], sides[1]);
    if (!diff.division) continue;  // no rank had any category
    int64_t a = 0;
    int64_t b = 0;
    int64_t change = 0;
    for (const ChangedPart& part : diff.division->parts) {
      a += part.a_ns;
      b += part.b_ns;
      change += part.change_ns();
    }
    EXPECT_EQ(a, diff.division->a_ns);
    EXPECT_EQ(b, diff.division->b_ns);
    EXPECT_EQ(change, diff.division->change_ns());
  }
}

// docs/story.md: an allocator that returns memory and obtains it again in the next forward.
TEST(Diff, PageFaultsThatGoWithTheChangeAreNamed) {
  RunFacts kept = made_run("kept", 60, 40);
  RunFacts given_back = made_run("given back", 90, 40);
  kept.page_faults_per_step = 12;
  kept.kernel_cpu_ns_per_step = 5;
  given_back.page_faults_per_step = 2400;
  given_back.kernel_cpu_ns_per_step = 25;
  EXPECT_THAT(where_text(diff_one(kept, given_back)), HasSubstr("most of it is forward"));
  EXPECT_THAT(where_text(diff_one(kept, given_back)),
              HasSubstr(", with 12 → 2,400 page faults per step"));
  EXPECT_THAT(where_text(diff_one(given_back, kept)),
              HasSubstr(", with 2,400 → 12 page faults per step"));
  given_back.kernel_cpu_ns_per_step = 6;  // but they take no time
  EXPECT_THAT(where_text(diff_one(kept, given_back)), Not(HasSubstr("faults")));
  given_back.kernel_cpu_ns_per_step = 25;  // time in the kernel, for something else
  given_back.page_faults_per_step = 15;
  EXPECT_THAT(where_text(diff_one(kept, given_back)), Not(HasSubstr("faults")));
}

TEST(Diff, TheLargestPartGoesTheWayOfTheChange) {
  const Diff diff = diff_one(made_run("a", 60, 40), made_run("b", 80, 30));
  ASSERT_TRUE(diff.division);
  EXPECT_EQ(diff.division->change_ns(), 10);
  ASSERT_NE(largest_part(*diff.division), nullptr);
  EXPECT_EQ(largest_part(*diff.division)->key, "forward");
}

TEST(Diff, ARunWithItselfDiffersNowhere) {
  const Diff diff = diff_one(made_run("a"), made_run("a"));
  EXPECT_TRUE(diff.comparable());
  EXPECT_THAT(diff.dissimilar, IsEmpty());
  EXPECT_THAT(diff.names, IsEmpty());
  EXPECT_THAT(diff.stragglers, IsEmpty());
  EXPECT_EQ(diff.division->change_ns(), 0);
  EXPECT_EQ(largest_part(*diff.division), nullptr);
  EXPECT_LE(diff.step->least, 0);
}

// Issue 25: a baseline from other hardware, half a run, lost records, missing clocks.
TEST(Diff, WhatDiffersIsSaidAndWhetherItMatters) {
  const RunFacts a = made_run("a");
  const auto only = [&](auto&& change) {
    RunFacts b = made_run("b");
    change(b);
    return diff_one(a, b);
  };
  const auto expect = [](const Diff& diff, std::string_view what, bool matters) {
    ASSERT_THAT(diff.dissimilar, SizeIs(1)) << what;
    EXPECT_EQ(diff.dissimilar[0].what, what);
    EXPECT_EQ(diff.dissimilar[0].matters, matters) << what;
    EXPECT_FALSE(diff.dissimilar[0].why.empty());
    EXPECT_EQ(diff.comparable(), !matters);
  };
  expect(only([](RunFacts& b) { b.world_size = b.ranks = 4; }), "world size", true);
  expect(only([](RunFacts& b) { b.ranks = 1; }), "ranks", true);
  expect(only([](RunFacts& b) { b.lost = 3, b.events = 1000; }), "lost records", false);
  expect(only([](RunFacts& b) { b.lost = 300, b.events = 1000; }), "lost records", true);
  expect(only([](RunFacts& b) { b.has_clock = false; }), "clocks", false);
  expect(only([](RunFacts& b) { b.ended = "crash"; }), "how it ended", true);
  RunFacts with_gpu = made_run("a");
  with_gpu.environment["gpu"] = "V100";
  RunFacts other_gpu = made_run("b");
  other_gpu.environment["gpu"] = "A100";
  expect(diff_one(with_gpu, other_gpu), "GPU", true);
  EXPECT_THAT(diff_one(a, other_gpu).dissimilar, IsEmpty()) << "what one side does not know";
  with_gpu.environment = {{"torch_version", "2.10.0"}};
  other_gpu.environment = {{"torch_version", "2.11.0"}};
  expect(diff_one(with_gpu, other_gpu), "torch", false);
}

TEST(Diff, TooFewStepsSayHowManyAreNeeded) {
  RunFacts b = made_run("b");
  b.lengths_ns.resize(4);
  const Diff diff = diff_one(made_run("a"), b);
  EXPECT_FALSE(diff.step);
  EXPECT_THAT(diff.why_no_step, HasSubstr("b has 4 steady steps; at least 10 are needed"));
}

TEST(Diff, NamesAreNewGoneMoreAndLonger) {
  RunFacts a = made_run("a");
  RunFacts b = made_run("b");
  a.names->list = {{"same", false, 1, 9, 9},
                   {"gone", false, 1, 20, 20},
                   {"more", true, 2, 10, 10},
                   {"longer", false, 1, 10, 10}};
  b.names->list = {{"same", false, 1, 9, 9},
                   {"new", false, 1, 30, 30},
                   {"more", true, 4, 20, 20},
                   {"longer", false, 1, 15, 15}};
  const auto what = [&](const Diff& diff) {
    std::vector<std::string> list;
    for (const ChangedName& name : diff.names) {
      list.push_back(name.what);
      EXPECT_EQ(name.by_count_ns + name.by_length_ns, name.change_ns());
    }
    return list;
  };
  EXPECT_THAT(what(diff_one(a, b)), ElementsAre("new", "gone", "more", "longer"));
  // A's list was truncated above B's time: whether the name is new is unknown.
  a.names->left_out = 5;
  a.names->list.push_back({"last", false, 1, 30, 30});
  b.names->list.push_back({"last", false, 1, 30, 30});
  EXPECT_THAT(what(diff_one(a, b)), ElementsAre("gone", "more", "longer"));
}

// Memory returned to the system and obtained again in each step costs faults and kernel time.
TEST(Diff, PageFaultsAreShownWhereTheyChangedMuch) {
  RunFacts a = made_run("a");
  RunFacts b = made_run("b");
  a.page_faults_per_step = 70'000;
  b.page_faults_per_step = 900;
  a.kernel_cpu_ns_per_step = 4.0e6;
  b.kernel_cpu_ns_per_step = 3.9e6;
  const std::string text = render_diff_text(diff_one(a, b), {});
  EXPECT_THAT(text, HasSubstr("page faults per step"));
  EXPECT_THAT(text, HasSubstr("70,000"));
  EXPECT_THAT(text, Not(HasSubstr("time in the kernel")));
  b.page_faults_per_step.reset();
  EXPECT_THAT(diff_one(a, b).figures,
              ::testing::Each(
                  ::testing::Field(&ChangedFigure::key, ::testing::Ne("page_faults_per_step"))));
}

TEST(Diff, StragglersAppearVanishAndMove) {
  RunFacts a = made_run("a");
  RunFacts b = made_run("b");
  a.stragglers = {{{0, "persistent", "dataloader", 5}, {1, "persistent", "compute", 9}}};
  b.stragglers = {{{1, "persistent", "network", 9}, {2, "persistent", "dataloader", 6}}};
  const Diff diff = diff_one(a, b);
  ASSERT_THAT(diff.stragglers, SizeIs(2));
  EXPECT_EQ(diff.stragglers[0].what, "other cause");
  EXPECT_EQ(diff.stragglers[1].what, "other rank");
  EXPECT_THAT(diff_one(made_run("a"), b).stragglers[0].what, "appeared");
  EXPECT_THAT(diff_one(a, made_run("b")).stragglers[0].what, "vanished");
}

TEST(Diff, WhatIsShownAddsUpToo) {
  const Diff diff = diff_one(made_run("a", 60e6, 40e6), made_run("b", 63.04e6, 40.04e6));
  const std::string text = render_diff_text(diff, {});
  EXPECT_THAT(text, HasSubstr("forward       60.0   63.0    +3.0"));
  EXPECT_THAT(text, HasSubstr("other parts   40.0   40.0    +0.1"));
  EXPECT_THAT(text, HasSubstr("mean step    100.0  103.1    +3.1"));
}

}  // namespace
}  // namespace dprof::analyzer
