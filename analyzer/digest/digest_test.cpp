// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/digest.h"

#include <gtest/gtest.h>

#include "analyzer/digest/range_names.h"
#include "analyzer/digest/thread_sketch.h"
#include "schema/trace_writer.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;
using schema::RangeCategory;

Interval span(int64_t begin, int64_t end) { return {{begin}, {end}}; }

TEST(KindOfTest, NamesAndCategories) {
  EXPECT_EQ(kind_of(RangeCategory::kUser, "forward").marker, Marker::kForward);
  EXPECT_EQ(kind_of(RangeCategory::kNvtx, "step").marker, Marker::kStep);
  EXPECT_EQ(kind_of(RangeCategory::kUser, "Optimizer.step#SGD.step").marker, Marker::kOptimizer);
  EXPECT_EQ(kind_of(RangeCategory::kUser, "Optimizer.zero_grad#SGD.zero_grad").what,
            RangeClass::kNamed);
  EXPECT_EQ(kind_of(RangeCategory::kAutograd, "AddmmBackward0").what, RangeClass::kAutograd);
  EXPECT_EQ(kind_of(RangeCategory::kOp, "aten::mm").what, RangeClass::kOp);
  EXPECT_EQ(kind_of(RangeCategory::kOp, "c10d::allreduce_").what, RangeClass::kCall);
  EXPECT_EQ(kind_of(RangeCategory::kUser, "gloo:all_reduce").what, RangeClass::kCall);
  EXPECT_EQ(kind_of(RangeCategory::kOp, "_c10d_functional::wait_tensor").what, RangeClass::kWait);
  EXPECT_EQ(kind_of(RangeCategory::kNvtxMark, "step").what, RangeClass::kMoment);
  EXPECT_EQ(kind_of(RangeCategory::kUser, "micro_step").what, RangeClass::kHolder);
  EXPECT_EQ(kind_of(RangeCategory::kUser, "stage_backward").marker, Marker::kBackward);
}

TEST(KindOfTest, PhasesAreWhatSomebodyMarkedOnItsThread) {
  EXPECT_TRUE(kind_of(RangeCategory::kUser, "push").marks);
  EXPECT_TRUE(kind_of(RangeCategory::kNvtx, "forward").marks);
  EXPECT_FALSE(kind_of(RangeCategory::kUser, "step").marks);
  EXPECT_FALSE(kind_of(RangeCategory::kApi, "cudaLaunchKernel").marks);
  EXPECT_FALSE(kind_of(RangeCategory::kNvtxProcess, "push").marks);
  EXPECT_FALSE(kind_of(RangeCategory::kOp, "aten::mm").marks);
  EXPECT_FALSE(kind_of(RangeCategory::kUser, "gloo:send").marks);
}

TEST(IntervalGathererTest, MergesNestedAndTouching) {
  IntervalGatherer gatherer;
  gatherer.add(span(0, 100));
  gatherer.add(span(10, 20));
  gatherer.add(span(100, 120));
  gatherer.add(span(130, 140));
  gatherer.add(span(135, 135));
  EXPECT_EQ(gatherer.take(), (IntervalSet{span(0, 120), span(130, 140)}));
}

TEST(IntervalGathererTest, ToleratesDisorder) {
  IntervalGatherer gatherer;
  gatherer.add(span(50, 60));
  gatherer.add(span(0, 10));
  gatherer.add(span(5, 55));
  EXPECT_EQ(gatherer.take(), (IntervalSet{span(0, 60)}));
}

TEST(StepsFromMarksTest, MostFrequentSourceWithoutOverlap) {
  const auto steps = steps_from_marks({{span(0, 50), "step"},
                                       {span(0, 45), "ProfilerStep"},
                                       {span(60, 110), "step"},
                                       {span(70, 80), "step"},
                                       {span(120, 150), "step"}});
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[1].span, span(60, 110));
}

TEST(StepsFromMarksTest, NeighboursThatOverlapByRoundingAreBothSteps) {
  const auto steps = steps_from_marks({{span(0, 50'001), "step"},
                                       {span(50'000, 100'000), "step"},
                                       {span(99'000, 150'000), "step"}});
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].span, span(0, 50'000));
  EXPECT_EQ(steps[1].span, span(50'000, 99'000));
}

TEST(StepsFromMarksTest, WhatOverlapsByMoreOrLiesWithinIsNoNeighbour) {
  EXPECT_EQ(steps_from_marks({{span(0, 50'000), "step"}, {span(48'999, 90'000), "step"}}).size(),
            1U);
  EXPECT_EQ(steps_from_marks({{span(0, 1'000), "step"}, {span(899, 2'000), "step"}}).size(), 1U);
  EXPECT_EQ(steps_from_marks({{span(0, 50'000), "step"}, {span(49'500, 50'000), "step"}}).size(),
            1U);
}

TEST(StepsFromOptimizerTest, FromEndToEnd) {
  const std::vector<PhaseRange> phases = {
      {span(0, 30), Marker::kForward, 1},      {span(80, 100), Marker::kOptimizer, 2},
      {span(85, 95), Marker::kOptimizer, 3},  // nested
      {span(110, 140), Marker::kForward, 4},   {span(180, 200), Marker::kOptimizer, 5},
      {span(205, 210), Marker::kOptimizer, 6},  // a second one
      {span(280, 300), Marker::kOptimizer, 7}};
  const auto steps = steps_from_optimizer(phases, {span(240, 260)});
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].span, span(100, 210));
  EXPECT_EQ(steps[1].span, span(210, 300));
}

class DigestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto created = schema::TraceWriter::create(home_.path() / "rank-00000.dprof");
    ASSERT_TRUE(created.ok());
    writer_ = *std::move(created);
    writer_->set_meta("rank", "0");
  }

  void range(int64_t thread, int64_t start, std::optional<int64_t> duration, std::string_view name,
             RangeCategory category, std::optional<int64_t> sequence = std::nullopt) {
    ASSERT_TRUE(writer_
                    ->append(schema::HostRangeRow{.id = ++id_,
                                                  .thread_id = thread,
                                                  .start_ns = start,
                                                  .duration_ns = duration,
                                                  .name_id = writer_->intern(name),
                                                  .category = category,
                                                  .sequence = sequence})
                    .ok());
  }

  RankDigest digest(int64_t shift_ns = 0) {
    EXPECT_TRUE(writer_->finish().ok());
    TraceFile trace;
    trace.path = home_.path() / "rank-00000.dprof";
    trace.shift_ns = shift_ns;
    Result<RankDigest> result = digest_rank(trace);
    EXPECT_TRUE(result.ok()) << result.error().what;
    return *std::move(result);
  }

  test_support::TemporaryFolder home_;
  std::unique_ptr<schema::TraceWriter> writer_;
  int64_t id_ = 0;
};

TEST_F(DigestTest, EmptyTraceIsNoTrouble) {
  const RankDigest d = digest();
  EXPECT_EQ(d.events, 0);
  EXPECT_TRUE(d.span.empty());
  EXPECT_TRUE(d.steps.empty());
}

TEST_F(DigestTest, ThreadOfThePhasesTrains) {
  range(1, 0, 500, "aten::mm", RangeCategory::kOp);
  range(1, 600, 500, "aten::mm", RangeCategory::kOp);
  range(7, 10, 100, "forward", RangeCategory::kNvtx);
  range(7, 20, 30, "aten::conv2d", RangeCategory::kOp);
  range(9, 15, 40, "ConvolutionBackward0", RangeCategory::kAutograd);
  const RankDigest d = digest();
  EXPECT_EQ(d.events, 5);
  ASSERT_EQ(d.phases.size(), 1U);
  EXPECT_EQ(d.phases[0].row, 3);
  EXPECT_EQ(d.ops, (IntervalSet{span(20, 50)}));
  EXPECT_EQ(d.autograd_elsewhere, (IntervalSet{span(15, 55)}));
  EXPECT_EQ(d.span, span(0, 1100));
}

// PyTorch gives an operator the number of its autograd node; one without a node has the number of
// the next operator that creates one.
TEST_F(DigestTest, ForwardIsWhereNodesOfTheBackwardWereMade) {
  const auto numbered = [&](int64_t begin, const char* name, RangeCategory category,
                            int64_t number) { range(1, begin, 10, name, category, number); };
  numbered(100, "aten::normalize", RangeCategory::kOp, 7);  // prepares the batch
  numbered(200, "aten::linear", RangeCategory::kOp, 7);
  range(1, 202, 5, "aten::addmm", RangeCategory::kOp, 7);
  numbered(220, "aten::loss", RangeCategory::kOp, 8);
  numbered(240, "aten::item", RangeCategory::kOp, 9);  // no node has this number
  numbered(300, "LossBackward0", RangeCategory::kAutograd, 8);
  numbered(320, "AddmmBackward0", RangeCategory::kAutograd, 7);
  EXPECT_EQ(digest().forward_signs, (IntervalSet{span(200, 210), span(220, 230)}));
}

TEST_F(DigestTest, FsdpSaysWhereItsForwardIs) {
  range(1, 100, 10, "FSDP::root_pre_forward", RangeCategory::kUser);
  range(1, 120, 10, "FSDP::pre_forward (layers.0)", RangeCategory::kUser);
  range(1, 190, 10, "FSDP::post_forward (layers.0)", RangeCategory::kUser);
  range(1, 300, 10, "FSDP::pre_backward (layers.0)", RangeCategory::kUser);
  EXPECT_EQ(digest().forward_signs, (IntervalSet{span(100, 110), span(120, 130), span(190, 200)}));
}

TEST_F(DigestTest, MarkedForwardNeedsNoSigns) {
  range(1, 90, 120, "forward", RangeCategory::kUser);
  range(1, 100, 10, "FSDP::root_pre_forward", RangeCategory::kUser);
  EXPECT_TRUE(digest().forward_signs.empty());
}

TEST_F(DigestTest, TimesAreOnTheRunsAxis) {
  range(1, 100, 50, "forward", RangeCategory::kUser);
  EXPECT_EQ(digest(1000).phases[0].span, span(1100, 1150));
}

TEST_F(DigestTest, WaitsAreThoseOfTheMainThread) {
  using schema::ThreadWait;
  ASSERT_TRUE(writer_->append(schema::ThreadRow{1, 100, {}, schema::ThreadRole::kMain}).ok());
  int64_t row = 0;
  const auto look = [&](int64_t at, int64_t thread, int64_t value) {
    const int64_t kind = writer_->intern(schema::kThreadWaitKind);
    ASSERT_TRUE(writer_->append(schema::SystemSampleRow{++row, at, kind, thread, value}).ok());
  };
  look(100, 100, static_cast<int64_t>(ThreadWait::kLock));
  look(200, 101, static_cast<int64_t>(ThreadWait::kSleep));  // of another thread
  look(300, 100, static_cast<int64_t>(ThreadWait::kRunning));
  look(400, 100, 77);  // of a later dprof version
  look(500, 100, -1);
  const std::vector<WaitSample> waits = digest(1000).system.waits;
  ASSERT_EQ(waits.size(), 4U);
  EXPECT_EQ(waits[0].at.ns, 1100);
  EXPECT_EQ(waits[0].wait, ThreadWait::kLock);
  EXPECT_EQ(waits[1].wait, ThreadWait::kRunning);
  EXPECT_EQ(waits[2].wait, ThreadWait::kOther);
  EXPECT_EQ(waits[3].wait, ThreadWait::kOther);
}

TEST_F(DigestTest, CountersOfTheProcess) {
  int64_t row = 0;
  const auto sample = [&](int64_t at, const char* kind, int64_t value) {
    const int64_t id = writer_->intern(kind);
    ASSERT_TRUE(writer_->append(schema::SystemSampleRow{++row, at, id, {}, value}).ok());
  };
  sample(100, "process.minor_faults", 20);
  sample(100, "process.kernel_cpu_ns", 10'000'000);
  sample(200, "process.minor_faults", 70);
  const SystemDigest system = digest(1000).system;
  ASSERT_EQ(system.faults.size(), 2U);
  EXPECT_EQ(system.faults[1].at.ns, 1200);
  EXPECT_EQ(system.faults[1].value, 70);
  ASSERT_EQ(system.kernel_cpu.size(), 1U);
  EXPECT_EQ(system.kernel_cpu[0].value, 10'000'000);
}

TEST_F(DigestTest, OpenRangesReachToTheEnd) {
  range(1, 100, std::nullopt, "backward", RangeCategory::kUser);
  range(1, 120, 300, "MmBackward0", RangeCategory::kAutograd);
  const RankDigest d = digest();
  EXPECT_EQ(d.open_ranges, 1);
  ASSERT_EQ(d.phases.size(), 1U);
  EXPECT_EQ(d.phases[0].span, span(100, 420));
}

TEST_F(DigestTest, StepsWithMicroStepsAreOneStepEach) {
  for (const int64_t begin : {0, 1000}) {
    range(1, begin, 900, "step", RangeCategory::kUser);
    for (const int64_t micro : {100, 400}) {
      range(1, begin + micro, 300, "micro_step", RangeCategory::kUser);
      range(1, begin + micro, 100, "forward", RangeCategory::kUser);
      range(1, begin + micro + 100, 150, "backward", RangeCategory::kUser);
    }
    range(1, begin + 800, 50, "optimizer", RangeCategory::kUser);
  }
  const RankDigest d = digest();
  EXPECT_EQ(d.steps.size(), 2U);
  EXPECT_TRUE(d.named.empty()) << "a micro-step says nothing of what is done between its phases";
  ASSERT_EQ(d.marked.size(), 4U);
  EXPECT_EQ(d.marked[0].name, "micro_step");
  EXPECT_EQ(d.marked[1].name, "forward");
  ASSERT_EQ(d.marked[1].in_steps.size(), 2U);
  EXPECT_EQ(d.marked[1].in_steps[1].count, 2);
  EXPECT_EQ(d.marked[1].in_steps[1].total_ns, 200);
}

TEST_F(DigestTest, MicroStepsBetweenOptimizersAreOneStep) {
  for (const int64_t begin : {0, 1000, 2000}) {
    for (const int64_t micro : {100, 400}) {
      range(1, begin + micro, 300, "micro_step", RangeCategory::kUser);
      range(1, begin + micro, 100, "forward", RangeCategory::kUser);
    }
    range(1, begin + 800, 50, "Optimizer.step#SGD.step", RangeCategory::kUser);
  }
  const RankDigest d = digest();
  EXPECT_EQ(d.step_source, schema::StepSource::kOptimizer);
  ASSERT_EQ(d.steps.size(), 2U);
  EXPECT_EQ(d.steps[1].window, span(1850, 2850));
}

TEST_F(DigestTest, StepsThatRoundingMadeOverlapAreNeighbours) {
  for (int64_t index = 0; index < 3; ++index) {
    const int64_t end = 10'000 * (index + 1) + (index == 0 ? 1 : 900);
    ASSERT_TRUE(writer_
                    ->append(schema::StepRow{
                        .step_index = index, .start_ns = 10'000 * index, .end_ns = end})
                    .ok());
  }
  const RankDigest d = digest();
  ASSERT_EQ(d.steps.size(), 3U);
  EXPECT_EQ(d.steps[0].window, span(0, 10'000));
  EXPECT_EQ(d.steps[1].window, span(10'000, 20'000));
  EXPECT_EQ(d.steps[2].window, span(20'000, 30'900));
}

TEST_F(DigestTest, OpenStepIsNotComplete) {
  range(1, 0, 100, "step", RangeCategory::kUser);
  range(1, 110, std::nullopt, "step", RangeCategory::kUser);
  range(1, 120, 50, "forward", RangeCategory::kUser);
  const RankDigest d = digest();
  EXPECT_EQ(d.steps_begun, 2);
  EXPECT_EQ(d.steps.size(), 1U);
}

TEST_F(DigestTest, TimesThatMakeNoSenseAreCounted) {
  range(1, INT64_MAX - 5, 100, "forward", RangeCategory::kUser);
  range(1, 0, -7, "forward", RangeCategory::kUser);
  range(1, 0, INT64_MAX, "forward", RangeCategory::kUser);
  range(1, 5, 100, "forward", RangeCategory::kUser);
  const RankDigest d = digest();
  ASSERT_EQ(d.losses.size(), 1U);
  EXPECT_EQ(d.losses[0].reason, schema::LossReason::kBadRecord);
  EXPECT_EQ(d.losses[0].count, 3);
  EXPECT_EQ(d.phases.size(), 1U);
}

TEST_F(DigestTest, MissingSequencesAreByOrder) {
  for (int64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(writer_
                    ->append(schema::CollectiveRow{.id = i,
                                                   .function = schema::Function::kAllReduce,
                                                   .start_ns = i * 100,
                                                   .end_ns = i * 100 + 50})
                    .ok());
  }
  const RankDigest d = digest();
  EXPECT_TRUE(d.sequences_inferred);
  ASSERT_EQ(d.collectives.size(), 3U);
  EXPECT_EQ(d.collectives[2].sequence, 2);
  EXPECT_EQ(d.collectives[2].arrival(), TraceNs{300});
  ASSERT_EQ(d.communicators.size(), 1U);
}

TEST_F(DigestTest, ClockSamplesTellHowLongItStoodStill) {
  range(1, 100, 50, "forward", RangeCategory::kUser);
  writer_->set_meta("origin_monotonic_raw_ns", "1000");
  ASSERT_TRUE(writer_
                  ->append(schema::ClockSampleRow{
                      .id = 1, .ticks = 1, .realtime_ns = 1, .monotonic_raw_ns = 91'000})
                  .ok());
  EXPECT_EQ(digest().last_sign.ns, 90'000);
}

TEST_F(DigestTest, TheLastStackOfTheFirstThreadIsWhatItWasAt) {
  range(1, 100, 50, "forward", RangeCategory::kUser);
  writer_->set_meta("pid", "700");
  auto frame = [&, id = int64_t{0}](int64_t time_ns, int64_t tid, int64_t number,
                                    const char* function) mutable {
    const schema::StackFrameRow row{.id = ++id,
                                    .time_ns = time_ns,
                                    .os_tid = tid,
                                    .thread_name_id = std::nullopt,
                                    .kind = schema::StackKind::kPython,
                                    .frame = number,
                                    .function_id = writer_->intern(function),
                                    .file_id = writer_->intern("train.py"),
                                    .line = 10 + number};
    ASSERT_TRUE(writer_->append(row).ok());
  };
  frame(200, 700, 0, "earlier");
  frame(900, 701, 0, "other_thread");
  frame(900, 700, 0, "wait");
  frame(900, 700, 1, "main");
  const std::vector<StackFrame> stack = digest().last_activity.stack;
  ASSERT_EQ(stack.size(), 2U);
  EXPECT_EQ(stack[0].kind, "python");
  EXPECT_EQ(stack[0].function, "wait");
  EXPECT_EQ(stack[0].file, "train.py");
  EXPECT_EQ(stack[0].line, 10);
  EXPECT_EQ(stack[1].function, "main");
}

}  // namespace
}  // namespace dprof::analyzer
