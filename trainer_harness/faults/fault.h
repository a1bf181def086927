// SPDX-License-Identifier: Apache-2.0
// Delays that are put into a run on purpose, so that what a profiler says can be checked against
// what was done.
//
// A fault is written `KIND:key=value,...`, as in `loader:rank=1,ms=12` or
// `compute:rank=0,ms=5,every=10,mode=busy`.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "trainer_harness/settings/usage_error.h"

namespace dprof::trainer_harness {

// Where in a step the delay is put.
enum class FaultKind : uint8_t {
  kCompute,   // in forward
  kLoader,    // while a batch is fetched
  kBackward,  // in a gradient hook: the other ranks wait within *their* backward, so phase times do
              // not show it
};

struct Fault {
  FaultKind kind = FaultKind::kCompute;
  int rank = 0;
  double ms = 0;
  int64_t from = 0;  // steps [from, to), every `every`th of them
  int64_t to = std::numeric_limits<int64_t>::max();
  int64_t every = 1;
  bool busy = false;  // keeps its core busy; else it sleeps
};

// Throws UsageError.
[[nodiscard]] Fault parse_fault(std::string_view text);

[[nodiscard]] std::string_view fault_kind_name(FaultKind kind);

// "compute, loader, backward": for help and hints.
[[nodiscard]] std::string fault_kind_names();

// Whether this fault acts on `rank` in `step` at a place of `kind`.
[[nodiscard]] bool strikes(const Fault& fault, FaultKind kind, int rank, int64_t step);

// Holds the calling thread for fault.ms, asleep or busy.
void suffer(const Fault& fault);

}  // namespace dprof::trainer_harness
