// SPDX-License-Identifier: Apache-2.0
// What the simulation of a run and the writer of its traces must agree on.
#pragma once

#include "tests/support/run_builder.h"

namespace dprof::test_support {

inline constexpr int64_t kStartupTransferNs = 4'000'000;
inline constexpr int64_t kEnqueueNs =
    20'000;  // a c10d::allreduce_ call, in which the bucket is only enqueued
inline constexpr int64_t kFinalizeNs = 50'000;  // copying the buckets back, at the end of backward

struct DelayParts {
  int64_t op_ns = 0;
  int64_t host_ns = 0;

  [[nodiscard]] int64_t total_ns() const { return op_ns + host_ns; }
};

// What all delays of `spec` add to one phase of one step.
[[nodiscard]] DelayParts delay_of(const RunSpec& spec, int rank, int64_t step, Phase phase);

}  // namespace dprof::test_support
