// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/memory_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"

namespace dprof::view {
namespace {

using analyzer::MemoryUse;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kGb = 1'000'000'000;

class MemoryPageTest : public ::testing::Test {
 protected:
  [[nodiscard]] Panel page() {
    return draw_memory_page(session.model(), session.viewport, session.selecting, 1200, 700, 0,
                            measure);
  }
  [[nodiscard]] std::string text() { return to_text(page().list); }
  void open(analyzer::Memory memory) {
    Model model = test::small_model();
    model.report.memory = std::move(memory);
    session.open(std::make_shared<const Model>(std::move(model)));
    session.selecting.clear();
  }

  FixedTextMeasure measure;
  Session session;
};

analyzer::RankMemory peak_of(int rank, int64_t parameters, int64_t activations) {
  analyzer::RankMemory one{.rank = rank, .device = 0};
  one.by_category.emplace();
  (*one.by_category)[static_cast<size_t>(MemoryUse::kParameter)] = parameters;
  (*one.by_category)[static_cast<size_t>(MemoryUse::kActivation)] = activations;
  one.peak_allocated = parameters + activations;
  one.peak_reserved = *one.peak_allocated + kGb;
  one.peak_step = 2;
  one.peak_phase = "backward";
  one.at_peak = {
      {MemoryUse::kActivation, fmt::format("layer of rank {}", rank), "forward", 40, activations}};
  return one;
}

TEST_F(MemoryPageTest, AllRanksOnOneScale) {
  open({.per_rank = {peak_of(0, kGb, 2 * kGb), peak_of(2, kGb, 7 * kGb)}});
  const Panel drawn = page();
  // Bar lengths are proportional to bytes, across ranks and within one.
  std::vector<int> widths;
  for (const Command& command : drawn.list.commands()) {
    if (command.kind == CommandKind::kRect && is_category(command.role) && command.box.h == 17)
      widths.push_back(command.box.w);
  }
  ASSERT_EQ(widths.size(), 4U);
  EXPECT_NEAR(widths[1], 2 * widths[0], 2);
  EXPECT_NEAR(widths[3], 7 * widths[2], 7);
  EXPECT_NEAR(widths[0], widths[2], 1);
  EXPECT_THAT(text(), HasSubstr("up to 9.00 GB"));
  EXPECT_THAT(text(), HasSubstr("8.00 GB of 9.00 GB reserved"));
}

TEST_F(MemoryPageTest, WhatLivedAtThePeakOfTheLargestOrTheSelectedRank) {
  open({.per_rank = {peak_of(0, kGb, 2 * kGb), peak_of(2, kGb, 7 * kGb)}});
  EXPECT_THAT(text(), HasSubstr("the peak of rank 2 (step 2, backward)"));
  EXPECT_THAT(text(), HasSubstr("layer of rank 2"));
  EXPECT_THAT(text(), HasSubstr("88 %"));
  page().links.front().follow();
  EXPECT_THAT(text(), HasSubstr("layer of rank 0"));
  EXPECT_THAT(text(), Not(HasSubstr("layer of rank 2")));
}

TEST_F(MemoryPageTest, ResidentMemoryAloneIsCalledSo) {
  analyzer::Memory memory;
  memory.per_rank = {{.rank = 0}, {.rank = 1}};
  memory.host = {{.rank = 0, .samples = 5, .peak_resident = kGb},
                 {.rank = 1, .samples = 5, .peak_resident = 2 * kGb}};
  open(std::move(memory));
  EXPECT_THAT(text(), HasSubstr("Resident memory of each process"));
  EXPECT_THAT(text(), Not(HasSubstr("at its peak")));
  EXPECT_THAT(text(), HasSubstr("leaks: unknown"));
}

TEST_F(MemoryPageTest, ALeakIsOnTop) {
  analyzer::Memory memory{.per_rank = {peak_of(0, kGb, 2 * kGb)}};
  memory.leaks = {{.rank = 0, .device = 0, .bytes_per_step = 4'000'000, .steps = 50}};
  open(std::move(memory));
  const std::string drawn = text();
  EXPECT_LT(drawn.find("grows by 4.00 MB"), drawn.find("What each rank held"));
}

// Two ranks of three steps of 100 ms; in the last third rank 2 holds 8 GB, rank 0 always 2 GB.
TEST_F(MemoryPageTest, OverTheRunOnTheScaleOfAllRanks) {
  Model model = test::small_model();
  model.report.memory =
      analyzer::Memory{.per_rank = {peak_of(0, kGb, kGb), peak_of(2, kGb, 7 * kGb)}};
  const auto curve = [](int64_t later) {
    const auto point = [](int64_t at, int64_t level) {
      return analyzer::LevelPoint{
          .begin = TraceNs{at * test::kMs}, .low = level, .high = level, .last = level};
    };
    return MemoryTrack({.device = 0,
                        .source = analyzer::MemorySource::kAllocatorEvents,
                        .levels = {.cell_ns = test::kMs,
                                   .points = {point(0, 2 * kGb), point(200, later)},
                                   .end = TraceNs{300 * test::kMs}}});
  };
  model.ranks[0].memory.push_back(curve(2 * kGb));
  model.ranks[2].memory.push_back(curve(8 * kGb));
  session.open(std::make_shared<const Model>(std::move(model)));
  session.selecting.clear();
  const Panel drawn = page();
  EXPECT_THAT(text(), HasSubstr("What each rank held over the run and at its peak"));
  std::vector<Box> held;  // without the column in which it rises
  for (const Command& command : drawn.list.commands()) {
    if (command.kind == CommandKind::kRect &&
        command.role == role_of(analyzer::Category::kAllocator) && command.box.h != 17 &&
        command.box.h != 2 && command.box.w > 12)
      held.push_back(command.box);
  }
  ASSERT_EQ(held.size(), 3U);
  EXPECT_NEAR(held[0].h, held[1].h, 1);
  EXPECT_NEAR(held[2].h, 4 * held[1].h, 4);
  EXPECT_NEAR(held[1].w, 2 * held[2].w, 3);

  // A step in the curve links to it.
  const auto at = [&](Box box) {
    return std::ranges::find_if(drawn.links, [&](const Link& link) {
      return link.box.contains(box.x + box.w / 2, box.y + 1);
    });
  };
  at(held[2])->follow();
  EXPECT_EQ(session.selecting.selection().ranks, std::vector<int>{2});
  EXPECT_EQ(session.selecting.selection().step, 2);
}

TEST_F(MemoryPageTest, OnlyLinesInViewAreDrawn) {
  analyzer::Memory memory;
  for (int rank = 0; rank < 1000; ++rank) memory.per_rank.push_back(peak_of(rank, kGb, kGb));
  open(std::move(memory));
  EXPECT_LT(page().links.size(), 30U);
  const Panel scrolled = draw_memory_page(session.model(), session.viewport, session.selecting,
                                          1200, 700, 40 * 500, measure);
  EXPECT_EQ(scrolled.height, page().height);
  EXPECT_THAT(to_text(scrolled.list), Not(HasSubstr("rank 0 · device")));
  EXPECT_GT(scrolled.links.size(), 10U);
}

TEST_F(MemoryPageTest, WhatIsNotListedIsOneLine) {
  analyzer::RankMemory one = peak_of(0, kGb, 3 * kGb);
  one.at_peak.front().bytes = kGb;
  open({.per_rank = {one}});
  EXPECT_THAT(text(), HasSubstr("all else"));
  EXPECT_THAT(text(), HasSubstr("75 %"));
}

TEST_F(MemoryPageTest, NothingKnownIsSaid) {
  session.open(test::shared_small_model());
  EXPECT_THAT(text(), HasSubstr("No memory data"));
}

}  // namespace
}  // namespace dprof::view
