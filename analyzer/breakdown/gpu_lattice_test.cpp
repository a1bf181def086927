// SPDX-License-Identifier: Apache-2.0
// One small trace per category of docs/analysis/breakdown.md, with a known answer.
#include "analyzer/breakdown/gpu_lattice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "analyzer/digest/test_support/gpu_trace.h"

namespace dprof::analyzer {
namespace {

using schema::GpuActivityKind;
using schema::RangeCategory;
using testing::Contains;
using testing::Field;

constexpr int64_t kUs = GpuTrace::kUs;

int64_t us(const Sums& sums, Category category) { return sums.of(category) / kUs; }
int64_t us(const Sums& sums, HostDetail detail) { return sums.of(detail) / kUs; }
Interval span_of(int64_t begin, int64_t end) { return {{begin * kUs}, {end * kUs}}; }

// A gap from 20 to 115: the kernel before it ends at 20, the next one is called at 110.
GpuTrace with_gap() {
  GpuTrace trace;
  trace.range(1, 0, 1, "forward");  // the training thread
  trace.kernel(1, 7, 10, 20);
  trace.activity(7, 115, 130, trace.launch(1, 110, 112));
  return trace;
}

TEST(GpuLatticeTest, KernelsHaveThePhaseOfTheirLaunch) {
  GpuTrace trace;
  trace.range(1, 0, 100, "forward");
  trace.op(1, 5, 20);
  trace.activity(7, 200, 300, trace.launch(1, 10, 12));
  trace.range(1, 100, 150, "backward");
  trace.activity(7, 300, 400, trace.launch(1, 120, 122));
  trace.range(1, 150, 180, "Optimizer.step#SGD.step");
  trace.activity(7, 400, 450, trace.launch(1, 160, 161));
  trace.activity(7, 450, 460, trace.launch(1, 185, 186));
  const Sums sums = trace.sums(200, 460);
  EXPECT_EQ(us(sums, Category::kForward), 100);
  EXPECT_EQ(us(sums, Category::kBackward), 100);
  EXPECT_EQ(us(sums, Category::kOptimizer), 50);
  EXPECT_EQ(us(sums, Category::kOtherCompute), 10);
  EXPECT_EQ(sums.total(), 260 * kUs);
}

TEST(GpuLatticeTest, EventsThatCrossAWindowsBordersAreClipped) {
  GpuTrace trace;
  trace.range(1, 0, 100, "forward");
  trace.activity(7, 200, 300, trace.launch(1, 10, 12));
  const RankDigest digest = trace.digest();
  const auto pieces = lattice_of(digest, {});
  const std::vector<Interval> windows = {span_of(150, 230), span_of(230, 231), span_of(231, 400)};
  const std::vector<Sums> sums = sum_over(pieces, windows);
  EXPECT_EQ(us(sums[0], Category::kForward), 30);
  EXPECT_EQ(us(sums[1], Category::kForward), 1);
  EXPECT_EQ(us(sums[2], Category::kForward), 69);
  EXPECT_EQ(us(sums[2], Category::kIdle), 100);  // after the last row
  for (size_t w = 0; w < windows.size(); ++w) EXPECT_EQ(sums[w].total(), windows[w].length().ns);
}

TEST(GpuLatticeTest, ExposedCommunicationIsSplitAtTheLastArrival) {
  GpuTrace trace;
  trace.kernel(1, 7, 100, 130);
  const int64_t nccl = trace.launch(1, 50, 51);
  trace.activity(8, 100, 200, nccl, "an_unknown_kernel");
  trace.collective(nccl);
  const std::vector<CommSpan> comm = {{span_of(100, 200), {160 * kUs}}};
  const Sums sums = trace.sums(100, 200, comm);
  EXPECT_EQ(us(sums, Category::kOverlapped), 30);
  EXPECT_EQ(sums.overlapped_ns[static_cast<size_t>(Category::kOtherCompute)], 30 * kUs);
  EXPECT_EQ(us(sums, Category::kExposedWait), 30);
  EXPECT_EQ(us(sums, Category::kExposedTransfer), 40);
}

TEST(GpuLatticeTest, OfSeveralCollectivesTheOneThatEndsLastDivides) {
  GpuTrace trace;
  trace.activity(8, 100, 150, trace.launch(1, 50, 51), "ncclDevKernel_AllReduce");
  trace.activity(9, 120, 200, trace.launch(1, 52, 53), "ncclDevKernel_AllReduce");
  const std::vector<CommSpan> comm = {{span_of(100, 150), {100 * kUs}},
                                      {span_of(120, 200), {170 * kUs}}};
  const Sums sums = trace.sums(100, 200, comm);
  EXPECT_EQ(us(sums, Category::kExposedTransfer), 20 + 30);
  EXPECT_EQ(us(sums, Category::kExposedWait), 50);
}

TEST(GpuLatticeTest, OverlapHasThePhaseOfTheKernelThatBeganLast) {
  GpuTrace trace;
  trace.range(1, 0, 50, "forward");
  trace.range(1, 50, 90, "backward");
  trace.activity(7, 100, 150, trace.launch(1, 10, 11));
  trace.activity(9, 120, 140, trace.launch(1, 60, 61));
  trace.activity(8, 100, 150, trace.launch(1, 95, 96), "ncclKernel_AllReduce_RING_LL_Sum_float");
  const Sums sums = trace.sums(100, 150);
  EXPECT_EQ(us(sums, Category::kOverlapped), 50);
  EXPECT_EQ(sums.overlapped_ns[static_cast<size_t>(Category::kForward)], 30 * kUs);
  EXPECT_EQ(sums.overlapped_ns[static_cast<size_t>(Category::kBackward)], 20 * kUs);
}

TEST(GpuLatticeTest, CopiesByDirection) {
  GpuTrace trace;
  trace.activity(7, 100, 110, trace.launch(1, 50, 51, "cudaMemcpyAsync"), "Memcpy HtoD",
                 GpuActivityKind::kMemcpyH2d);
  trace.activity(7, 110, 130, trace.launch(1, 52, 53, "cudaMemcpyAsync"), "Memcpy DtoH",
                 GpuActivityKind::kMemcpyD2h);
  trace.activity(7, 130, 160, trace.launch(1, 54, 55, "cudaMemcpyAsync"), "Memcpy DtoD",
                 GpuActivityKind::kMemcpyD2d);
  trace.activity(7, 160, 165, trace.launch(1, 56, 57, "cudaMemsetAsync"), "Memset",
                 GpuActivityKind::kMemset);
  trace.kernel(1, 9, 120, 125);  // computation hides a copy
  const Sums sums = trace.sums(100, 165);
  EXPECT_EQ(us(sums, Category::kCopy), 60);
  EXPECT_EQ(us(sums, Category::kOtherCompute), 5);
  EXPECT_EQ(us(sums, HostDetail::kHostToDevice), 10);
  EXPECT_EQ(us(sums, HostDetail::kDeviceToHost), 15);
  EXPECT_EQ(us(sums, HostDetail::kDeviceToDevice), 30);
  EXPECT_EQ(us(sums, HostDetail::kMemset), 5);
}

TEST(GpuLatticeTest, LoaderIsInputWait) {
  GpuTrace trace = with_gap();
  trace.range(1, 18, 100, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
  trace.op(1, 30, 60, "aten::stack");  // the loader's own
  const Sums sums = trace.sums(20, 115);
  EXPECT_EQ(us(sums, Category::kInputWait), 80);
  EXPECT_EQ(us(sums, HostDetail::kUnattributed), 10);
  EXPECT_EQ(us(sums, Category::kLaunch), 5);
}

TEST(GpuLatticeTest, OnlyTheBubbleAfterABlockingCallIsSynchronisation) {
  GpuTrace trace;
  trace.kernel(1, 7, 10, 100);
  trace.op(1, 18, 106, "aten::item");
  trace.call(1, 20, 105, "cudaStreamSynchronize");
  trace.op(1, 110, 140);
  trace.activity(7, 155, 160, trace.launch(1, 150, 151));
  const Sums sums = trace.sums(10, 160);
  EXPECT_EQ(us(sums, Category::kSyncBubble), 50);
  EXPECT_EQ(us(sums, Category::kLaunch), 5);
  EXPECT_EQ(us(sums, Category::kOtherCompute), 95);
}

TEST(GpuLatticeTest, BlockingCallWithNothingToWaitForIsTheHosts) {
  GpuTrace trace = with_gap();
  trace.call(1, 60, 65, "cudaDeviceSynchronize");
  const Sums sums = trace.sums(20, 115);
  EXPECT_EQ(us(sums, Category::kSyncBubble), 0);
  EXPECT_EQ(us(sums, Category::kHost), 90);
}

TEST(GpuLatticeTest, AllocatorCallsAndRanges) {
  GpuTrace trace = with_gap();
  trace.call(1, 25, 60, "cudaMalloc");
  trace.range(1, 70, 80, "empty_cache");
  const Sums sums = trace.sums(20, 115);
  EXPECT_EQ(us(sums, Category::kAllocator), 45);
  EXPECT_EQ(us(sums, Category::kHost), 45);
}

TEST(GpuLatticeTest, CopiesOfACheckpointAreMarked) {
  GpuTrace trace;
  trace.range(1, 0, 40, "forward");
  trace.activity(7, 10, 20, trace.launch(1, 5, 6, "cudaMemcpyAsync"), "Memcpy DtoH",
                 GpuActivityKind::kMemcpyD2h);
  trace.range(1, 40, 90, "checkpoint");
  trace.activity(7, 50, 80, trace.launch(1, 45, 46, "cudaMemcpyAsync"), "Memcpy DtoH",
                 GpuActivityKind::kMemcpyD2h);
  std::map<Category, int64_t> by_phase;
  for (const LatticePiece& piece : lattice_of(trace.digest(), {})) {
    if (piece.category == Category::kCopy) by_phase[piece.phase] += piece.span.length().ns / kUs;
  }
  EXPECT_THAT(by_phase, testing::ElementsAre(testing::Pair(Category::kCopy, 10),
                                             testing::Pair(Category::kHost, 30)));
}

TEST(GpuLatticeTest, HostTimeByItsCause) {
  GpuTrace trace = with_gap();
  trace.range(1, 20, 40, "gc");
  trace.range(1, 40, 50, "logging");
  trace.range(1, 50, 70, "optimizer");
  trace.range(1, 70, 90, "checkpoint");
  trace.op(1, 90, 95);
  const Sums sums = trace.sums(20, 115);
  EXPECT_EQ(us(sums, Category::kHost), 90);
  EXPECT_EQ(us(sums, HostDetail::kGc), 20);
  EXPECT_EQ(us(sums, HostDetail::kLogging), 10);
  EXPECT_EQ(us(sums, HostDetail::kOptimizer), 20);
  EXPECT_EQ(us(sums, HostDetail::kCheckpoint), 20);
  EXPECT_EQ(us(sums, HostDetail::kRange), 5);
  EXPECT_EQ(us(sums, HostDetail::kUnattributed), 15);
}

TEST(GpuLatticeTest, HostWaitingForACollectiveIsExposedWait) {
  GpuTrace trace = with_gap();
  trace.op(1, 30, 80, "c10d::wait");
  EXPECT_EQ(us(trace.sums(20, 115), Category::kExposedWait), 50);
}

TEST(GpuLatticeTest, ProfilersOwnCostIsApart) {
  GpuTrace trace = with_gap();
  trace.op(1, 20, 100);
  trace.range(1, 30, 60, "CUPTI buffer flush", RangeCategory::kOverhead);
  trace.range(1, 60, 70, "module loading", RangeCategory::kOverhead);  // the driver's
  const Sums sums = trace.sums(20, 115);
  EXPECT_EQ(us(sums, Category::kProfiler), 30);
  EXPECT_EQ(us(sums, HostDetail::kRange), 50);
}

TEST(GpuLatticeTest, QueuedWorkIsLaunchGapOrUnexplained) {
  GpuTrace trace;
  const int64_t first = trace.launch(1, 2, 3);
  const int64_t second = trace.launch(1, 4, 5);
  const int64_t third = trace.launch(1, 6, 7);
  trace.activity(7, 10, 20, first);
  trace.activity(7, 25, 30, second);
  trace.activity(7, 60, 70, third);
  const Sums sums = trace.sums(10, 70);
  EXPECT_EQ(us(sums, Category::kLaunch), 5);
  EXPECT_EQ(us(sums, Category::kIdle), 30);
  EXPECT_EQ(us(sums, HostDetail::kLost), 0);
}

TEST(GpuLatticeTest, QueuedWorkThatWaitsForAnotherStreamIsADependency) {
  for (const int64_t recorded : {3, 1}) {  // after the launch that is waited for, or before
    GpuTrace trace;
    trace.activity(8, 10, 20, trace.launch(1, 2, 3));
    trace.wait_for(7, 4, 8, recorded);
    trace.activity(7, 60, 70, trace.launch(1, 5, 6));
    const Sums sums = trace.sums(10, 70);
    EXPECT_EQ(us(sums, Category::kDependency), recorded == 3 ? 40 : 0);
    EXPECT_EQ(us(sums, Category::kIdle), recorded == 3 ? 0 : 40);
  }
}

TEST(GpuLatticeTest, WhatWasLostIsNeverTheHosts) {
  GpuTrace trace = with_gap();
  trace.loss(schema::Source::kCuda, 30, 40);
  EXPECT_EQ(us(trace.sums(20, 115), HostDetail::kLost), 95);

  GpuTrace host = with_gap();
  host.loss(schema::Source::kTorch, 30, 40);
  host.op(1, 20, 50);
  const Sums sums = host.sums(20, 115);
  EXPECT_EQ(us(sums, HostDetail::kLost), 60);  // nothing recorded from 50 to 110
  EXPECT_EQ(us(sums, HostDetail::kRange), 30);
}

TEST(GpuLatticeTest, PreemptedAsFarAsSamplesTell) {
  GpuTrace trace = with_gap();
  trace.op(1, 20, 50);
  trace.run_queue(101, 20, 1000);
  trace.run_queue(101, 120, 1045);
  trace.run_queue(102, 20, 0);  // another thread
  trace.run_queue(102, 120, 90);
  const Sums sums = trace.sums(20, 115);
  EXPECT_EQ(us(sums, HostDetail::kPreempted), 45);
  EXPECT_EQ(us(sums, Category::kHost), 90);
}

TEST(GpuLatticeTest, NodesOfAGraphShareItsLaunch) {
  GpuTrace trace;
  trace.range(1, 0, 50, "forward");
  const int64_t graph = trace.launch(1, 10, 12, "cudaGraphLaunch");
  for (int64_t node = 0; node < 3; ++node) {
    auto& row = trace.activity(7, 60 + 20 * node, 75 + 20 * node, graph);
    row.graph_node = node;
    row.graph = 5;
  }
  trace.activity(7, 60, 115, graph, "", GpuActivityKind::kGraph).graph = 5;
  const Sums sums = trace.sums(60, 115);
  EXPECT_EQ(us(sums, Category::kForward), 45);
  EXPECT_EQ(us(sums, Category::kLaunch), 10);
}

TEST(GpuLatticeTest, AGraphWithoutRowsOfItsNodesIsComputation) {
  GpuTrace trace;
  trace.range(1, 0, 50, "backward");
  trace.activity(7, 60, 115, trace.launch(1, 10, 12, "cudaGraphLaunch"), "",
                 GpuActivityKind::kGraph);
  EXPECT_EQ(us(trace.sums(60, 115), Category::kBackward), 55);
}

TEST(GpuLatticeTest, AutogradsThreadsLaunchBackward) {
  GpuTrace trace;
  trace.range(1, 0, 10, "forward");
  trace.range(1, 90, 200, "backward");
  trace.range(2, 100, 140, "AddmmBackward0", RangeCategory::kAutograd);
  trace.activity(7, 150, 160, trace.launch(2, 120, 121));
  trace.activity(7, 160, 180, trace.launch(2, 145, 146));  // a hook between nodes
  EXPECT_EQ(us(trace.sums(150, 180), Category::kBackward), 30);
}

// A step of a script without marks: input, forward, backward, gradients clipped, optimizer.
GpuTrace unmarked_step() {
  GpuTrace trace;
  trace.range(1, 0, 10, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  trace.activity(7, 20, 40, trace.launch(1, 15, 16));
  trace.activity(7, 40, 60, trace.launch(1, 30, 31));
  trace.range(2, 70, 80, "AddmmBackward0", RangeCategory::kAutograd);
  trace.activity(7, 80, 110, trace.launch(2, 72, 73));
  trace.activity(7, 110, 114, trace.launch(1, 100, 101));
  trace.range(1, 115, 130, "Optimizer.step#SGD.step");
  trace.activity(7, 120, 125, trace.launch(1, 118, 119));
  return trace;
}

TEST(GpuLatticeTest, WhatIsLaunchedBeforeABackwardIsAnUnmarkedForward) {
  GpuTrace trace = unmarked_step();
  trace.activity(7, 140, 150, trace.launch(1, 135, 136));  // the next step has no backward
  const Sums sums = trace.sums(0, 150);
  EXPECT_EQ(us(sums, Category::kForward), 40);
  EXPECT_EQ(us(sums, Category::kBackward), 30);
  EXPECT_EQ(us(sums, Category::kOptimizer), 5);
  EXPECT_EQ(us(sums, Category::kOtherCompute), 4 + 10);
  EXPECT_EQ(trace.digest().forward_signs, (IntervalSet{{{15 * kUs}, {30 * kUs + 1}}}));
}

TEST(GpuLatticeTest, EachMicroBatchHasAnUnmarkedForward) {
  GpuTrace trace = unmarked_step();
  trace.activity(7, 60, 66, trace.launch(1, 50, 51));  // before the first node
  trace.range(2, 102, 104, "AddmmBackward0", RangeCategory::kAutograd);
  const Sums sums = trace.sums(0, 130);
  EXPECT_EQ(us(sums, Category::kForward), 46 + 4);
  EXPECT_EQ(us(sums, Category::kOtherCompute), 0);
}

TEST(GpuLatticeTest, NoForwardIsGuessedWhereOneIsMarkedOrNoOptimizerIs) {
  GpuTrace marked = unmarked_step();
  marked.range(1, 12, 20, "forward");
  EXPECT_EQ(us(marked.sums(0, 130), Category::kForward), 20);

  GpuTrace without_optimizer;
  without_optimizer.activity(7, 20, 40, without_optimizer.launch(1, 15, 16));
  without_optimizer.range(2, 70, 80, "AddmmBackward0", RangeCategory::kAutograd);
  without_optimizer.range(1, 90, 95, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter");
  EXPECT_EQ(us(without_optimizer.sums(0, 130), Category::kOtherCompute), 20);
}

TEST(GpuLatticeTest, AThreadWithNothingToDoWaitsForTheOther) {
  GpuTrace trace;
  trace.range(1, 0, 5, "forward");
  trace.kernel(1, 7, 10, 20);
  trace.range(1, 15, 60, "input");  // on the training thread, before it hands over
  trace.range(2, 70, 100, "MulBackward0", RangeCategory::kAutograd);
  trace.activity(7, 85, 90, trace.launch(2, 80, 81));
  const Sums sums = trace.sums(20, 90);
  EXPECT_EQ(us(sums, Category::kInputWait), 40);
  EXPECT_EQ(us(sums, HostDetail::kRange), 10);
}

TEST(GpuLatticeTest, OfTwoDevicesTheOneThatDoesMoreCounts) {
  GpuTrace trace;
  trace.kernel(1, 7, 10, 20);
  trace.activity(9, 15, 40, trace.launch(1, 5, 6)).device_id = 1;
  trace.kernel(1, 7, 45, 50);
  const RankDigest digest = trace.digest();
  ASSERT_EQ(digest.gpu.devices.size(), 2U);
  EXPECT_EQ(digest.gpu.devices[1].span, span_of(15, 40));
  EXPECT_EQ(digest.gpu.devices[0].linked, 2);
  EXPECT_EQ(measure(digest.gpu.compute).ns, 35 * kUs);
  const std::vector<Interval> windows = {span_of(10, 50)};
  const Sums sums = sum_over(lattice_of(digest, {}), windows).front();
  EXPECT_EQ(us(sums, Category::kOtherCompute), 35);
  EXPECT_EQ(sums.total(), 40 * kUs);
}

TEST(GpuLatticeTest, WithoutItsLaunchAGapIsUnexplained) {
  GpuTrace trace;
  trace.op(1, 0, 200);
  trace.kernel(1, 7, 10, 20);
  trace.activity(7, 50, 60, 0);
  trace.activity(7, 64, 70, 0);
  const Sums sums = trace.sums(10, 70);
  EXPECT_EQ(us(sums, Category::kIdle), 30);
  EXPECT_EQ(us(sums, Category::kLaunch), 4);
}

TEST(GpuLatticeTest, WhatTheHostDidBeforeTheFirstKernelAndAfterTheLast) {
  GpuTrace trace;
  trace.range(1, 0, 40, "input");
  trace.activity(7, 60, 70, trace.launch(1, 50, 51));
  trace.range(1, 80, 100, "checkpoint");
  const Sums sums = trace.sums(0, 100);
  EXPECT_EQ(us(sums, Category::kInputWait), 40);
  EXPECT_EQ(us(sums, Category::kLaunch), 10);
  EXPECT_EQ(us(sums, HostDetail::kCheckpoint), 20);
  EXPECT_EQ(us(sums, HostDetail::kUnattributed), 20);
  EXPECT_EQ(sums.total(), 100 * kUs);
}

TEST(GpuDigestTest, OddTimesAreCountedAndNamed) {
  GpuTrace trace;
  trace.kernel(1, 7, 10, 20);
  trace.kernel(1, 7, 15, 30);  // overlaps on its stream
  trace.activity(7, 50, 40, trace.launch(1, 45, 46));
  trace.activity(7, 55, 55, trace.launch(1, 54, 55));
  trace.activity(7, 70, 70, trace.launch(1, 69, 70)).duration_ns.reset();
  trace.activity(7, 5, 8, trace.launch(1, 6, 7));  // out of order, and begins before its launch
  const RankDigest digest = trace.digest();
  EXPECT_EQ(digest.gpu.rows, 6);
  EXPECT_EQ(digest.gpu.without_time, 2);
  ASSERT_EQ(digest.gpu.devices.size(), 1U);
  EXPECT_EQ(digest.gpu.devices[0].span, span_of(5, 55));
  EXPECT_EQ(digest.gpu.devices[0].before_launch, 1);
  EXPECT_EQ(measure(digest.gpu.compute).ns, 23 * kUs);
  for (const auto& [code, count] : {std::pair("odd_gpu_times", 2), std::pair("empty_gpu_rows", 1),
                                    std::pair("overlapping_gpu_rows", 1)}) {
    EXPECT_THAT(digest.remarks, Contains(testing::AllOf(Field(&Diagnostic::code, code),
                                                        Field(&Diagnostic::count, count))));
  }
  // A kernel of length 0 still ends a gap.
  EXPECT_EQ(us(trace.sums(50, 55), Category::kLaunch), 1);
}

TEST(GpuDigestTest, CollectivesWithoutTimesGetThoseOfTheirKernel) {
  GpuTrace trace;
  const int64_t nccl = trace.launch(1, 50, 51);
  trace.activity(8, 100, 200, nccl, "kernel of a plugin");
  trace.collective(nccl).enqueue_ns = 40 * kUs;
  trace.activity(8, 300, 310, trace.launch(1, 60, 61), "ncclDevKernel_Broadcast");
  const RankDigest digest = trace.digest();
  ASSERT_EQ(digest.collectives.size(), 1U);
  EXPECT_EQ(digest.collectives[0].start, TraceNs{100 * kUs});
  EXPECT_EQ(digest.collectives[0].end, TraceNs{200 * kUs});
  EXPECT_EQ(measure(digest.gpu.communication).ns, 110 * kUs);
  const auto tagged = std::ranges::find(digest.gpu.devices[0].pieces, digest.collectives[0].row,
                                        &DevicePiece::collective);
  ASSERT_NE(tagged, digest.gpu.devices[0].pieces.end());
  EXPECT_EQ(tagged->begin, TraceNs{100 * kUs});
  EXPECT_THAT(digest.remarks,
              Contains(testing::AllOf(Field(&Diagnostic::code, "communication_by_name"),
                                      Field(&Diagnostic::count, 1))));
}

TEST(GpuDigestTest, EveryTimeIsVisited) {
  GpuTrace trace = with_gap();
  RankDigest digest = trace.digest();
  GpuDigest moved = digest.gpu;
  for_each_time(moved, [](TraceNs& time) { time += DurationNs{1000}; });
  ASSERT_EQ(moved.devices.size(), 1U);
  for (size_t p = 0; p < moved.devices[0].pieces.size(); ++p)
    EXPECT_EQ((moved.devices[0].pieces[p].begin - digest.gpu.devices[0].pieces[p].begin).ns, 1000);
  EXPECT_EQ((moved.devices[0].end - digest.gpu.devices[0].end).ns, 1000);
  EXPECT_EQ((moved.compute[0].begin - digest.gpu.compute[0].begin).ns, 1000);
  ASSERT_EQ(moved.launches.size(), 2U);
  EXPECT_EQ((moved.launches[1].start - digest.gpu.launches[1].start).ns, 1000);
  ASSERT_EQ(moved.tokens.size(), 2U);
  EXPECT_EQ((moved.tokens[0].at - digest.gpu.tokens[0].at).ns, 1000);
}

}  // namespace
}  // namespace dprof::analyzer
