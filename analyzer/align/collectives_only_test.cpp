// SPDX-License-Identifier: Apache-2.0
// Clocks of 2 to 128 hosts without probes: the only evidence is the ends of their collectives
// (docs/analysis/clocks.md has the figures).
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analyzer/align/align.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kRanksPerHost = 8;

struct Network {
  size_t hosts;
  double spread_ns;  // of the ends
};
void PrintTo(const Network& one, std::ostream* out) {
  *out << one.hosts << " hosts, ends within " << one.spread_ns / 1e3 << " us";
}

// A job that meets 20 times a second; clocks differ by 3 ms or so and drift by up to 5 ppm.
class CollectivesJob {
 public:
  CollectivesJob(const Network& network, int64_t meetings, uint64_t seed) : random_(seed) {
    for (size_t h = 0; h < network.hosts; ++h) {
      offsets_.push_back(h == 0 ? 0 : normal_(random_) * 3e6);
      drifts_.push_back(h == 0 ? 0 : (uniform_(random_) - 0.5) * 10e-6);
    }
    const size_t ranks = network.hosts * kRanksPerHost;
    for (size_t r = 0; r < ranks; ++r) {
      add_rank(r, ranks, static_cast<double>(meetings) * 50e6);
      late_.push_back(uniform_(random_) * network.spread_ns);
    }
    for (int64_t k = 0; k < meetings; ++k) meet(k);
  }

  std::vector<TraceFile> traces;
  std::vector<RankDigest> digests;

  [[nodiscard]] TraceNs on(size_t host, double ref_ns) const {
    return {std::llround(ref_ns + offsets_[host] + drifts_[host] * ref_ns)};
  }

 private:
  void add_rank(size_t r, size_t ranks, double length_ns) {
    const size_t host = r / kRanksPerHost;
    TraceFile trace;
    trace.rank = static_cast<int>(r);
    trace.host = "host" + std::to_string(host);
    trace.clock_id = "clock" + std::to_string(host);
    traces.push_back(trace);
    RankDigest digest;
    digest.rank = trace.rank;
    digest.span = {on(host, 0), on(host, length_ns)};
    digest.clock.origin_raw_ns = static_cast<int64_t>(host + 1) * 1'000'000'000'000;
    digest.communicators.push_back({.hash = 1,
                                    .name = "world",
                                    .size = static_cast<int64_t>(ranks),
                                    .members = {},
                                    .own_number = static_cast<int64_t>(r)});
    digests.push_back(std::move(digest));
  }

  void meet(int64_t k) {
    const double begin = (static_cast<double>(k) + 0.3) * 50e6;
    std::vector<double> arrivals;
    for (size_t r = 0; r < digests.size(); ++r) {
      const double spike = uniform_(random_) < 0.02 ? 3e6 : 0;
      arrivals.push_back(begin + std::abs(normal_(random_)) * 300e3 + spike);
    }
    const double end = std::ranges::max(arrivals) + 500e3 * (1 + 0.1 * normal_(random_));
    for (size_t r = 0; r < digests.size(); ++r) {
      const double tail = uniform_(random_) < 0.05 ? 20e3 * uniform_(random_) : 0;
      const size_t host = r / kRanksPerHost;
      CollectiveRecord record;
      record.row = k + 1;
      record.function = schema::Function::kAllReduce;
      record.sequence = k;
      record.group_sequence = k;
      record.bytes = 1'000'000;
      record.enqueue = record.start = on(host, arrivals[r]);
      record.end = on(host, end + late_[r] + std::abs(normal_(random_)) * 2e3 + tail);
      record.state = schema::CollectiveState::kComplete;
      digests[r].collectives.push_back(record);
    }
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::vector<double> offsets_, drifts_;
  std::vector<double> late_;  // of each rank's ends
};

class CollectivesOnlyTest : public ::testing::TestWithParam<Network> {};

TEST_P(CollectivesOnlyTest, ErrorsAreSmallAndBoundsCoverThem) {
  const Network network = GetParam();
  const int64_t meetings = network.hosts > 16 ? 60 : 200;
  const CollectivesJob job(network, meetings, 7 + network.hosts);
  const Alignment alignment = align_clocks(job.traces, job.digests, match_collectives(job.digests));
  ASSERT_TRUE(alignment.aligned);
  EXPECT_EQ(alignment.clock.violations, 0);
  ASSERT_EQ(alignment.clock.hosts.size(), network.hosts);
  for (size_t h = 1; h < network.hosts; ++h)
    EXPECT_EQ(alignment.clock.hosts[h].method, "collectives");
  std::vector<double> errors;
  int64_t not_covered = 0;
  for (size_t host = 1; host < network.hosts; ++host) {
    for (int64_t k = 0; k <= 40; ++k) {
      const double moment = static_cast<double>(k * meetings) / 40 * 50e6;
      const size_t digest = host * kRanksPerHost;
      const TraceNs local = job.on(host, moment);
      const TraceNs found = alignment.maps[digest].to_axis(local);
      errors.push_back(std::abs(static_cast<double>(found.ns) - moment));
      const auto bound = alignment.bound_between(digest, found, 0, {std::llround(moment)});
      ASSERT_TRUE(bound);
      not_covered += errors.back() > static_cast<double>(*bound) + 2 ? 1 : 0;
    }
  }
  EXPECT_LE(not_covered * 100, static_cast<int64_t>(errors.size()));
  RecordProperty("median_ns", static_cast<int>(median(errors)));
  RecordProperty("p99_ns", static_cast<int>(quantile(errors, 0.99)));
  // Two hosts: the error is that of one draw of how late each one's ranks are.
  EXPECT_LE(median(errors), 2e3 + (network.hosts == 2 ? 0.25 : 0.1) * network.spread_ns);
  EXPECT_LE(quantile(errors, 0.99), 5e3 + 0.5 * network.spread_ns);
}

INSTANTIATE_TEST_SUITE_P(Networks, CollectivesOnlyTest,
                         ::testing::Values(Network{2, 2e3}, Network{2, 10e3}, Network{2, 40e3},
                                           Network{8, 10e3}, Network{32, 2e3}, Network{32, 40e3},
                                           Network{128, 2e3}, Network{128, 10e3},
                                           Network{128, 40e3}));

}  // namespace
}  // namespace dprof::analyzer
