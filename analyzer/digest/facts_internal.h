// SPDX-License-Identifier: Apache-2.0
// How facts are read, part by part; used by facts.cpp only.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "analyzer/digest/digest.h"

namespace dprof::analyzer::facts {

// Of some GPU activities: what the call that launched them is compared with.
struct Sampled {
  int64_t start_ns = 0;  // of the trace
  int64_t end_ns = 0;
  bool copy = false;
};
using Sample = std::unordered_map<int64_t, Sampled>;  // by correlation

// One reader of one trace; parts are read in this order.
class FactsReader {
 public:
  FactsReader(const TraceFile& trace, const schema::TraceReader& reader, const RankDigest& digest)
      : trace_(trace), reader_(reader), digest_(digest) {}

  Result<Facts> read();

 private:
  [[nodiscard]] TraceNs on_axis(int64_t time) const { return {time + trace_.shift_ns}; }

  Status read_settings();
  Status read_devices();
  Status read_batches();
  Status read_system();
  Status read_activities();
  Status read_calls();
  // Adds the activities that bear these correlations.
  Status sum_activities(const std::unordered_set<int64_t>& correlations, KernelSum& sum);
  Status count_nodes();  // of autograd
  void read_backward();

  const TraceFile& trace_;
  const schema::TraceReader& reader_;
  const RankDigest& digest_;
  Facts facts_;
  Sample sample_;
};

}  // namespace dprof::analyzer::facts
