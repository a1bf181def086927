// SPDX-License-Identifier: Apache-2.0
// Gathers facts from a trace's rows while the digest reads them. Private to digest.cpp.
#pragma once

#include <map>
#include <string>

#include "analyzer/digest/facts_calls.h"
#include "analyzer/digest/facts_kernels.h"
#include "analyzer/digest/system.h"

namespace dprof::analyzer {

struct RankDigest;

// Cost    0.1 us per row of host_range (only rows with relevant names are examined), 0.3 us per row
//         of gpu_activity.
// Memory  24 bytes per kept call, 56 per batch; while reading, 8 bytes per launch and 24 per copy.
class FactsGatherer {
 public:
  FactsGatherer(const schema::TraceReader& reader, int64_t shift_ns, int64_t gpu_rows);

  void see(const schema::ThreadRow& row);
  void see(const schema::DeviceRow& row);
  void see(const schema::LoaderEventRow& row);
  void see(const schema::SystemSampleRow& row, SampleKind kind);
  void see(const schema::HostRangeRow& row) { calls_.see(row); }
  void see(const schema::GpuActivityRow& row) { kernels_.see(row); }
  // Calls of the host that can wait for the device.
  void see_device_waits(IntervalSet waits) { device_waits_ = std::move(waits); }
  // Between the last range and the first activity.
  void ranges_end() { kernels_.expect(calls_.bucket_launches()); }

  // After all rows; `digest` is the rest of the digest so far.
  Facts finish(const RankDigest& digest) &&;

 private:
  // First and last value of a counter.
  struct Counter {
    std::optional<int64_t> first;
    int64_t last = 0;

    void see(int64_t value) {
      if (!first) first = value;
      last = value;
    }
    [[nodiscard]] int64_t grown() const { return first ? std::max<int64_t>(0, last - *first) : 0; }
  };
  struct Power {
    std::vector<int64_t> values;
    int64_t limit = 0;
    std::string uuid;
  };

  void read_settings();
  void finish_threads(const RankDigest& digest);
  void finish_backward(const RankDigest& digest);

  const schema::TraceReader& reader_;
  const int64_t shift_ns_;
  Facts facts_;
  CallFacts calls_;
  KernelFacts kernels_;
  std::map<std::string, int32_t> shapes_;
  std::map<int64_t, ThreadFact> threads_;  // by kernel thread id
  std::map<int64_t, Counter> cpu_;
  std::map<int64_t, Counter> queued_;
  std::map<int64_t, Power> power_;  // by GPU
  IntervalSet device_waits_;
  std::vector<int64_t> load_;
  std::vector<int64_t> runnable_;
};

}  // namespace dprof::analyzer
