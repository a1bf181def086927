// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lanes/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "analyzer/digest/test_support/gpu_trace.h"
#include "schema/trace_writer.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {
namespace {

using schema::HostRangeRow;
using schema::RangeCategory;
using schema::ThreadRole;
using test_support::RunSpec;
using test_support::TemporaryFolder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

TraceFile trace_at(const std::filesystem::path& path) { return {.path = path}; }

RankLanes lanes_of(const std::filesystem::path& path, std::optional<Interval> within = {}) {
  Result<RankLanes> lanes = load_lanes(trace_at(path), {}, within);
  EXPECT_TRUE(lanes.ok()) << (lanes.ok() ? "" : lanes.error().what);
  return lanes.ok() ? *std::move(lanes) : RankLanes();
}

RankLanes lanes_of_rows(const std::vector<HostRangeRow>& rows,
                        std::optional<Interval> within = {}) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "rank-00000.dprof";
  Result<std::unique_ptr<schema::TraceWriter>> writer = schema::TraceWriter::create(path);
  EXPECT_TRUE(writer.ok());
  EXPECT_TRUE(
      (*writer)->append(schema::ThreadRow{.id = 1, .os_tid = 7, .role = ThreadRole::kMain}).ok());
  EXPECT_EQ((*writer)->intern("forward"), 1);
  EXPECT_EQ((*writer)->intern("op"), 2);
  for (const HostRangeRow& row : rows) EXPECT_TRUE((*writer)->append(row).ok());
  EXPECT_TRUE((*writer)->finish().ok());
  return lanes_of(path, within);
}

TEST(LoadLanes, WithinASpanOnlyWhatTouchesIt) {
  int64_t id = 0;
  const auto row = [&id](int64_t start, std::optional<int64_t> duration) {
    return HostRangeRow{.id = ++id,
                        .thread_id = 1,
                        .start_ns = start,
                        .duration_ns = duration,
                        .name_id = 2,
                        .category = RangeCategory::kOp};
  };
  const RankLanes lanes = lanes_of_rows({row(0, 1000), row(10, 90), row(150, 51), row(250, 20),
                                         row(390, 50), row(400, 10), row(420, std::nullopt)},
                                        Interval{{200}, {400}});
  ASSERT_EQ(lanes.threads.size(), 1U);
  ASSERT_EQ(lanes.threads[0].depths.size(), 2U);
  EXPECT_THAT(lanes.threads[0].depths[0].start_ns, ElementsAre(0));
  EXPECT_THAT(lanes.threads[0].depths[1].start_ns, ElementsAre(150, 250, 390));
  EXPECT_EQ(lanes.open_slices, 0);
}

TEST(LoadLanes, SaysWhereRecordsAreMissing) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "rank-00000.dprof";
  Result<std::unique_ptr<schema::TraceWriter>> writer = schema::TraceWriter::create(path);
  ASSERT_TRUE(writer.ok());
  const auto add = [&](schema::LossReason reason, std::optional<int64_t> first) {
    EXPECT_TRUE((*writer)
                    ->append(schema::LossRow{.thread_id = 1,
                                             .reason = reason,
                                             .count = 12,
                                             .first_ns = first,
                                             .last_ns = first ? std::optional(*first + 40) : first})
                    .ok());
  };
  add(schema::LossReason::kRingFull, 500);
  add(schema::LossReason::kArenaFull, std::nullopt);  // at an unknown time
  add(schema::LossReason::kSkippedRow, 100);          // not used by the importer
  add(schema::LossReason::kRingFull, 200);
  ASSERT_TRUE((*writer)->finish().ok());
  const RankLanes lanes = lanes_of(path);
  ASSERT_EQ(lanes.losses.size(), 2U);
  EXPECT_EQ(lanes.losses[0].span, (Interval{TraceNs{200}, TraceNs{240}}));
  EXPECT_EQ(lanes.losses[1].span.begin, TraceNs{500});
  EXPECT_EQ(lanes.losses[1].thread_id, 1);
  EXPECT_EQ(lanes.losses[1].count, 12);
}

size_t slices_in(const ThreadLanes& thread) {
  size_t count = 0;
  for (const Lane& lane : thread.depths) count += lane.start_ns.size();
  return count;
}

void expect_no_overlap(const ThreadLanes& thread) {
  for (const Lane& lane : thread.depths) {
    for (size_t i = 1; i < lane.start_ns.size(); ++i) {
      ASSERT_GE(lane.start_ns[i], lane.start_ns[i - 1] + lane.duration_ns[i - 1]);
    }
  }
}

// The depth at which each row was drawn.
std::map<int64_t, size_t> depth_of_rows(const ThreadLanes& thread) {
  std::map<int64_t, size_t> depths;
  for (size_t depth = 0; depth < thread.depths.size(); ++depth) {
    for (const int64_t row : thread.depths[depth].row) depths[row] = depth;
  }
  return depths;
}

TEST(Lanes, RandomNestedRangesLieAtTheDepthOfTheirEnclosingOnes) {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<HostRangeRow> rows;
    // A call tree on a line: at each tick the thread can return from some ranges and enter one.
    std::vector<size_t> open;
    int64_t now = 0;
    for (int i = 0; i < 200; ++i) {
      now += 1 + static_cast<int64_t>(random() % 5);
      while (!open.empty() && random() % 2 == 0) {
        rows[open.back()].duration_ns = now - rows[open.back()].start_ns;
        open.pop_back();
        now += static_cast<int64_t>(random() % 2);
      }
      open.push_back(rows.size());
      rows.push_back({.id = i + 1, .thread_id = 1, .start_ns = now, .name_id = 2});
    }
    for (const size_t at : open) rows[at].duration_ns = now + 1 - rows[at].start_ns;

    const RankLanes lanes = lanes_of_rows(rows);
    ASSERT_EQ(lanes.threads.size(), 1u);
    expect_no_overlap(lanes.threads[0]);
    EXPECT_EQ(slices_in(lanes.threads[0]), rows.size());
    const std::map<int64_t, size_t> depths = depth_of_rows(lanes.threads[0]);
    for (const HostRangeRow& inner : rows) {
      size_t enclosing = 0;
      for (const HostRangeRow& outer : rows) {
        enclosing +=
            outer.id < inner.id && outer.start_ns + *outer.duration_ns > inner.start_ns ? 1 : 0;
      }
      ASSERT_EQ(depths.at(inner.id), enclosing) << "row " << inner.id;
    }
  }
}

TEST(Lanes, RangesThatOverlapWithoutNestingGetLanesOfTheirOwn) {
  std::mt19937 random(9);
  for (int round = 0; round < 20; ++round) {
    std::vector<HostRangeRow> rows;
    for (int i = 0; i < 200; ++i) {  // unordered
      rows.push_back({.id = i + 1,
                      .thread_id = 1,
                      .start_ns = static_cast<int64_t>(random() % 1000),
                      .duration_ns = static_cast<int64_t>(random() % 60),
                      .name_id = 2,
                      .category = RangeCategory::kNvtxProcess});
    }
    const RankLanes lanes = lanes_of_rows(rows);
    expect_no_overlap(lanes.threads[0]);
    const std::map<int64_t, size_t> depths = depth_of_rows(lanes.threads[0]);
    ASSERT_EQ(depths.size(), rows.size()) << "nothing may be dropped";
    for (const HostRangeRow& outer : rows) {
      for (const HostRangeRow& inner : rows) {
        const bool encloses =
            outer.start_ns < inner.start_ns &&
            outer.start_ns + *outer.duration_ns > inner.start_ns + *inner.duration_ns;
        if (encloses) {
          ASSERT_LT(depths.at(outer.id), depths.at(inner.id));
        }
      }
    }
  }
}

TEST(Lanes, SlicesInsideAPhaseHaveItsColour) {
  const RankLanes lanes = lanes_of_rows({
      {.id = 1,
       .thread_id = 1,
       .start_ns = 0,
       .duration_ns = 100,
       .name_id = 1,
       .category = RangeCategory::kUser},
      {.id = 2, .thread_id = 1, .start_ns = 10, .duration_ns = 50, .name_id = 2},
      {.id = 3, .thread_id = 1, .start_ns = 20, .duration_ns = 10, .name_id = 2},
      {.id = 4,
       .thread_id = 1,
       .start_ns = 70,
       .duration_ns = 20,
       .name_id = 2,
       .category = RangeCategory::kAutograd},
      {.id = 5, .thread_id = 1, .start_ns = 75, .duration_ns = 5, .name_id = 2},
      {.id = 6, .thread_id = 1, .start_ns = 200, .duration_ns = 5, .name_id = 2},
  });
  const auto phases = [&](size_t depth) {
    std::vector<Category> result;
    for (const uint8_t phase : lanes.threads[0].depths[depth].phase)
      result.push_back(static_cast<Category>(phase));
    return result;
  };
  EXPECT_THAT(phases(0), ElementsAre(Category::kForward, Category::kOtherCompute));
  EXPECT_THAT(phases(1), ElementsAre(Category::kForward, Category::kBackward));
  EXPECT_THAT(phases(2), ElementsAre(Category::kForward, Category::kBackward));
}

TEST(Lanes, OpenSlicesReachToTheEndAndAreCounted) {
  const RankLanes lanes = lanes_of_rows({
      {.id = 1, .thread_id = 1, .start_ns = 0, .name_id = 1},
      {.id = 2, .thread_id = 1, .start_ns = 10, .duration_ns = 30, .name_id = 2},
      {.id = 3, .thread_id = 1, .start_ns = 50, .name_id = 2},
  });
  EXPECT_EQ(lanes.open_slices, 2);
  EXPECT_EQ(lanes.span, (Interval{{0}, {51}}));
  EXPECT_THAT(lanes.threads[0].depths[0].duration_ns, ElementsAre(51));
  EXPECT_THAT(lanes.threads[0].depths[1].start_ns, ElementsAre(10, 50));
}

TEST(Lanes, ARunHasItsMainThreadAndItsCollectives) {
  const TemporaryFolder folder;
  RunSpec spec;
  spec.steps = 4;
  ASSERT_TRUE(write_run(folder.path(), spec).ok());
  const RankLanes lanes = lanes_of(folder.path() / "rank-00001.dprof");
  ASSERT_EQ(lanes.threads.size(), 2u);
  EXPECT_EQ(lanes.threads[0].name, "main");
  EXPECT_EQ(lanes.threads[0].table, "host_range");
  EXPECT_EQ(lanes.threads[1].name, "gloo worker");
  EXPECT_EQ(lanes.threads[1].table, "collective");
  EXPECT_EQ(lanes.threads[1].role, ThreadRole::kCommunication);
  EXPECT_EQ(slices_in(lanes.threads[1]), 1u + 2u * 4u);
  for (const int32_t name : lanes.threads[1].depths[0].name) {
    EXPECT_FALSE(lanes.names[static_cast<size_t>(name)].empty());
  }
  EXPECT_EQ(lanes.open_slices, 0);
  for (const ThreadLanes& thread : lanes.threads) expect_no_overlap(thread);
}

TEST(Lanes, AnEmptyTraceHasNone) {
  const RankLanes lanes = lanes_of_rows({});
  EXPECT_TRUE(lanes.threads.empty());
  EXPECT_TRUE(lanes.span.empty());
}

RankLanes lanes_of_gpu(GpuTrace& trace) {
  const TemporaryFolder folder;
  const Result<RankLanes> lanes = load_lanes(trace.write(folder.path() / "rank-00000.dprof"));
  EXPECT_TRUE(lanes.ok());
  return lanes.ok() ? *lanes : RankLanes();
}

const ThreadLanes& named(const RankLanes& lanes, std::string_view name) {
  static const ThreadLanes kNone;
  const auto found = std::ranges::find(lanes.threads, name, &ThreadLanes::name);
  EXPECT_NE(found, lanes.threads.end()) << name;
  return found == lanes.threads.end() ? kNone : *found;
}

std::vector<Category> phases_of(const Lane& lane) {
  std::vector<Category> phases;
  for (const uint8_t phase : lane.phase) phases.push_back(static_cast<Category>(phase));
  return phases;
}

TEST(StreamLanes, KernelsHaveThePhaseThatLaunchedThem) {
  GpuTrace trace;
  trace.range(0, 0, 100, "forward");
  trace.kernel(0, 7, 20, 30);
  trace.range(0, 100, 200, "backward");
  trace.kernel(0, 7, 120, 400);
  trace.kernel(0, 7, 405, 410);  // launched outside all phases
  trace.activity(7, 420, 430, 0, "Memcpy", schema::GpuActivityKind::kMemcpyH2d);
  trace.activity(7, 440, 450, 0, "ncclDevKernel_AllReduce_Sum_f32");
  trace.activity(7, 460, 480, 0, "cudaStreamSynchronize", schema::GpuActivityKind::kSync);
  const RankLanes lanes = lanes_of_gpu(trace);
  const ThreadLanes& stream = named(lanes, "stream 7");
  EXPECT_EQ(stream.table, "gpu_activity");
  ASSERT_EQ(stream.depths.size(), 1U);
  EXPECT_THAT(phases_of(stream.depths[0]),
              ElementsAre(Category::kForward, Category::kBackward, Category::kOtherCompute,
                          Category::kCopy, Category::kExposedTransfer));
  EXPECT_THAT(stream.depths[0].row, ElementsAre(1, 2, 3, 4, 5)) << "the sync is no activity";
  EXPECT_EQ(lanes.span.end, TraceNs{450 * GpuTrace::kUs});
}

TEST(StreamLanes, ACollectivesKernelCommunicatesWhateverItsName) {
  GpuTrace trace;
  const int64_t correlation = trace.launch(0, 5, 6);
  trace.activity(20, 10, 50, correlation, "some_kernel");
  trace.collective(correlation);
  EXPECT_THAT(phases_of(named(lanes_of_gpu(trace), "stream 20").depths.at(0)),
              ElementsAre(Category::kExposedTransfer));
}

TEST(StreamLanes, WhatOverlapsOnAStreamIsDrawnBelow) {
  GpuTrace trace;
  trace.kernel(0, 7, 20, 30);
  trace.kernel(0, 7, 25, 40);  // programmatic dependent launch
  trace.kernel(0, 7, 40, 50);
  const RankLanes lanes = lanes_of_gpu(trace);
  const ThreadLanes& stream = named(lanes, "stream 7");
  EXPECT_EQ(slices_in(stream), 3U);
  expect_no_overlap(stream);
  EXPECT_EQ(stream.depths.size(), 2U);
}

TEST(StreamLanes, StreamsAreNamedAsCudaCountsThem) {
  GpuTrace trace;
  trace.range(0, 0, 100, "forward");
  trace.kernel(0, 1, 20, 30);
  trace.activity(2, 20, 30, 0).device_id = 1;
  trace.stream_number(1, 7);
  const RankLanes lanes = lanes_of_gpu(trace);
  EXPECT_EQ(named(lanes, "device 0 stream 7").thread_id, 7);
  EXPECT_EQ(named(lanes, "device 1 stream 2").device, 1);
}

TEST(StreamLanes, StreamsStandInTheOrderOfTheirNumbers) {
  GpuTrace trace;
  for (const int64_t stream : {20, 7, 13}) trace.activity(stream, 20, 30, 0);
  std::vector<std::string> names;
  for (const ThreadLanes& thread : lanes_of_gpu(trace).threads) names.push_back(thread.name);
  EXPECT_THAT(names, ElementsAre("stream 7", "stream 13", "stream 20"));
}

TEST(DescribeRow, DescribesARowInWords) {
  const TemporaryFolder folder;
  RunSpec spec;
  spec.steps = 2;
  spec.kill = test_support::Kill{.rank = 1, .step = 1};
  ASSERT_TRUE(write_run(folder.path(), spec).ok());
  const TraceFile trace = trace_at(folder.path() / "rank-00000.dprof");

  const auto collective = describe_row(trace, "collective", 2);
  ASSERT_TRUE(collective.ok());
  EXPECT_THAT(*collective, Contains(Pair("function", "all_reduce")));
  EXPECT_THAT(*collective, Contains(Pair("communicator", "default_pg")));
  EXPECT_THAT(*collective, Contains(Pair("thread", "gloo worker (tid 5000)")));
  EXPECT_THAT(*collective, Contains(Pair("bytes", "1.05 MB (1,048,576)")));

  const auto range = describe_row(trace, "host_range", 2);
  ASSERT_TRUE(range.ok());
  EXPECT_THAT(*range, Contains(Pair("name", "step")));
  EXPECT_THAT(*range, Contains(Pair("category", "user")));

  const auto waiting = describe_row(trace, "collective", 4);
  ASSERT_TRUE(waiting.ok());
  EXPECT_THAT(*waiting, Contains(Pair("end", "still open when the trace ended")));
}

TEST(DescribeRow, RefusesWhatIsNotThere) {
  const TemporaryFolder folder;
  RunSpec spec;
  spec.steps = 1;
  ASSERT_TRUE(write_run(folder.path(), spec).ok());
  const TraceFile trace = trace_at(folder.path() / "rank-00000.dprof");
  EXPECT_EQ(describe_row(trace, "host_range", 123'456).error().code, Code::kNotFound);
  EXPECT_EQ(describe_row(trace, "meta; DROP TABLE meta", 1).error().code, Code::kUsage);
  EXPECT_EQ(describe_row(trace_at("nowhere.dprof"), "host_range", 1).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace dprof::analyzer
