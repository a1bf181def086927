// SPDX-License-Identifier: Apache-2.0
// The written files say what happened.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "schema/trace_reader.h"
#include "synth/generate.h"
#include "synth/write/kineto.h"
#include "synth/write/trace_rows.h"

namespace dprof::synth {
namespace {

namespace fs = std::filesystem;
using schema::TraceReader;

class Written : public ::testing::Test {
 protected:
  Written() {
    std::string name = (fs::temp_directory_path() / "dprof-synth-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Written() override { fs::remove_all(folder_); }

  Truth make(const Spec& spec) {
    Result<Truth> truth = generate(spec, folder_ / "run");
    EXPECT_TRUE(truth.ok()) << (truth.ok() ? "" : truth.error().what);
    return truth.ok() ? *std::move(truth) : Truth();
  }
  [[nodiscard]] TraceReader open(int rank) const {
    Result<TraceReader> reader = TraceReader::open(folder_ / "run" / trace_file_name(rank));
    EXPECT_TRUE(reader.ok());
    return *std::move(reader);
  }
  template <typename Row>
  [[nodiscard]] std::vector<Row> rows(int rank) const {
    Result<std::vector<Row>> read = open(rank).read_all<Row>();
    EXPECT_TRUE(read.ok());
    return read.ok() ? *std::move(read) : std::vector<Row>();
  }

  fs::path folder_;
};

Spec small(Shape shape) {
  Spec spec;
  spec.ranks = 4;
  spec.hosts = 2;
  spec.steps = 8;
  spec.shape = shape;
  return spec;
}

TEST_F(Written, TimesAreThoseOfTheHostsClock) {
  Spec spec = small(Shape::kCpu);
  spec.clocks = {{.host = 1, .offset_ms = 3000, .ppm = 20}};
  const Truth truth = make(spec);
  const TraceReader reader = open(3);
  const HostClock& clock = truth.hosts[1].clock;
  EXPECT_EQ(reader.meta_int("origin_realtime_ns"), clock.origin_realtime());
  EXPECT_EQ(reader.meta_int("origin_monotonic_raw_ns"), clock.origin_raw());
  const auto steps = rows<schema::StepRow>(3);
  ASSERT_EQ(steps.size(), 8U);
  for (size_t s = 0; s < steps.size(); ++s) {
    EXPECT_EQ(steps[s].start_ns, clock.trace(truth.ranks[3].steps[s].begin));
    EXPECT_EQ(*steps[s].end_ns, clock.trace(truth.ranks[3].steps[s].end));
  }
  std::map<uint32_t, int64_t> ends;
  for (const auto& row : rows<schema::CollectiveRow>(3)) {
    EXPECT_EQ(row.state, schema::CollectiveState::kComplete);
    EXPECT_LE(*row.enqueue_ns, *row.start_ns);
    EXPECT_LT(*row.start_ns, *row.end_ns);
  }
}

TEST_F(Written, ProbesAreInOneTraceOfEachOtherHost) {
  const Truth truth = make(small(Shape::kCpu));
  EXPECT_TRUE(rows<schema::ClockProbeRow>(0).empty());
  EXPECT_TRUE(rows<schema::ClockProbeRow>(3).empty());
  const auto probes = rows<schema::ClockProbeRow>(2);
  ASSERT_GE(probes.size(), 8U);
  EXPECT_EQ(probes.front().peer, truth.hosts[0].clock_id);
  EXPECT_EQ(open(0).meta("clock_id"), truth.hosts[0].clock_id);
}

TEST_F(Written, KernelsJoinTheirLaunches) {
  make(small(Shape::kGpu));
  std::map<int64_t, schema::HostRangeRow> launches;
  for (const auto& row : rows<schema::HostRangeRow>(1)) {
    if (row.correlation) launches[*row.correlation] = row;
  }
  const auto activities = rows<schema::GpuActivityRow>(1);
  ASSERT_GT(activities.size(), 100U);
  std::map<int64_t, schema::GpuActivityRow> by_correlation;
  for (const auto& row : activities) {
    const auto launch = launches.find(*row.correlation);
    ASSERT_NE(launch, launches.end());
    EXPECT_EQ(launch->second.category, schema::RangeCategory::kApi);
    EXPECT_GE(row.start_ns, launch->second.start_ns);
    by_correlation[*row.correlation] = row;
  }
  for (const auto& row : rows<schema::CollectiveRow>(1)) {
    const auto kernel = by_correlation.find(*row.correlation);
    ASSERT_NE(kernel, by_correlation.end());
    EXPECT_EQ(kernel->second.start_ns, *row.start_ns);
    EXPECT_EQ(kernel->second.start_ns + *kernel->second.duration_ns, *row.end_ns);
    EXPECT_EQ(kernel->second.stream_id, *row.stream_id);
  }
  EXPECT_FALSE(rows<schema::GpuDependencyRow>(1).empty());
}

TEST_F(Written, AHangLeavesOpenRowsAndAKilledRankNone) {
  Spec spec = small(Shape::kCpu);
  spec.faults = {{.name = "hang-killed", .rank = 1}};
  const Truth truth = make(spec);
  EXPECT_EQ(open(1).meta("exit_status"), "signal:9");
  EXPECT_EQ(open(0).meta("exit_status"), "signal:15");
  const auto waiting = rows<schema::CollectiveRow>(0);
  EXPECT_EQ(waiting.end()[-4].state, schema::CollectiveState::kRunning);
  EXPECT_EQ(waiting.end()[-3].state, schema::CollectiveState::kEnqueued);
  EXPECT_EQ(rows<schema::CollectiveRow>(1).back().state, schema::CollectiveState::kComplete);
  const int64_t death = truth.hosts[0].clock.trace(truth.ranks[1].ending.at);
  for (const auto& row : rows<schema::HostRangeRow>(1)) {
    EXPECT_LT(row.start_ns, death);
    if (row.duration_ns) {
      EXPECT_LE(row.start_ns + *row.duration_ns, death);
    }
  }
}

TEST_F(Written, LossesAreCounted) {
  Spec spec = small(Shape::kCpu);
  spec.steps = 30;
  spec.faults = {{.name = "drop", .probability = 0.05}, {.name = "absent", .rank = 3}};
  const Truth truth = make(spec);
  EXPECT_FALSE(fs::exists(folder_ / "run" / trace_file_name(3)));
  int64_t lost = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const int64_t written = *open(rank).count("collective");
    int64_t dropped = 0;
    for (const auto& row : rows<schema::LossRow>(rank)) dropped += row.count;
    EXPECT_EQ(written + dropped, 1 + 30 * spec.buckets);
    lost += dropped;
  }
  EXPECT_EQ(truth.dropped_records, lost);
  EXPECT_GT(lost, 0);
}

TEST_F(Written, ATruncatedTraceEndsEarlyAndItsPeersDoNot) {
  Spec spec = small(Shape::kGpu);
  spec.faults = {{.name = "truncate", .rank = 1, .from = 5}};
  make(spec);
  EXPECT_EQ(open(1).meta("ended"), std::nullopt);
  EXPECT_EQ(rows<schema::StepRow>(1).size(), 6U);
  EXPECT_EQ(rows<schema::StepRow>(1).back().end_ns, std::nullopt);
  EXPECT_EQ(rows<schema::StepRow>(0).size(), 8U);
}

TEST_F(Written, TheTruthIsBesideTheRunAndWhole) {
  Spec spec = small(Shape::kCpu);
  spec.faults = {{.name = "sleep-forward", .rank = 2, .ms = 20.0}};
  const Truth truth = make(spec);
  std::ifstream file(folder_ / "run" / "truth.json");
  const auto json = nlohmann::json::parse(file, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["schema"], "dprof.truth/1");
  EXPECT_EQ(json["faults"][0]["rank"], 2);
  EXPECT_EQ(json["faults"][0]["cause"], "host");
  EXPECT_EQ(json["ranks"].size(), 4U);
  EXPECT_EQ(json["hosts"].size(), 2U);
  EXPECT_EQ(json["collectives"].size(), truth.collectives.size());
  int64_t sum = 0;
  for (const auto& [key, ns] : json["ranks"][1]["category_ns"].items()) sum += ns.get<int64_t>();
  EXPECT_EQ(sum, json["ranks"][1]["wall_ns"]);
  EXPECT_FALSE(generate(spec, folder_ / "run").ok()) << "it holds a run";
}

TEST_F(Written, KinetoFilesHaveTheSameKernelsAsTheTraces) {
  Spec spec = small(Shape::kGpu);
  std::vector<Trail> trails;
  ASSERT_TRUE(execute(spec, &trails).ok());
  spec.format = Format::kKineto;
  make(spec);
  std::ifstream file(folder_ / "run" / kineto_file_name(2));
  const auto json = nlohmann::json::parse(file, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["distributedInfo"]["rank"], 2);
  std::map<std::string, size_t> count;
  std::map<std::string, int64_t> flows;
  size_t collectives = 0;
  for (const auto& event : json["traceEvents"]) {
    ++count[event["cat"].get<std::string>()];
    if (event["cat"] == "ac2g") ++flows[event["ph"].get<std::string>()];
    if (event["cat"] == "kernel" && event["args"].contains("Collective name")) ++collectives;
  }
  EXPECT_EQ(count["kernel"] + count["gpu_memcpy"], trails[2].activities.size());
  EXPECT_EQ(collectives, trails[2].works.size());
  EXPECT_EQ(flows["s"], flows["f"]);
}

std::vector<schema::SystemSampleRow> samples_of(const TraceReader& reader, std::string_view kind,
                                                std::span<const schema::SystemSampleRow> rows) {
  std::vector<schema::SystemSampleRow> found;
  for (const schema::SystemSampleRow& row : rows) {
    if (reader.string(row.kind_id) == kind) found.push_back(row);
  }
  return found;
}

// As a recorder does: in the trace of its first rank, by NVML's index, found through the UUID.
TEST_F(Written, AHostsFirstTraceListsItsDevices) {
  Spec spec = small(Shape::kGpu);
  spec.steps = 30;
  spec.faults = {{.name = "gpu-throttle", .rank = 3}};
  make(spec);
  const TraceReader reader = open(2);
  const auto rows_of_host = rows<schema::SystemSampleRow>(2);
  const auto uuid = samples_of(reader, "gpu.uuid.GPU-00000003", rows_of_host);
  ASSERT_EQ(uuid.size(), 1U);
  EXPECT_EQ(uuid.front().value, 1);
  EXPECT_EQ(rows<schema::DeviceRow>(3).front().uuid, "GPU-00000003");
  for (const auto& row : samples_of(reader, "gpu.throttle_reasons_mask", rows_of_host))
    EXPECT_EQ(row.value != 0, row.subject == 1);
  EXPECT_TRUE(samples_of(open(3), "gpu.sm_clock_mhz", rows<schema::SystemSampleRow>(3)).empty());
}

TEST_F(Written, BatchesSayHowLargeTheyAre) {
  Spec spec = small(Shape::kCpu);
  spec.faults = {{.name = "input-imbalance", .rank = 1, .factor = 1.5, .from = 4}};
  make(spec);
  EXPECT_EQ(rows<schema::LoaderEventRow>(0).back().batch_shape, "32x3x224x224");
  EXPECT_EQ(rows<schema::LoaderEventRow>(1).front().batch_shape, "32x3x224x224");
  EXPECT_EQ(rows<schema::LoaderEventRow>(1).back().batch_shape, "48x3x224x224");
}

TEST_F(Written, SequencesSayHowLongTheyAre) {
  Spec spec = small(Shape::kCpu);
  spec.faults = {{.name = "long-sequences", .rank = 1, .factor = 1.5}};
  make(spec);
  EXPECT_EQ(rows<schema::LoaderEventRow>(0).back().batch_shape, "32x512");
  EXPECT_EQ(rows<schema::LoaderEventRow>(1).back().batch_shape, "32x768");
}

TEST_F(Written, AnOlderDeviceHasAnotherName) {
  Spec spec = small(Shape::kGpu);
  spec.faults = {{.name = "slow-device", .rank = 1}};
  make(spec);
  const auto name_on = [&](int rank) {
    return std::string(open(rank).string(*rows<schema::DeviceRow>(rank).front().name_id));
  };
  EXPECT_NE(name_on(1), name_on(0));
  EXPECT_EQ(name_on(2), name_on(0));
}

}  // namespace
}  // namespace dprof::synth
