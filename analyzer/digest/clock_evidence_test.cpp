// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/clock_evidence.h"

#include <gtest/gtest.h>

#include "schema/trace_writer.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {
namespace {

using schema::ClockProbeRow;
using schema::ClockSampleRow;

constexpr int64_t kOrigin = 5'000'000'000'000;
constexpr int64_t kRealtime = 1'795'000'000'000'000'000;  // as in 2026

ClockSampleRow sample(int64_t raw_ns, int64_t width_ns) {
  return {.ticks = 1,
          .realtime_ns = kRealtime + raw_ns,
          .monotonic_raw_ns = raw_ns,
          .width_ns = width_ns,
          .device_id = std::nullopt,
          .device_ns = std::nullopt};
}

ClockProbeRow probe(int64_t send, int64_t there, int64_t reply, int64_t receive) {
  return {.peer = "other clock",
          .send_ns = send,
          .peer_receive_ns = there,
          .peer_reply_ns = reply,
          .receive_ns = receive};
}

TEST(ClockEvidence, ReadsSamplesPairsAndProbesAndCountsDamage) {
  const test_support::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "rank-00000.dprof";
  Result<std::unique_ptr<schema::TraceWriter>> writer = schema::TraceWriter::create(path);
  ASSERT_TRUE(writer.ok());
  (*writer)->set_meta("origin_monotonic_raw_ns", std::to_string(kOrigin));
  (*writer)->set_meta("ticks_per_second", "2000000000");
  ClockSampleRow device = sample(kOrigin + 2'000, 90);
  device.device_id = 1;
  device.device_ns = 77;
  ClockSampleRow damaged = sample(kOrigin + 3'000, 90);
  damaged.monotonic_raw_ns = INT64_MAX;
  int64_t id = 0;
  for (ClockSampleRow row :
       {sample(kOrigin, 120), device, sample(kOrigin + 1'000, 50), damaged, sample(0, -1)}) {
    row.id = ++id;
    ASSERT_TRUE((*writer)->append(row).ok());
  }
  for (ClockProbeRow row :
       {probe(500, 9'000, 9'010, 700), probe(100, 8'600, 8'610, 300), probe(100, 8'600, 8'500, 300),
        probe(300, 8'600, 8'610, 100), probe(INT64_MIN, 8'600, 8'610, 100)}) {
    row.id = ++id;
    ASSERT_TRUE((*writer)->append(row).ok());
  }
  ASSERT_TRUE((*writer)->finish().ok());

  const Result<schema::TraceReader> reader = schema::TraceReader::open(path);
  ASSERT_TRUE(reader.ok());
  const Result<ClockEvidence> evidence = read_clock_evidence(*reader, 10);
  ASSERT_TRUE(evidence.ok());
  EXPECT_EQ(evidence->damaged, 5);
  EXPECT_EQ(evidence->origin_raw_ns, kOrigin - 10);
  EXPECT_EQ(evidence->origin_width_ns, 120);
  EXPECT_EQ(evidence->ticks_per_second, 2e9);
  ASSERT_EQ(evidence->samples.size(), 2U);
  EXPECT_EQ(evidence->samples[1].at, TraceNs{1'010});
  ASSERT_EQ(evidence->devices.size(), 1U);
  EXPECT_EQ(evidence->devices[0].at, TraceNs{2'010});
  ASSERT_EQ(evidence->probes.size(), 2U);
  EXPECT_EQ(evidence->probes[0].send, TraceNs{110}) << "in order of time";
  EXPECT_EQ(evidence->probes[1].receive, TraceNs{710});
  EXPECT_EQ(evidence->peers, std::vector<std::string>{"other clock"});
}

}  // namespace
}  // namespace dprof::analyzer
