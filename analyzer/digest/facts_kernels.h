// SPDX-License-Identifier: Apache-2.0
// The facts from gpu_activity. Private to facts_gatherer.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyzer/digest/facts.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {

// Some GPU activities, to compare with the calls that launched them.
struct SampledActivity {
  int64_t start_ns = 0;  // of the trace
  int64_t end_ns = 0;
  bool copy = false;
};
using ActivitySample = std::unordered_map<int64_t, SampledActivity>;  // by correlation

// A power of two minus one: kernels whose correlation has these bits clear are sampled.
[[nodiscard]] int64_t sampling_mask(int64_t gpu_rows);

class KernelFacts {
 public:
  KernelFacts(const schema::TraceReader& reader, int64_t shift_ns, int64_t gpu_rows, Facts& facts)
      : reader_(reader), shift_ns_(shift_ns), mask_(sampling_mask(gpu_rows)), facts_(facts) {}

  // Activities with these correlations are summed as copies between gradients and buckets.
  void expect(std::unordered_set<int64_t> bucket_launches) {
    bucket_launches_ = std::move(bucket_launches);
  }
  void see(const schema::GpuActivityRow& row);
  // After all rows.
  ActivitySample finish() &&;

 private:
  KernelFact& fact_of(int64_t name_id);

  const schema::TraceReader& reader_;
  const int64_t shift_ns_;
  const int64_t mask_;
  Facts& facts_;
  std::unordered_set<int64_t> bucket_launches_;
  std::vector<KernelFact> by_name_;                     // by name id; count 0 = not seen
  std::vector<std::pair<int64_t, int64_t>> on_device_;  // number, kernels
  ActivitySample sample_;
};

}  // namespace dprof::analyzer
