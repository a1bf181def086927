// SPDX-License-Identifier: Apache-2.0
// The facts from host_range: only rows with relevant names are examined. Private to facts_gatherer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "analyzer/digest/facts.h"
#include "analyzer/digest/facts_kernels.h"

namespace dprof::analyzer {

class CallFacts {
 public:
  CallFacts(const schema::TraceReader& reader, int64_t shift_ns, int64_t gpu_rows, Facts& facts);

  void see(const schema::HostRangeRow& row);
  // After all rows: correlations of the work that DDP's copies between gradients and buckets
  // launched.
  [[nodiscard]] std::unordered_set<int64_t> bucket_launches();
  // With the launched activities, and the host's optimizer phases.
  void finish(ActivitySample sample, const IntervalSet& optimizer);

 private:
  // The meaning of a name for the facts.
  struct Meaning {
    std::optional<CallKind> call;
    bool launch = false;            // of a kernel
    bool copy = false;              // launches a copy
    bool writes_parameter = false;  // an operator that writes a parameter, if within the optimizer
    bool recomputes = false;        // an autograd node that runs forward again
    bool single_process = false;    // a loader without workers
    bool workers = false;           // a loader with workers

    [[nodiscard]] bool matters() const {
      return call || launch || copy || writes_parameter || recomputes || single_process || workers;
    }
  };
  // The end of a call that launched something.
  struct LaunchEnd {
    int64_t correlation = 0;
    int64_t end_ns = 0;  // of the trace
    bool copy = false;
  };
  // A range or a call, while searching for DDP's copies.
  struct BucketPart {
    int64_t thread = 0;
    int64_t at_ns = 0;
    int64_t end_ns = 0;
    int64_t correlation = 0;

    [[nodiscard]] std::pair<int64_t, int64_t> place() const { return {thread, at_ns}; }
  };

  void learn_names(const std::vector<std::string>& strings);
  [[nodiscard]] bool has(CallKind kind) const;
  void see_launch(const Meaning& meaning, const schema::HostRangeRow& row);
  void compare(ActivitySample sample);

  const schema::TraceReader& reader_;
  const int64_t shift_ns_;
  const int64_t gpu_rows_;
  const int64_t mask_;  // of correlations, see sampling_mask
  Facts& facts_;
  std::vector<Meaning> meanings_;  // by name id
  bool counts_nodes_ = false;
  bool finds_bucket_copies_ = false;
  int64_t last_launch_ = 0;
  std::vector<TraceNs> launches_;
  std::vector<TraceNs> writes_;
  std::vector<LaunchEnd> launch_ends_;  // candidates for comparison, in the order of rows
  std::vector<BucketPart> bucket_ranges_;
  std::vector<BucketPart> bucket_calls_;
};

}  // namespace dprof::analyzer
