// SPDX-License-Identifier: Apache-2.0
// Two workers, NCCL and Gloo, made by hand (pytorch/kineto 041e7ce, tb_plugin/test, BSD-3), with
// the figures of that tool in expected.json. Its definitions, in integer microseconds:
//   step 0      from the first to the last moment of the host's rows
//   computation kernels but those of communication; where there is none, host operators
//   overlap     the parts of the step: computation only, both, communication only, neither.
//               Communication is the host's range "nccl:…" or "gloo:…", and NCCL's kernels
//   costs       each moment goes to the first that covers it: kernel, copy, fill, communication,
//               …, host operator, nothing
//   transfer    a communication has parts: the host's range and its kernels. Each part is cut, at
//               its begin, to the shortest of all workers; the transfer is the union of these
//   latency     the union of the uncut parts; waiting = latency less transfer
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/real_traces/real_traces.h"

namespace dprof::real_traces {
namespace {

using nlohmann::json;
using schema::CollectiveRow;

bool communicates(const NamedRange& range) {
  return range.name.starts_with("nccl:") || range.name.starts_with("gloo:");
}

// One communication of a worker, by the name of its range.
struct Communication {
  std::string name;
  int64_t bytes = 0;
  std::vector<Interval> parts;  // the host's range, its kernel
};

struct Worker {
  std::vector<NamedRange> ranges;
  std::vector<NamedActivity> activities;
  std::vector<Communication> communications;  // in order of their begin
};

Worker worker_of(const schema::TraceReader& trace) {
  Worker worker{ranges_of(trace), activities_of(trace), {}};
  const auto collectives = rows<CollectiveRow>(trace);
  for (const NamedRange& range : worker.ranges) {
    if (!communicates(range)) continue;
    // The row that was put together from this range.
    const auto row = std::ranges::find_if(collectives, [&](const CollectiveRow& c) {
      return c.thread_id ? c.start_ns == range.row.start_ns && c.thread_id == range.row.thread_id
                         : c.enqueue_ns == range.row.start_ns;
    });
    EXPECT_NE(row, collectives.end()) << range.name;
    if (row == collectives.end()) continue;
    Communication communication{range.name, row->bytes.value_or(-1), {range.span}};
    if (row->stream_id) communication.parts.push_back({{*row->start_ns}, {*row->end_ns}});
    worker.communications.push_back(std::move(communication));
  }
  return worker;
}

int64_t us(DurationNs duration) { return duration.ns / 1000; }

struct Covers {
  Interval step;
  IntervalSet kernels, communication, operators;
};

Covers covers_of(const Worker& worker) {
  Covers covers;
  const auto host = cover(worker.ranges, [](const NamedRange&) { return true; });
  covers.step = {host.front().begin, host.back().end};
  const auto exchanges = cover(
      worker.activities, [](const NamedActivity& row) { return row.name.starts_with("nccl"); });
  covers.communication =
      clipped(union_of(cover(worker.ranges, communicates), exchanges), covers.step);
  covers.kernels = clipped(cover(worker.activities,
                                 [](const NamedActivity& row) {
                                   return row.row.kind == schema::GpuActivityKind::kKernel &&
                                          !row.name.starts_with("nccl");
                                 }),
                           covers.step);
  covers.operators =
      clipped(cover(worker.ranges, [](const NamedRange& range) { return !communicates(range); }),
              covers.step);
  return covers;
}

std::vector<int64_t> overlap_of(const Worker& worker) {
  const Covers covers = covers_of(worker);
  const IntervalSet& computation = covers.kernels.empty() ? covers.operators : covers.kernels;
  const IntervalSet both = intersection_of(computation, covers.communication);
  const int64_t alone = us(measure(difference_of(computation, covers.communication)));
  const int64_t exposed = us(measure(difference_of(covers.communication, computation)));
  const int64_t together = us(measure(both));
  return {alone, together, exposed, us(covers.step.length()) - alone - together - exposed};
}

std::vector<int64_t> costs_of(const Worker& worker) {
  const Covers covers = covers_of(worker);
  const int64_t kernels = us(measure(covers.kernels));
  const IntervalSet communication = difference_of(covers.communication, covers.kernels);
  const IntervalSet before = union_of(covers.kernels, communication);
  const int64_t operators = us(measure(difference_of(covers.operators, before)));
  const int64_t total = us(covers.step.length());
  const int64_t exposed = us(measure(communication));
  return {kernels, 0, 0, exposed, 0, 0, operators, total - kernels - exposed - operators, total};
}

// [op, calls, bytes, bytes per call, latency, …, transfer, …] by name, as expected.json has them.
std::map<std::string, std::array<int64_t, 4>> operations_of(const std::vector<Worker>& workers,
                                                            size_t which) {
  struct Sum {
    int64_t calls = 0, bytes = 0;
    std::vector<Interval> latency, transfer;
  };
  std::map<std::string, Sum> sums;
  const std::vector<Communication>& own = workers[which].communications;
  for (size_t i = 0; i < own.size(); ++i) {
    Sum& sum = sums[own[i].name];
    ++sum.calls;
    sum.bytes += own[i].bytes;
    for (size_t part = 0; part < own[i].parts.size(); ++part) {
      const Interval span = own[i].parts[part];
      DurationNs shortest = span.length();
      for (const Worker& worker : workers)
        shortest = std::min(shortest, worker.communications[i].parts[part].length());
      sum.latency.push_back(span);
      sum.transfer.push_back({{span.end.ns - shortest.ns}, span.end});
    }
  }
  std::map<std::string, std::array<int64_t, 4>> operations;
  for (auto& [name, sum] : sums) {
    operations[name] = {sum.calls, sum.bytes, us(measure(union_of(std::move(sum.latency)))),
                        us(measure(union_of(std::move(sum.transfer))))};
  }
  return operations;
}

class TwoWorkerTest : public ::testing::TestWithParam<const char*> {};

TEST_P(TwoWorkerTest, FiguresAreThoseOfTheTool) {
  const std::string folder = std::string("two_worker_small/") + GetParam();
  const Imported& imported = imported_once({folder + "/worker0.json", folder + "/worker1.json"});
  DPROF_SKIP_IF_ABSENT(imported);
  std::ifstream file(shared_traces() / "two_worker_small" / "expected.json");
  const json want = json::parse(file)[GetParam()];
  const std::vector<Worker> workers = {worker_of(imported.trace(0)), worker_of(imported.trace(1))};
  for (size_t which = 0; which < workers.size(); ++which) {
    const std::string name = "worker" + std::to_string(which);
    SCOPED_TRACE(name);
    EXPECT_EQ(json(overlap_of(workers[which])), want["overlap"][name]);
    if (want["costs"].contains(name)) {
      EXPECT_EQ(json(costs_of(workers[which])), want["costs"][name]);
    }
    const auto operations = operations_of(workers, which);
    int64_t latency = 0;
    int64_t transfer = 0;
    for (const json& row : want["comm_ops"][name]) {
      const auto got = operations.find(row[0].get<std::string>());
      ASSERT_NE(got, operations.end()) << row[0];
      const auto [calls, bytes, own_latency, own_transfer] = got->second;
      EXPECT_EQ(calls, row[1].get<int64_t>()) << row[0];
      EXPECT_EQ(bytes, row[2].get<int64_t>()) << row[0];
      EXPECT_EQ(own_latency, row[4].get<int64_t>()) << row[0];
      EXPECT_EQ(own_transfer, row[6].get<int64_t>()) << row[0];
      latency += own_latency;
      transfer += own_transfer;
    }
    EXPECT_EQ(json({transfer, latency - transfer}), want["wait"][name]);
  }
}

INSTANTIATE_TEST_SUITE_P(Kineto, TwoWorkerTest,
                         ::testing::Values("distributed_nccl", "distributed_gloo_gpu",
                                           "distributed_gloo_cpu"),
                         [](const auto& test) { return std::string(test.param); });

TEST(TwoWorkerAnnotationTest, AnAnnotationAloneIsACallThatWasNotObserved) {
  const Imported& imported = imported_once(
      {"two_worker_small/distributed_nccl_user_annotation_has_communication/worker0.json"});
  DPROF_SKIP_IF_ABSENT(imported);
  const auto collectives = rows<CollectiveRow>(imported.trace(0));
  ASSERT_EQ(collectives.size(), 1U);
  EXPECT_EQ(collectives[0].function, schema::Function::kAllReduce);
  EXPECT_EQ(collectives[0].state, schema::CollectiveState::kUnobserved);
  EXPECT_EQ(collectives[0].enqueue_ns, 0);
}

}  // namespace
}  // namespace dprof::real_traces
