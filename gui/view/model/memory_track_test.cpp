// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/memory_track.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/accessible.h"
#include "gui/view/draw_session.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/timeline/timeline_view.h"

namespace dprof::view {
namespace {

using analyzer::MemorySource;
using test::kMs;
using ::testing::HasSubstr;

constexpr int64_t kGb = 1'000'000'000;

// 1 GB, in the first 10 ms of each step up to `most`, then down to 1 GB again.
analyzer::MemoryCurve curve_of(int device, int64_t most) {
  analyzer::MemoryCurve curve{
      .device = device,
      .source = device < 0 ? MemorySource::kCountedEvents : MemorySource::kAllocatorEvents,
      .levels = {.cell_ns = 10 * kMs, .points = {}, .end = {}}};
  for (int64_t step = 0; step < test::kSteps; ++step) {
    curve.levels.points.push_back({.begin = TraceNs{step * test::kStepNs},
                                   .low = kGb,
                                   .high = most,
                                   .last = kGb,
                                   .reserved = most + kGb});
  }
  curve.levels.end = TraceNs{test::kSteps * test::kStepNs};
  return curve;
}

TEST(MemoryTrack, HeldWithinACellAndAfterIt) {
  const analyzer::MemoryCurve curve = curve_of(0, 3 * kGb);
  const auto in = [&](int64_t begin, int64_t end) {
    return held_in(curve.levels, {TraceNs{begin}, TraceNs{end}});
  };
  EXPECT_EQ(in(0, kMs)->high, 3 * kGb);
  EXPECT_EQ(in(20 * kMs, 30 * kMs)->high, kGb);
  EXPECT_EQ(in(20 * kMs, 101 * kMs)->high, 3 * kGb);
  EXPECT_EQ(in(20 * kMs, 101 * kMs)->low, kGb);
  EXPECT_EQ(*in(0, kMs)->reserved, 4 * kGb);
  EXPECT_FALSE(in(301 * kMs, 302 * kMs));
  EXPECT_FALSE(in(-5, 0));
}

TEST(MemoryTrack, TextsSayWhatItIs) {
  EXPECT_EQ(held_text(curve_of(0, kGb), {kGb, 2 * kGb, 3 * kGb}),
            "1.00 GB to 2.00 GB allocated, 3.00 GB reserved");
  analyzer::MemoryCurve resident = curve_of(-1, kGb);
  resident.source = MemorySource::kResident;
  EXPECT_EQ(held_text(resident, {kGb, kGb, std::nullopt}), "1.00 GB resident");
  EXPECT_EQ(word_of(resident), "resident");
  EXPECT_EQ(word_of(curve_of(-1, kGb)), "memory");
  EXPECT_EQ(word_of(curve_of(3, kGb)), "device:3/memory");
}

TEST(MemoryTrack, PixelsStandForBytes) {
  const TimeScale scale({TraceNs{0}, TraceNs{test::kSteps * test::kStepNs}}, 300);
  DrawList list;
  draw_held(curve_of(0, 3 * kGb).levels, scale, {50, 10, 300, 40}, 4 * kGb, list);
  // A step: 10 columns of up to 3 GB of 4, then 90 of 1 GB; and the reserved memory.
  const std::string text = to_text(list);
  EXPECT_THAT(text, HasSubstr("rect 50 40 10 10 category:allocator"));
  EXPECT_THAT(text, HasSubstr("rect 50 20 10 20 category:allocator"));
  EXPECT_THAT(text, HasSubstr("rect 60 40 90 10 category:allocator"));
  EXPECT_THAT(text, HasSubstr("rect 60 10 90 1 text_dim"));
  for (const Command& command : list.commands()) {
    EXPECT_GE(command.box.y, 10);
    EXPECT_LE(command.box.y + command.box.h, 50);
  }
}

class MemoryRowTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Model model = test::small_model();
    model.ranks[2].memory.emplace_back(curve_of(0, 3 * kGb));
    model.ranks[2].memory.emplace_back(curve_of(-1, kGb));  // does not change
    model.ranks[1].memory.emplace_back(curve_of(0, 8 * kGb));
    session.open(std::make_shared<const Model>(std::move(model)));
    session.viewport.resize(600, 400);
    session.selecting.clear();
    for (const Row& row : session.tracks.layout().rows) {
      if (row.track == "rank:2" && row.folded) {
        session.tracks.toggle(row);
        break;
      }
    }
  }
  [[nodiscard]] const Row* row(std::string_view track) const {
    for (const Row& one : session.tracks.layout().rows) {
      if (one.track == track) return &one;
    }
    return nullptr;
  }

  FixedTextMeasure measure;
  Session session;
};

TEST_F(MemoryRowTest, AnUnfoldedRankShowsWhatChanges) {
  ASSERT_NE(row("rank:2/device:0/memory"), nullptr);
  EXPECT_EQ(row("rank:2/device:0/memory")->note, "4.00 GB");
  EXPECT_EQ(row("rank:2/memory"), nullptr);
}

TEST_F(MemoryRowTest, OnOneScaleWithTheOtherRanks) {
  EXPECT_EQ(memory_scale(session.model(), session.model().ranks[2].memory[0].curve), 9 * kGb);
  EXPECT_EQ(memory_scale(session.model(), session.model().ranks[2].memory[1].curve), 2 * kGb);
}

TEST_F(MemoryRowTest, IsSelectedPinnedAndHiddenLikeAnyTrack) {
  EXPECT_TRUE(session.selecting.select("rank:2/device:0/memory").ok());
  EXPECT_EQ(session.selecting.selection().track, "rank:2/device:0/memory");
  session.tracks.pin({"rank:*/device:0/memory"});
  EXPECT_EQ(session.tracks.layout().rows[1].track, "rank:1/device:0/memory");
  EXPECT_TRUE(session.tracks.layout().rows[1].pinned);
  session.tracks.hide({"rank:2/device:0/memory"});
  EXPECT_EQ(session.tracks.layout().rows.back().label, "1 hidden");
  const Status none = session.selecting.select("rank:2/device:7/memory");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().hint, HasSubstr("rank:2/device:0/memory"));
}

TEST_F(MemoryRowTest, ShowsTheMomentUnderTheMouse) {
  const Row& memory = *row("rank:2/device:0/memory");
  session.viewport.show({TraceNs{0}, TraceNs{test::kStepNs}});
  const Hit hit = hit_test(session.model(), session.tracks.layout(), session.viewport.scale(), 30,
                           memory.y + 5);
  EXPECT_EQ(hit.memory, 0);
  session.tracks.set_hover(Hover{.at = {30, 5}, .rank_index = 2, .memory = 0});
  EXPECT_THAT(to_text(draw_overlay(session, 600, 200, measure)),
              HasSubstr("1.00 GB to 3.00 GB allocated, 4.00 GB reserved"));
  session.selecting.click(hit);
  EXPECT_EQ(session.selecting.selection().track, memory.track);
  EXPECT_EQ(session.selecting.selection().step, 0);
}

TEST_F(MemoryRowTest, HasANameAndAValueForScreenReaders) {
  const auto index =
      static_cast<size_t>(row("rank:2/device:0/memory") - session.tracks.layout().rows.data());
  EXPECT_EQ(accessible_row(rows_area(session), session.selecting.selection(), index, 600).name,
            "rank 2, memory of device 0");
  EXPECT_EQ(accessible_value(rows_area(session), index),
            "1.00 GB to 3.00 GB allocated, 4.00 GB reserved");
}

}  // namespace
}  // namespace dprof::view
