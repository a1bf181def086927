// SPDX-License-Identifier: Apache-2.0
// Facts that distinguish causes: the machine of each rank, its batches, and what its training
// thread waited for.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/breakdown/lattice.h"
#include "analyzer/digest/digest.h"
#include "analyzer/run/run.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

// Samples of the training thread's state within its host time outside every range, in steady steps.
struct Looks {
  using ByWait = std::array<double, schema::kThreadWaits>;
  ByWait counts{};
  // Samples within one step see the same wait: together they are one observation, so that a step
  // with a long pause counts no more than any other.
  ByWait observations{};
};

struct Machine {
  std::string host;                    // its clock: ranks with the same one share a node
  std::string model;                   // of its device; "" = unknown
  std::optional<double> sm_clock_mhz;  // of that device
  std::optional<double> memory_clock_mhz;
  std::optional<double> throttled;  // share of the samples
  int64_t throttle_reasons = 0;
  int64_t ecc_errors = 0;  // new ones
  // Mean length of memory-bound kernels, and of matrix products.
  std::optional<double> memory_kernel_ns;
  std::optional<double> matrix_kernel_ns;
  std::optional<double> batch_elements;     // mean over the batches of steady steps
  bool batch_elements_are_samples = false;  // their number only: no shape is known
  std::optional<double> cpu_per_step_ns;    // CPU time of the training thread
  // Of the whole process: CPU time within the kernel, and page faults.
  std::optional<double> kernel_cpu_per_step_ns;
  std::optional<double> faults_per_step;
  double kernels_per_step = 0;  // or autograd operators if there are none
  Looks looks;
};

// One per rank of `steps`. `traces` and `pieces` (the lattices) by position of the digests; traces
// may be empty in tests. O(looks * log(pieces)).
std::vector<Machine> machines_of(std::span<const RankDigest> digests,
                                 std::span<const TraceFile> traces, const Steps& steps,
                                 std::span<const Lattice> pieces);

// Of one rank, the entry `rank` of `steps`.
[[nodiscard]] Looks looks_of(std::span<const WaitSample> samples, const Steps& steps, size_t rank,
                             const Lattice& pieces);

// CPU time within the span, from the samples nearest to its ends. nullopt = they cover too little
// of it.
[[nodiscard]] std::optional<double> cpu_in(std::span<const CounterSample> samples, Interval span);

// Elements of a batch of the shape "32x3x224x224" (docs/payloads.md). nullopt = not of this form.
[[nodiscard]] std::optional<double> elements_of(std::string_view shape);

}  // namespace dprof::analyzer
