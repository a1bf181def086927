// SPDX-License-Identifier: Apache-2.0
// What the docks show: events, stacks, durations, facts; and the effects of clicks in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "gui/view/docks/flame_dock.h"
#include "gui/view/docks/histogram_dock.h"
#include "gui/view/docks/info_dock.h"
#include "gui/view/docks/table_dock.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/session/session.h"

namespace dprof::view {
namespace {

using test::kMs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kWidth = 1400;
constexpr int kHeight = 300;

class DocksTest : public ::testing::Test {
 protected:
  DocksTest() {
    session.open(test::shared_small_model());
    session.selecting.clear();
    session.viewport.show_all();
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const SlicePlace& place : session.events.list().events)
      out.push_back(name_of(session.model(), place));
    return out;
  }
  void select(std::string_view selector, bool keep = false) {
    const Status selected = session.selecting.select(selector, keep);
    EXPECT_TRUE(selected.ok()) << selector;
  }
  // Follows the link at a point of the panel.
  bool click(const Panel& panel, int x, int y) {
    for (const Link& link : panel.links) {
      if (!link.box.contains(x, y)) continue;
      link.follow();
      return true;
    }
    return false;
  }
  // The centre of the first text that begins with `text`.
  [[nodiscard]] static Point place_of(const Panel& panel, std::string_view text) {
    for (const Command& command : panel.list.commands()) {
      if (command.kind == CommandKind::kText && panel.list.text_of(command).starts_with(text))
        return {command.box.x + command.box.w / 2, command.box.y + command.box.h / 2};
    }
    ADD_FAILURE() << "no text " << text;
    return {};
  }

  FixedTextMeasure measure;
  Session session;
};

TEST_F(DocksTest, TheTableHasTheEventsOfTheSelection) {
  EXPECT_EQ(session.events.list().count, 3 * 3 * 5);
  select("rank:2");
  select("step:1", true);
  EXPECT_THAT(names(), ElementsAre("step", "input", "forward", "all_reduce", "optimizer"));
  session.events.show_order(EventOrder::kByDuration);
  EXPECT_THAT(names(), ElementsAre("step", "input", "forward", "optimizer", "all_reduce"));
  select("name:*o*", true);
  EXPECT_THAT(names(), ElementsAre("forward", "optimizer"));
  const std::string text = events_as_text(session.model(), session.events.list_now());
  EXPECT_THAT(text, HasSubstr("forward\t140000000\t35000000\t2\tmain\trow:2/host_range/13\n"));
}

TEST_F(DocksTest, AClickInTheTableSelectsTheEventAndKeepsTheList) {
  select("rank:2");
  select("step:1", true);
  const Panel table = draw_table_dock(session.model(), session.events, session.selecting, kWidth,
                                      kHeight, 0, measure);
  const std::vector<std::string> before = names();
  ASSERT_TRUE(click(table, 200, place_of(table, "forward").y));
  ASSERT_TRUE(session.selecting.selection().slice);
  EXPECT_EQ(name_of(session.model(), *session.selecting.selection().slice), "forward");
  EXPECT_EQ(names(), before);
  EXPECT_EQ(session.selecting.name(), "forward");
}

// With nothing selected the list covers the visible range, which a click would otherwise move.
TEST_F(DocksTest, AClickHoldsTheVisibleRange) {
  session.viewport.show({TraceNs{100 * kMs}, TraceNs{120 * kMs}});
  const std::vector<std::string> before = names();
  ASSERT_GT(before.size(), 3U);
  session.selecting.select_event(session.events.list().events.back());
  EXPECT_EQ(names(), before);
}

TEST_F(DocksTest, OnlyLinesInViewAreDrawnAndOfVeryManyTheFirst) {
  Model model = test::small_model();
  RankModel& rank = model.ranks[0];
  constexpr int64_t kMany = 50'000;
  std::vector<int64_t> lengths;
  analyzer::RankLanes lanes = rank.lanes();
  analyzer::Lane& lane = lanes.threads[0].depths.emplace_back();
  std::mt19937_64 random(7);
  for (int64_t i = 0; i < kMany; ++i) {
    lengths.push_back(static_cast<int64_t>(random() % 5000) + 1);
    test::add(lane, i * 6000, i * 6000 + lengths.back(), 2, analyzer::Category::kForward, i + 1000);
  }
  rank.events = std::make_shared<const RankEvents>(std::move(lanes));
  session.open(std::make_shared<const Model>(std::move(model)));
  session.selecting.clear();
  select("range:0ns..1s");
  EXPECT_EQ(session.events.list().count, kMany + 45);
  EXPECT_EQ(session.events.list().events.size(), kMostListed);
  const Panel table = draw_table_dock(session.model(), session.events, session.selecting, kWidth,
                                      kHeight, 100'000, measure);
  EXPECT_LT(table.list.commands().size(), 200U);
  EXPECT_THAT(to_text(table.list), HasSubstr("first 10,000 shown"));
  // The longest equal those from sorting everything.
  session.events.show_order(EventOrder::kByDuration);
  std::ranges::sort(lengths, std::greater());
  const EventList& longest = session.events.list();
  for (const size_t i : {size_t{100}, size_t{5'000}, kMostListed - 1})
    EXPECT_EQ(span_of(session.model(), longest.events[i]).length().ns, lengths[i - 45]);
}

TEST_F(DocksTest, AFlameAddsUpItsStacks) {
  select("rank:0");
  select("range:0ms..300ms", true);
  const FlameTree& tree = session.events.flame();
  ASSERT_EQ(tree.nodes.size(), 5U) << "the root, step, and three parts of it";
  EXPECT_EQ(tree.nodes[0].total_ns, 300 * kMs);
  EXPECT_EQ(tree.nodes[1].name, "step");
  EXPECT_EQ(tree.nodes[1].count, 3);
  EXPECT_EQ(tree.nodes[1].self_ns, (300 - 3 * (10 + 35 + 10)) * kMs);
  for (const FlameNode& node : tree.nodes) {
    if (node.name == "forward") {
      EXPECT_EQ(node.offset_ns, 0) << "the most expensive is on the left";
    }
  }
  EXPECT_EQ(tree.depth, 2);
  // Events cut in half count half.
  select("rank:0");
  select("range:0ms..150ms", true);
  EXPECT_EQ(session.events.flame().nodes[0].total_ns, 150 * kMs);
}

TEST_F(DocksTest, BottomUpShowsWhoTookTimeItself) {
  select("rank:0");
  select("range:0ms..300ms", true);
  session.events.show_flame_order(FlameOrder::kBottomUp);
  const FlameTree& tree = session.events.flame();
  int64_t outermost = 0;
  for (const FlameNode& node : tree.nodes) {
    if (node.depth != 1) continue;
    outermost += node.total_ns;
    if (node.name == "forward") {
      EXPECT_EQ(node.total_ns, 105 * kMs);
    }
  }
  EXPECT_EQ(outermost, 300 * kMs) << "each nanosecond is somebody's own";
}

TEST_F(DocksTest, AFlameInTimeOrderBeginsWithWhatCameFirst) {
  select("rank:0");
  select("range:0ms..300ms", true);
  session.events.show_flame_order(FlameOrder::kByTime);
  std::vector<std::pair<int64_t, std::string>> parts;
  for (const FlameNode& node : session.events.flame().nodes) {
    if (node.depth == 2) parts.emplace_back(node.offset_ns, node.name);
  }
  std::ranges::sort(parts);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0], std::pair(int64_t{0}, std::string("input")));
  EXPECT_EQ(parts[1], std::pair(30 * kMs, std::string("forward")));
  EXPECT_EQ(parts[2], std::pair(135 * kMs, std::string("optimizer")));
}

TEST_F(DocksTest, ASandwichHasCallersAboveAndWhatWasCalledBelow) {
  select("rank:0");
  select("range:0ms..300ms", true);
  session.events.show_flame_order(FlameOrder::kSandwich);
  EXPECT_THAT(to_text(draw_flame_dock(session.model(), session.events, session.selecting, kWidth,
                                      kHeight, measure)
                          .list),
              HasSubstr("Choose a name"));
  select("name:forward", true);
  {
    const FlameTree& tree = session.events.flame();
    EXPECT_EQ(tree.nodes[0].total_ns, 105 * kMs);
    ASSERT_EQ(tree.nodes.size(), 3U);
    EXPECT_EQ(tree.nodes[1].name, "forward");
    EXPECT_EQ(tree.nodes[1].depth, 1);
    EXPECT_EQ(tree.nodes[2].name, "step");
    EXPECT_EQ(tree.nodes[2].depth, -1);
    EXPECT_EQ(tree.nodes[2].total_ns, 105 * kMs) << "of the caller only what it spent there";
    EXPECT_EQ(tree.callers, 1);
  }
  // A click on the caller makes it the centre of the sandwich.
  const Panel panel =
      draw_flame_dock(session.model(), session.events, session.selecting, kWidth, kHeight, measure);
  const Point caller = place_of(panel, "step");
  EXPECT_LT(caller.y, place_of(panel, "forward").y);
  ASSERT_TRUE(click(panel, caller.x, caller.y));
  const FlameTree& tree = session.events.flame();
  EXPECT_EQ(tree.callers, 0);
  EXPECT_EQ(tree.depth, 2);
  EXPECT_EQ(tree.nodes[0].total_ns, 300 * kMs);
}

TEST_F(DocksTest, EventsAsCsvAreQuotedWhereTheyMustBe) {
  Model model = test::small_model();
  analyzer::RankLanes lanes = model.ranks[0].lanes();
  lanes.names[2] = "forward, \"deep\"";
  model.ranks[0].events = std::make_shared<const RankEvents>(std::move(lanes));
  session.open(std::make_shared<const Model>(std::move(model)));
  session.selecting.clear();
  select("rank:0");
  select("range:0ms..50ms", true);
  const std::string csv = events_as_csv(session.model(), session.events.list_now());
  EXPECT_THAT(csv, ::testing::StartsWith("name,begins_ns,duration_ns,rank,thread,selector\r\n"));
  EXPECT_THAT(csv, HasSubstr("\r\n\"forward, \"\"deep\"\"\",10000000,35000000,0,main,"));
  EXPECT_THAT(csv, ::testing::EndsWith("\r\n"));
  EXPECT_EQ(std::ranges::count(csv, '\n'),
            std::ranges::count(events_as_text(session.model(), session.events.list_now()), '\n'));
}

TEST_F(DocksTest, AClickOnANodeChoosesItsName) {
  select("rank:0");
  select("range:0ms..300ms", true);
  const Panel flame =
      draw_flame_dock(session.model(), session.events, session.selecting, kWidth, kHeight, measure);
  const Point forward = place_of(flame, "forward");
  ASSERT_TRUE(click(flame, forward.x, forward.y));
  EXPECT_EQ(session.selecting.selection().name, "forward");
  EXPECT_THAT(names(), ElementsAre("forward", "forward", "forward"));
  EXPECT_THAT(selectors_of(session.model(), session.selecting.selection()),
              ::testing::Contains("name:forward"));
}

TEST_F(DocksTest, DurationsOfOneNameRankByRank) {
  EXPECT_THAT(to_text(draw_histogram_dock(session.model(), session.events, session.selecting,
                                          kWidth, kHeight, measure)
                          .list),
              HasSubstr("Choose an event"));
  select("name:input");
  const Durations& durations = session.events.durations();
  EXPECT_EQ(durations.all.count, 9);
  EXPECT_EQ(durations.all.longest_ns, 40 * kMs);
  ASSERT_EQ(durations.by_rank.size(), 3U);
  EXPECT_EQ(durations.by_rank[0].rank, 2) << "the slowest first";
  EXPECT_EQ(durations.by_rank[0].median_ns, 40 * kMs);
  EXPECT_EQ(durations.by_rank[1].median_ns, 10 * kMs);
  int64_t counted = 0;
  for (const DurationBucket& bucket : durations.buckets) counted += bucket.count;
  EXPECT_EQ(counted, 9);
  EXPECT_EQ(durations.buckets.front().count, 6);
  EXPECT_EQ(durations.buckets.back().count, 3);
  EXPECT_EQ(durations.buckets.back().of_chosen, 0);
  select("rank:2", true);
  EXPECT_EQ(session.events.durations().buckets.back().of_chosen, 3);
}

TEST_F(DocksTest, ABarOfTheHistogramSelectsItsLongestEvent) {
  select("name:input");
  const Panel panel = draw_histogram_dock(session.model(), session.events, session.selecting,
                                          kWidth, kHeight, measure);
  ASSERT_EQ(panel.links.size(), 2U);
  panel.links[1].follow();
  ASSERT_TRUE(session.selecting.selection().slice);
  EXPECT_EQ(session.selecting.selection().slice->rank_index, 2);
  EXPECT_EQ(session.selecting.selection().name, "input") << "the histogram stays";
}

TEST_F(DocksTest, ADragOverTheBarsChoosesDurations) {
  select("name:input");
  const Panel panel = draw_histogram_dock(session.model(), session.events, session.selecting,
                                          kWidth, kHeight, measure);
  ASSERT_TRUE(panel.brush);
  const Box area = panel.brush->area;
  panel.brush->choose(area.x + area.w / 2, area.x + area.w + 50);
  const auto& buckets = session.events.durations().buckets;
  EXPECT_EQ(session.selecting.selection().durations,
            (DurationRange{buckets[32].from_ns, 40 * kMs}));
  EXPECT_EQ(session.events.list().count, 3);
  EXPECT_EQ(session.events.durations().all.count, 9) << "the histogram still shows all";
  const std::string drawn = to_text(draw_histogram_dock(session.model(), session.events,
                                                        session.selecting, kWidth, kHeight, measure)
                                        .list);
  EXPECT_THAT(drawn, HasSubstr("chosen 20.0 ms to 40.0 ms"));
  EXPECT_THAT(to_text(draw_table_dock(session.model(), session.events, session.selecting, kWidth,
                                      kHeight, 0, measure)
                          .list),
              HasSubstr("3 events named input of 20.0 ms to 40.0 ms"));
  // A bar's bounds select exactly the events that it counts.
  panel.brush->choose(area.x, area.x);
  EXPECT_EQ(session.events.list().count, buckets.front().count);
  session.selecting.select_name("forward");
  EXPECT_FALSE(session.selecting.selection().durations) << "they were input's";
}

TEST_F(DocksTest, DurationsAreASelector) {
  select("name:input");
  ASSERT_TRUE(session.selecting.select("duration:15ms..40ms").ok());
  EXPECT_EQ(session.selecting.selection().name, "input");
  EXPECT_THAT(selectors_of(session.model(), session.selecting.selection()),
              ::testing::Contains("duration:15000000ns..40000000ns"));
  EXPECT_EQ(session.events.list().count, 3);
  for (const char* wrong : {"duration:", "duration:1ms", "duration:2ms..1ms", "duration:-1ms..2ms"})
    EXPECT_FALSE(session.selecting.select(wrong).ok()) << wrong;
}

TEST_F(DocksTest, NamedEventsAreMarkedOnTheirLanes) {
  EXPECT_TRUE(session.events.marks().empty());
  session.tracks.toggle(*session.tracks.layout().of_rank(0));
  select("name:input");
  session.viewport.show_all();
  const NamedMarks& all = session.events.marks();
  ASSERT_EQ(all.size(), 2U) << "of ranks whose threads are shown";
  EXPECT_EQ(all[0].marks.size(), 3U);
  EXPECT_EQ(all[1].lane.depth, 1);
  EXPECT_EQ(all[1].marks[0], (Interval{TraceNs{0}, TraceNs{40 * kMs}}));
  session.selecting.select_durations(DurationRange{15 * kMs, 40 * kMs});
  ASSERT_EQ(session.events.marks().size(), 1U);
  EXPECT_EQ(session.events.marks()[0].lane.rank_index, 2);
  // Too close to be distinguished.
  session.selecting.select_durations({});
  session.selecting.select_name("*p*");
  session.viewport.resize(2, 600);
  session.viewport.show_all();
  for (const LaneMarks& lane : session.events.marks()) EXPECT_EQ(lane.marks.size(), 1U);
}

TEST_F(DocksTest, TheTableIsSortedByItsHeads) {
  select("rank:1");
  select("rank:0", true);
  select("range:0ms..100ms", true);
  const Panel table = draw_table_dock(session.model(), session.events, session.selecting, kWidth,
                                      kHeight, 0, measure);
  ASSERT_TRUE(click(table, 20, 40));  // the header of the names
  EXPECT_EQ(session.events.order(), EventOrder::kByName);
  const std::vector<std::string> sorted = names();
  EXPECT_TRUE(std::ranges::is_sorted(sorted));
  EXPECT_GT(sorted.size(), 5U);
  session.events.show_order(EventOrder::kByRank);
  int last = 0;
  for (const SlicePlace& place : session.events.list().events) {
    EXPECT_GE(place.rank_index, last);
    last = place.rank_index;
  }
  EXPECT_EQ(last, 1);
}

TEST_F(DocksTest, EqualDurationsAreOneBar) {
  select("name:forward");
  ASSERT_EQ(session.events.durations().buckets.size(), 1U);
  EXPECT_EQ(session.events.durations().buckets[0].count, 9);
}

TEST_F(DocksTest, AnUnfinishedEventHasNoDuration) {
  Model model = test::small_model();
  analyzer::RankLanes lanes = model.ranks[1].lanes();
  lanes.open_slices = 1;
  model.ranks[1].events = std::make_shared<const RankEvents>(std::move(lanes));
  session.open(std::make_shared<const Model>(std::move(model)));
  session.selecting.clear();
  select("name:optimizer");
  EXPECT_EQ(session.events.durations().all.count, 8);
  EXPECT_EQ(session.events.durations().unfinished, 1);
  EXPECT_THAT(to_text(draw_histogram_dock(session.model(), session.events, session.selecting,
                                          kWidth, kHeight, measure)
                          .list),
              HasSubstr("1 unfinished left out"));
  session.events.show_order(EventOrder::kByDuration);
  const EventList& events = session.events.list();
  ASSERT_EQ(events.events.size(), 9U);
  EXPECT_EQ(events.events.back().rank_index, 1) << "what has no duration comes last";
  EXPECT_THAT(to_text(draw_table_dock(session.model(), session.events, session.selecting, kWidth,
                                      kHeight, 0, measure)
                          .list),
              HasSubstr("unfinished"));
  EXPECT_THAT(events_as_text(session.model(), session.events.list_now()),
              HasSubstr("optimizer\t290000000\t\t1\t"));
}

TEST_F(DocksTest, ASearchWalksAllRanksForthAndBack) {
  std::vector<std::pair<int, int64_t>> walked;
  while (session.walk.next_named("inp*", 1)) {
    const SlicePlace& place = *session.selecting.selection().slice;
    walked.emplace_back(place.rank_index, span_of(session.model(), place).begin.ns / kMs);
  }
  EXPECT_THAT(walked, ElementsAre(std::pair(0, 0), std::pair(1, 0), std::pair(2, 0),
                                  std::pair(0, 100), std::pair(1, 100), std::pair(2, 100),
                                  std::pair(0, 200), std::pair(1, 200), std::pair(2, 200)));
  std::vector<std::pair<int, int64_t>> back = {walked.back()};
  while (session.walk.next_named("inp*", -1)) {
    const SlicePlace& place = *session.selecting.selection().slice;
    back.emplace_back(place.rank_index, span_of(session.model(), place).begin.ns / kMs);
  }
  std::ranges::reverse(back);
  EXPECT_EQ(back, walked);
  EXPECT_FALSE(session.walk.next_named("nothing like it", 1));
}

TEST_F(DocksTest, NamesAreSelectors) {
  EXPECT_FALSE(session.selecting.select("name:backward").ok());
  EXPECT_FALSE(session.selecting.select("name:").ok());
  select("name:*e*");
  EXPECT_EQ(session.selecting.selection().name, "*e*");
}

TEST_F(DocksTest, FactsOfTheRunItsRanksAndClocks) {
  const std::string text =
      to_text(draw_info_dock(session.model(), session.notes, kWidth, kHeight, measure).list);
  EXPECT_THAT(text, HasSubstr("3 on 2 hosts"));
  EXPECT_THAT(text, HasSubstr("node-b"));
  EXPECT_THAT(text, HasSubstr("± 14.0 µs"));
  EXPECT_THAT(text, HasSubstr("not ended"));
}

// With many events, a frame shows the previous result, and says so, until they are counted.
class CountingTest : public DocksTest {
 protected:
  CountingTest() {
    session.open(test::model_with_many_events());
    session.counted.defer();
    session.selecting.clear();
    session.viewport.show_all();
  }
  [[nodiscard]] Panel table() {
    return draw_table_dock(session.model(), session.events, session.selecting, kWidth, kHeight, 0,
                           measure);
  }
  void count() {
    std::optional<CountedFigures::Count> job = session.counted.next_count();
    ASSERT_TRUE(job);
    (*job)()(session.counted);
  }
};

TEST_F(CountingTest, IsSaidAndThenDone) {
  session.dock = Dock::kTable;
  EXPECT_THAT(to_text(table().list), HasSubstr("counting"));
  EXPECT_TRUE(session.events.is_counting_list());
  EXPECT_THAT(names(), ElementsAre());
  count();
  EXPECT_FALSE(session.events.is_counting_list());
  EXPECT_THAT(to_text(table().list), HasSubstr("250,045 events, first 10,000 shown"));
  EXPECT_FALSE(session.counted.next_count());

  session.dock = Dock::kFlame;
  EXPECT_THAT(to_text(draw_flame_dock(session.model(), session.events, session.selecting, kWidth,
                                      kHeight, measure)
                          .list),
              HasSubstr("counting"));
  count();
  const std::string flame = to_text(
      draw_flame_dock(session.model(), session.events, session.selecting, kWidth, kHeight, measure)
          .list);
  EXPECT_THAT(flame, Not(HasSubstr("counting")));
  EXPECT_THAT(flame, HasSubstr("tick"));

  session.dock = Dock::kHistogram;
  select("name:tick");
  EXPECT_THAT(to_text(draw_histogram_dock(session.model(), session.events, session.selecting,
                                          kWidth, kHeight, measure)
                          .list),
              HasSubstr("tick: counting"));
  count();
  EXPECT_THAT(to_text(draw_histogram_dock(session.model(), session.events, session.selecting,
                                          kWidth, kHeight, measure)
                          .list),
              HasSubstr("250,000 events on 1 rank"));
}

TEST_F(CountingTest, FewEventsAreNotWaitedFor) {
  session.dock = Dock::kTable;
  session.viewport.show({TraceNs{0}, TraceNs{kMs}});
  EXPECT_THAT(to_text(table().list), Not(HasSubstr("counting")));
  EXPECT_FALSE(session.counted.next_count());
}

TEST_F(CountingTest, OnlyTheLastQuestionCountsAndOneAtATime) {
  session.dock = Dock::kTable;
  (void)table();
  std::optional<CountedFigures::Count> first = session.counted.next_count();
  ASSERT_TRUE(first);
  session.viewport.show({TraceNs{0}, TraceNs{240 * kMs}});
  (void)table();
  EXPECT_FALSE(session.counted.next_count());
  (*first)()(session.counted);
  EXPECT_TRUE(session.events.is_counting_list());
  EXPECT_EQ(table().links.empty(), false) << "the former answer is shown meanwhile";
  count();
  EXPECT_FALSE(session.events.is_counting_list());
}

TEST_F(CountingTest, WhatCountsEventsThatAreGoneIsDropped) {
  session.dock = Dock::kFlame;
  (void)draw_flame_dock(session.model(), session.events, session.selecting, kWidth, kHeight,
                        measure);
  std::optional<CountedFigures::Count> job = session.counted.next_count();
  ASSERT_TRUE(job);
  session.take_events(0, std::make_shared<const RankEvents>());
  (*job)()(session.counted);
  EXPECT_THAT(to_text(draw_flame_dock(session.model(), session.events, session.selecting, kWidth,
                                      kHeight, measure)
                          .list),
              Not(HasSubstr("tick")));
  EXPECT_FALSE(session.counted.next_count());
}

TEST_F(CountingTest, CopiedRowsAreThoseOfNow) {
  session.dock = Dock::kTable;
  (void)table();
  EXPECT_THAT(events_as_text(session.model(), session.events.list_now()), HasSubstr("tick"));
}

}  // namespace
}  // namespace dprof::view
