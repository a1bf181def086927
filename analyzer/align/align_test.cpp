// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/align.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/align/device_clock.h"
#include "analyzer/align/test_support/synthetic_clock.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
using ::testing::Contains;
using ::testing::Field;
using ::testing::IsEmpty;

const ClockShape kReference{.offset_ns = 0, .drift = 0};

// A job with known truth: ranks on hosts with their own clocks, which meet in all-reduces.
struct Job {
  std::vector<ClockShape> hosts = {kReference, {.offset_ns = 3e6}};
  size_t ranks_per_host = 2;
  double seconds = 40;
  double meetings_per_second = 20;
  double transfer_ns = 500e3;
  double spread_ns = 10e3;  // of the ends
  std::optional<NetworkShape> network = kBusy;
  bool probed_by_reference = false;  // which side has the rows
  uint64_t seed = 1;

  std::vector<TraceFile> traces{};
  std::vector<RankDigest> digests{};
  std::vector<std::vector<double>> starts{};  // the truth, by digest and record

  [[nodiscard]] int64_t origin(size_t host) const {
    return static_cast<int64_t>(host + 1) * 1'000'000'000'000;
  }
  [[nodiscard]] TraceNs on(size_t host, double ref_ns) const {
    return {std::llround(ref_ns + hosts[host].offset(ref_ns))};
  }

  void make() {
    const size_t ranks = hosts.size() * ranks_per_host;
    for (size_t r = 0; r < ranks; ++r) {
      const size_t host = r / ranks_per_host;
      TraceFile trace;
      trace.rank = static_cast<int>(r);
      trace.host = "host" + std::to_string(host);
      trace.clock_id = "clock" + std::to_string(host);
      traces.push_back(trace);
      RankDigest digest;
      digest.rank = trace.rank;
      digest.span = {on(host, 0), on(host, seconds * 1e9)};
      digest.clock.origin_raw_ns = origin(host);
      CommunicatorInfo all{.hash = 1,
                           .name = "world",
                           .size = static_cast<int64_t>(ranks),
                           .members = {},
                           .own_number = static_cast<int64_t>(r)};
      std::vector<int> members;
      for (size_t m = 0; m < ranks; ++m) members.push_back(static_cast<int>(m));
      all.members = std::move(members);
      digest.communicators.push_back(std::move(all));
      digests.push_back(std::move(digest));
    }
    starts.resize(ranks);
    add_meetings();
    for (size_t host = 1; network && host < hosts.size(); ++host) add_probes(host);
  }

  void add_meetings() {
    std::mt19937_64 random(seed + 100);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    std::vector<double> late;  // of each rank's completion
    for (size_t r = 0; r < digests.size(); ++r) late.push_back(uniform(random) * spread_ns);
    const auto count = static_cast<int64_t>(seconds * meetings_per_second);
    for (int64_t k = 0; k < count; ++k) {
      const double begin = (static_cast<double>(k) + 0.3) * 1e9 / meetings_per_second;
      std::vector<double> arrivals;
      for (size_t r = 0; r < digests.size(); ++r)
        arrivals.push_back(begin + std::abs(normal(random)) * 300e3);
      const double end =
          std::ranges::max(arrivals) + transfer_ns * (1 + 0.1 * std::abs(normal(random)));
      for (size_t r = 0; r < digests.size(); ++r) {
        const size_t host = r / ranks_per_host;
        CollectiveRecord record;
        record.row = k + 1;
        record.function = Function::kAllReduce;
        record.sequence = k;
        record.group_sequence = k;
        record.bytes = 1'000'000;
        record.enqueue = record.start = on(host, arrivals[r]);
        record.end = on(host, end + late[r] + std::abs(normal(random)) * 2e3);
        record.state = schema::CollectiveState::kComplete;
        digests[r].collectives.push_back(record);
        starts[r].push_back(arrivals[r]);
      }
    }
  }

  // Puts them in the trace of the host's last rank, not the first.
  void add_probes(size_t host) {
    const size_t asking = probed_by_reference ? 0 : host;
    const size_t asked = probed_by_reference ? host : 0;
    ClockEvidence& evidence = digests[(asking + 1) * ranks_per_host - 1].clock;
    const auto peer = static_cast<int32_t>(evidence.peers.size());
    evidence.peers.push_back(traces[asked * ranks_per_host].clock_id);
    probe(hosts[asking], *network, seconds, seed + host, [&](const ProbeTimes& p) {
      evidence.probes.push_back({peer,
                                 {p.send},
                                 on(asked, static_cast<double>(p.peer_receive)).ns + origin(asked),
                                 on(asked, static_cast<double>(p.peer_reply)).ns + origin(asked),
                                 {p.receive}});
    });
  }

  // Shifts all times of that host.
  void move(size_t host, int64_t more) {
    for (size_t d = 0; d < digests.size(); ++d) {
      if (d / ranks_per_host != host) continue;
      RankDigest& digest = digests[d];
      const ClockMap map({{.local = {0}, .offset_ns = -more, .bound_ns = 0}});
      Alignment by;
      by.maps = {map};
      put_on_axis(by, std::span(&digest, 1));
      for (ClockProbe& probe : digest.clock.probes) {
        probe.send.ns += more;
        probe.receive.ns += more;
      }
      *digest.clock.origin_raw_ns -= more;
    }
  }

  [[nodiscard]] Alignment align() const {
    return align_clocks(traces, digests, match_collectives(digests));
  }
};

struct Misses {
  std::vector<double> errors;
  int64_t not_covered = 0;
};

// Puts the digests on the axis and compares each start with the truth.
Misses misses_of(Job& job, const Alignment& alignment) {
  Misses misses;
  std::vector<RankDigest> moved = job.digests;
  put_on_axis(alignment, moved);
  for (size_t d = 0; d < moved.size(); ++d) {
    for (size_t i = 0; i < moved[d].collectives.size(); ++i) {
      const TraceNs start = *moved[d].collectives[i].start;
      const double error = std::abs(static_cast<double>(start.ns) - job.starts[d][i]);
      misses.errors.push_back(error);
      const auto bound = alignment.bound_between(d, start, 0, start);
      EXPECT_TRUE(bound);
      misses.not_covered += error > static_cast<double>(*bound) + 2 ? 1 : 0;
    }
  }
  return misses;
}

const std::vector<ClockShape> kThree = {
    kReference,
    {.offset_ns = 1e10, .drift = 50e-6, .wander = 0.3e-6},
    {.offset_ns = -1e10, .drift = -50e-6, .wander = 0.3e-6},
};

TEST(Align, ProbesOnABusyNetwork) {
  for (const bool by_reference : {false, true}) {
    Job job{.hosts = kThree, .probed_by_reference = by_reference};
    job.make();
    const Alignment alignment = job.align();
    EXPECT_TRUE(alignment.aligned);
    EXPECT_THAT(alignment.diagnostics, IsEmpty());
    ASSERT_EQ(alignment.clock.hosts.size(), 3U);
    EXPECT_EQ(alignment.clock.reference, "host0");
    EXPECT_EQ(alignment.clock.hosts[0].method, "same clock");
    EXPECT_EQ(alignment.clock.hosts[0].bound_ns, 0);
    for (size_t h = 1; h < 3; ++h) {
      const HostClock& host = alignment.clock.hosts[h];
      EXPECT_EQ(host.method, "probes");
      EXPECT_EQ(host.probes, 320);
      EXPECT_NEAR(static_cast<double>(host.drift_ppb), kThree[h].drift * 1e9, 500);
      EXPECT_NEAR(static_cast<double>(host.offset_ns), kThree[h].offset(20e9),
                  static_cast<double>(*host.bound_ns) + kThree[h].drift * kThree[h].offset_ns);
    }
    EXPECT_EQ(alignment.clock.violations, 0);
    EXPECT_EQ(alignment.clock.checked, 800);
    const Misses misses = misses_of(job, alignment);
    EXPECT_EQ(misses.not_covered, 0);
    EXPECT_LE(quantile(misses.errors, 0.99), 20e3);
  }
}

TEST(Align, CollectivesWhereThereAreNoProbes) {
  Job job{.hosts = kThree, .network = std::nullopt};
  job.make();
  const Alignment alignment = job.align();
  EXPECT_TRUE(alignment.aligned);
  EXPECT_EQ(alignment.clock.hosts[1].method, "collectives");
  EXPECT_LT(alignment.clock.hosts[1].bound_ns.value(), 700'000);
  EXPECT_LT(alignment.clock.hosts[1].likely_ns.value(), 10'000);
  EXPECT_NEAR(static_cast<double>(alignment.clock.hosts[1].drift_ppb), 50'000, 2'000);
  EXPECT_EQ(alignment.clock.violations, 0);
  const Misses misses = misses_of(job, alignment);
  EXPECT_EQ(misses.not_covered, 0);
  EXPECT_LE(quantile(misses.errors, 0.99), 20e3);
}

TEST(Align, AStepOfTheClockIsFoundByCollectivesToo) {
  for (const bool probes : {false, true}) {
    Job job{.hosts = {kReference, {.step_at_s = 20.02, .step_ns = 50e6}}};
    if (!probes) job.network.reset();
    job.make();
    const Alignment alignment = job.align();
    EXPECT_EQ(alignment.clock.hosts[1].resets, 1);
    EXPECT_THAT(alignment.diagnostics, Contains(Field(&Diagnostic::code, "clock_reset")));
    const Misses misses = misses_of(job, alignment);
    EXPECT_EQ(misses.not_covered, 0);
    EXPECT_LE(quantile(misses.errors, 0.95), 20e3);
  }
}

TEST(Align, ShortCollectivesNarrowPoorProbes) {
  Job job{.transfer_ns = 50e3, .network = NetworkShape{.one_way_ns = 1e6}};
  job.make();
  const Alignment alignment = job.align();
  EXPECT_EQ(alignment.clock.hosts[1].method, "probes and collectives");
  const Misses misses = misses_of(job, alignment);
  EXPECT_EQ(misses.not_covered, 0);
  job.digests[0].collectives = {};
  EXPECT_GT(*job.align().clock.hosts[1].bound_ns, 900'000);
  const TraceNs middle{20'000'000'000};
  EXPECT_LT(*alignment.bound_between(0, middle, 2, middle), 800'000);
}

TEST(Align, NothingInCommonIsSaid) {
  Job job{.network = std::nullopt};
  job.make();
  for (RankDigest& digest : job.digests) digest.collectives = {};
  const Alignment alignment = job.align();
  EXPECT_FALSE(alignment.aligned);
  EXPECT_EQ(alignment.clock.hosts[1].method, "none");
  EXPECT_FALSE(alignment.clock.hosts[1].bound_ns);
  EXPECT_FALSE(alignment.bound_between(0, {0}, 2, {0}));
  EXPECT_EQ(alignment.bound_between(2, {0}, 3, {0}), 0) << "they share a clock all the same";
  EXPECT_THAT(alignment.diagnostics, Contains(Field(&Diagnostic::code, "unaligned_clocks")));
}

TEST(Align, AConstantAddedToAHostChangesItsOffsetOnly) {
  for (const bool probes : {true, false}) {
    Job job{.hosts = kThree, .seconds = 15};
    if (!probes) job.network.reset();
    job.make();
    Job moved = job;
    constexpr int64_t kMore = 4'321'987'654'321;
    moved.move(1, kMore);
    const Alignment one = job.align();
    const Alignment other = moved.align();
    for (size_t h = 0; h < 3; ++h) {
      const HostClock& a = one.clock.hosts[h];
      const HostClock& b = other.clock.hosts[h];
      EXPECT_EQ(a.offset_ns + (h == 1 ? kMore : 0), b.offset_ns);
      EXPECT_EQ(a.bound_ns, b.bound_ns);
      EXPECT_EQ(a.drift_ppb, b.drift_ppb);
      EXPECT_EQ(a.likely_ns, b.likely_ns);
      EXPECT_EQ(a.method, b.method);
    }
    put_on_axis(one, job.digests);
    put_on_axis(other, moved.digests);
    for (size_t d = 0; d < job.digests.size(); ++d) {
      EXPECT_EQ(job.digests[d].span, moved.digests[d].span);
      for (size_t i = 0; i < job.digests[d].collectives.size(); ++i)
        ASSERT_EQ(job.digests[d].collectives[i].start, moved.digests[d].collectives[i].start);
    }
  }
}

TEST(Align, CollectivesThatCannotBeAreCounted) {
  Job job;
  job.make();
  for (const size_t i : {10, 20}) {
    CollectiveRecords::Edited record = job.digests[3].collectives.edit(i);
    record.end = record.start = *record.start + DurationNs{-30'000'000};
  }
  const Alignment alignment = job.align();
  EXPECT_EQ(alignment.clock.violations, 2);
  EXPECT_THAT(alignment.diagnostics, Contains(Field(&Diagnostic::code, "clock_violations")));
}

TEST(Align, ClocksOfOneHostNameAreDistinguished) {
  Job job;
  job.make();
  for (TraceFile& trace : job.traces) trace.host = "node";
  const Alignment alignment = job.align();
  ASSERT_EQ(alignment.clock.hosts.size(), 2U);
  EXPECT_EQ(alignment.clock.hosts[0].host, "node");
  EXPECT_EQ(alignment.clock.hosts[1].host, "node (2)");
}

TEST(Align, TracesThatAreNotAnalysedTellOfTheirClocks) {
  Job job;
  job.make();
  const std::vector<ClockWitness> witnesses = {{"clock1", std::move(job.digests[3].clock)}};
  job.traces.pop_back();
  job.digests.pop_back();
  const Alignment alignment =
      align_clocks(job.traces, job.digests, match_collectives(job.digests), witnesses);
  EXPECT_EQ(alignment.clock.hosts[1].method, "probes");
}

TEST(Align, AHostWithoutTracesStillJoinsThoseThatProbedIt) {
  Job job{.hosts = kThree};
  job.make();
  // Both probed host 0, which was the recorders' reference; its traces are lost.
  job.traces.erase(job.traces.begin(), job.traces.begin() + 2);
  job.digests.erase(job.digests.begin(), job.digests.begin() + 2);
  for (RankDigest& digest : job.digests) digest.collectives = {};
  const Alignment alignment = job.align();
  ASSERT_EQ(alignment.clock.hosts.size(), 2U);
  EXPECT_EQ(alignment.clock.reference, "host1");
  EXPECT_EQ(alignment.clock.hosts[1].method, "probes");
  EXPECT_NEAR(static_cast<double>(alignment.clock.hosts[1].drift_ppb), -100'000, 1'000);
}

TEST(Align, RecordersOfOneHostAreTiedByTheirReadings) {
  Job job{.hosts = {kReference}, .network = std::nullopt};
  job.make();
  job.traces[1].shift_ns = 5'000;
  job.digests[0].clock.origin_width_ns = 400;
  job.digests[1].clock.origin_width_ns = 600;
  const Alignment alignment = job.align();
  EXPECT_EQ(alignment.bound_between(0, {0}, 1, {0}), 502);
  EXPECT_EQ(alignment.bound_between(0, {0}, 0, {9}), 0);
  EXPECT_TRUE(alignment.maps[1].is_identity());
}

TEST(PutOnAxis, MovesEveryTimeAndKeepsSetsCanonical) {
  RankDigest digest;
  digest.span = {{0}, {1'000}};
  digest.last_sign = {1'000};
  digest.phases = {{{{10}, {20}}, schema::Marker::kForward, 1}};
  digest.steps = {{0, {{0}, {500}}}, {1, {{500}, {1'000}}}};
  digest.collectives.push_back({});
  digest.collectives.edit(0).ready = TraceNs{30};
  // The clock runs twice too fast: neighbours a nanosecond apart become equal.
  for (int64_t t = 0; t < 1'000; t += 2) digest.ops.push_back({{t}, {t + 1}});
  Alignment alignment;
  alignment.maps = {ClockMap({{{0}, 100, 1}, {{1'000}, 600, 1}})};
  put_on_axis(alignment, std::span(&digest, 1));
  EXPECT_EQ(digest.span, (Interval{{-100}, {400}}));
  EXPECT_EQ(digest.last_sign, TraceNs{400});
  EXPECT_EQ(digest.phases[0].span, (Interval{{-95}, {-90}}));
  EXPECT_EQ(digest.steps[0].window.end, digest.steps[1].window.begin);
  EXPECT_EQ(digest.collectives[0].ready, TraceNs{-85});
  for (size_t i = 0; i < digest.ops.size(); ++i) {
    EXPECT_FALSE(digest.ops[i].empty());
    if (i == 0) continue;
    EXPECT_LT(digest.ops[i - 1].end, digest.ops[i].begin);
  }
}

TEST(DeviceClocks, ResidualAndKernelsBeforeTheirLaunch) {
  RankDigest digest;
  for (int64_t i = 0; i < 20; ++i) {
    const TraceNs at{i * kNsPerSecond};
    digest.clock.devices.push_back({0, at, at.ns + 777 + i * 3'000, 200});
    // The second device's clock runs backwards and forwards.
    digest.clock.devices.push_back({1, at, at.ns + (i % 2) * 40'000, 200});
  }
  std::ranges::stable_sort(digest.clock.devices, {}, &DevicePair::device);
  digest.gpu.devices.resize(2);
  digest.gpu.devices[1].device = 2;
  digest.gpu.devices[1].linked = 1'000;
  digest.gpu.devices[1].before_launch = 2;
  const std::vector<DeviceClock> clocks = device_clocks(std::span(&digest, 1));
  ASSERT_EQ(clocks.size(), 3U);
  EXPECT_TRUE(clocks[0].reliable);
  EXPECT_LT(clocks[0].residual_ns.value(), 100);
  EXPECT_FALSE(clocks[1].reliable);
  EXPECT_GT(clocks[1].residual_ns.value(), 5'000);
  EXPECT_FALSE(clocks[2].reliable);
  EXPECT_EQ(clocks[2].before_launch, 2);
}

}  // namespace
}  // namespace dprof::analyzer
