// SPDX-License-Identifier: Apache-2.0
// ResNet-50 on one GPU, with old category names (pytorch/kineto 041e7ce, tb_plugin/samples, BSD-3).
// The tables of that tool are made anew from our rows by its definitions, in integer microseconds:
//   step      begins at its ProfilerStep range or where the step before ended, if that is later;
//             its end moves to the end of the last GPU row that was launched in it
//   parts     each moment goes to the first of kernel, copy, fill, runtime call, data loader, host
//             operator that covers it
//   operator  device times: kernels, copies and fills launched in it (self: in no operator within);
//             host self: less the operators and runtime calls within. One directly within another
//             of its own name is a part of it
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "tests/real_traces/real_traces.h"

namespace dprof::real_traces {
namespace {

using nlohmann::json;
using schema::GpuActivityKind;
using schema::RangeCategory;

struct SpanCase {
  const char* name;
  const char* file;
};

bool is_loader(const NamedRange& range) { return range.name.starts_with("enumerate(DataLoader)"); }
bool is_step(const NamedRange& range) { return range.name.starts_with("ProfilerStep#"); }
bool is_call(const NamedRange& range) { return range.row.category == RangeCategory::kApi; }
bool is_operator(const NamedRange& range) {
  return !is_loader(range) && !is_step(range) && !is_call(range);
}

class Resnet50Test : public ::testing::TestWithParam<SpanCase> {
 protected:
  json expected(const std::string& table) {
    std::ifstream file(shared_traces() / "resnet50_1gpu" / "expected" /
                       (std::string(GetParam().name) + ".span1." + table + ".json"));
    return json::parse(file);
  }
};

// GPU rows by the correlation of their launch.
std::unordered_map<int64_t, const NamedActivity*> by_launch(
    const std::vector<NamedActivity>& activities) {
  std::unordered_map<int64_t, const NamedActivity*> launched;
  for (const NamedActivity& row : activities) {
    if (row.row.correlation) launched[*row.row.correlation] = &row;
  }
  return launched;
}

std::vector<Interval> steps_of(const schema::TraceReader& trace,
                               const std::vector<NamedRange>& ranges,
                               const std::vector<NamedActivity>& activities) {
  const auto launched = by_launch(activities);
  std::vector<Interval> steps;
  for (const schema::StepRow& row : rows<schema::StepRow>(trace)) {
    const Interval host{{row.start_ns}, {row.end_ns.value_or(row.start_ns)}};
    Interval step = host;
    if (!steps.empty()) step.begin = std::max(step.begin, steps.back().end);
    for (const NamedRange& range : ranges) {
      if (!is_call(range) || range.span.begin < host.begin || range.span.begin >= host.end)
        continue;
      const auto activity = launched.find(range.row.correlation.value_or(-1));
      if (activity != launched.end()) step.end = std::max(step.end, activity->second->span.end);
    }
    steps.push_back(step);
  }
  return steps;
}

TEST_P(Resnet50Test, StepsAndTheirParts) {
  const Imported& imported = imported_once({GetParam().file});
  DPROF_SKIP_IF_ABSENT(imported);
  const schema::TraceReader trace = imported.trace(0);
  const auto ranges = ranges_of(trace);
  const auto activities = activities_of(trace);
  const auto of_kind = [&](auto&& wanted) {
    return cover(activities, [&](const NamedActivity& row) { return wanted(row.row.kind); });
  };
  const std::array<IntervalSet, 6> layers = {
      of_kind([](GpuActivityKind kind) { return kind == GpuActivityKind::kKernel; }),
      of_kind([](GpuActivityKind kind) {
        return kind != GpuActivityKind::kKernel && kind != GpuActivityKind::kMemset;
      }),
      of_kind([](GpuActivityKind kind) { return kind == GpuActivityKind::kMemset; }),
      cover(ranges, is_call),
      cover(ranges, is_loader),
      cover(ranges, is_operator)};
  const auto steps = steps_of(trace, ranges, activities);
  const json want = expected("overview")["steps"]["rows"];
  ASSERT_EQ(steps.size(), want.size());
  for (size_t s = 0; s < steps.size(); ++s) {
    IntervalSet rest = {steps[s]};
    std::vector<int64_t> parts;
    for (const IntervalSet& layer : layers) {
      parts.push_back(measure(intersection_of(rest, layer)).ns / 1000);
      rest = difference_of(rest, layer);
    }
    parts.push_back(measure(rest).ns / 1000);
    std::vector<int64_t> wanted;
    for (size_t column = 1; column < want[s].size(); column += 2)
      wanted.push_back(want[s][column].get<int64_t>());
    EXPECT_EQ(parts, wanted) << "step " << want[s][0];
  }
}

TEST_P(Resnet50Test, Kernels) {
  const Imported& imported = imported_once({GetParam().file});
  DPROF_SKIP_IF_ABSENT(imported);
  std::map<std::string, std::array<int64_t, 4>> kernels;  // calls, sum, longest, shortest
  for (const NamedActivity& row : activities_of(imported.trace(0))) {
    if (row.row.kind != GpuActivityKind::kKernel) continue;
    const int64_t length = row.span.length().ns / 1000;
    auto [entry, is_new] = kernels.try_emplace(row.name, std::array<int64_t, 4>{0, 0, 0, length});
    auto& [calls, sum, longest, shortest] = entry->second;
    ++calls;
    sum += length;
    longest = std::max(longest, length);
    shortest = std::min(shortest, length);
  }
  const json want = expected("kernel_table")["data"]["rows"];
  EXPECT_EQ(kernels.size(), want.size());
  for (const json& row : want) {  // name, tensor cores, calls, total, mean, max, min
    const auto& got = kernels[row[0].get<std::string>()];
    EXPECT_EQ(json(got), json({row[2], row[3], row[5], row[6]})) << row[0];
  }
}

// Times of an operator by its name, in ns.
struct Operator {
  int64_t calls = 0, device_self = 0, device_total = 0, host_self = 0, host_total = 0;
};

class OperatorSums {
 public:
  explicit OperatorSums(const std::vector<NamedActivity>& activities)
      : launched_(by_launch(activities)) {}

  // A range of one thread, in order.
  void add(const NamedRange& range) {
    while (!open_.empty() && open_.back().range->span.end <= range.span.begin) close();
    if (is_call(range)) {
      if (open_.empty()) return;
      open_.back().within += range.span.length().ns;
      const auto activity = launched_.find(range.row.correlation.value_or(-1));
      if (activity != launched_.end()) open_.back().device += activity->second->span.length().ns;
    } else if (is_operator(range)) {
      open_.push_back({&range});
    }
  }
  void end_thread() {
    while (!open_.empty()) close();
  }
  [[nodiscard]] const Operator& of(const std::string& name) { return sums_[name]; }

 private:
  struct Open {
    const NamedRange* range;
    int64_t within = 0;         // operators and calls in it
    int64_t device = 0;         // GPU rows launched in it directly
    int64_t device_within = 0;  // and by operators in it
  };

  void close() {
    const Open done = open_.back();
    open_.pop_back();
    if (!open_.empty() && open_.back().range->name == done.range->name) {
      open_.back().within += done.within;
      open_.back().device += done.device;
      open_.back().device_within += done.device_within;
      return;
    }
    std::string name = done.range->name;
    if (name.starts_with("struct ")) name.erase(0, 7);
    Operator& sum = sums_[name];
    const int64_t length = done.range->span.length().ns;
    ++sum.calls;
    sum.device_self += done.device;
    sum.device_total += done.device + done.device_within;
    sum.host_self += length - done.within;
    sum.host_total += length;
    if (open_.empty()) return;
    open_.back().within += length;
    open_.back().device_within += done.device + done.device_within;
  }

  std::unordered_map<int64_t, const NamedActivity*> launched_;
  std::vector<Open> open_;
  std::map<std::string, Operator> sums_;
};

TEST_P(Resnet50Test, Operators) {
  const Imported& imported = imported_once({GetParam().file});
  DPROF_SKIP_IF_ABSENT(imported);
  const schema::TraceReader trace = imported.trace(0);
  const auto activities = activities_of(trace);
  std::map<int64_t, std::vector<NamedRange>> threads;
  for (NamedRange& range : ranges_of(trace))
    threads[range.row.thread_id].push_back(std::move(range));
  OperatorSums sums(activities);
  for (const auto& [thread, ranges] : threads) {
    for (const NamedRange& range : ranges) sums.add(range);
    sums.end_thread();
  }
  const json want = expected("operation_table")["data"];
  ASSERT_GT(want.size(), 50U);
  for (const json& row : want) {
    const Operator& got = sums.of(row["name"].get<std::string>());
    const std::array<int64_t, 5> figures = {got.calls, got.device_self / 1000,
                                            got.device_total / 1000, got.host_self / 1000,
                                            got.host_total / 1000};
    EXPECT_EQ(json(figures),
              json({row["calls"], row["device_self_duration"], row["device_total_duration"],
                    row["host_self_duration"], row["host_total_duration"]}))
        << row["name"];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kineto, Resnet50Test,
    ::testing::Values(
        SpanCase{"resnet50_num_workers_0",
                 "resnet50_1gpu/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz"},
        SpanCase{"resnet50_num_workers_4",
                 "resnet50_1gpu/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace dprof::real_traces
