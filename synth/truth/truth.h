// SPDX-License-Identifier: Apache-2.0
// The truth about a generated run: everything that an analysis should find. Times are true time, ns
// since the job's begin, unless stated otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "synth/clocks/host_clock.h"
#include "synth/engine/trail.h"
#include "synth/engine/world.h"
#include "synth/faults/plan.h"

namespace dprof::synth {

// As in the report's breakdown (docs/analysis/breakdown.md).
enum class Category : uint8_t {
  kForward,
  kBackward,
  kOptimizer,
  kOtherCompute,
  kOverlapped,
  kExposedWait,
  kExposedTransfer,
  kCopy,
  kInputWait,
  kSyncBubble,
  kAllocator,
  kHost,
  kLaunch,
  kDependency,
  kIdle,
  kProfiler,
};
inline constexpr size_t kCategories = 16;
[[nodiscard]] std::string_view key_of(Category category);
using CategorySums = std::array<int64_t, kCategories>;

struct StepTruth {
  int64_t index = 0;
  int64_t begin = 0;  // of the host's step
  int64_t end = 0;
  int64_t window_begin = 0;  // in which the categories are counted: the device's on GPUs
  int64_t window_end = 0;
  CategorySums category_ns{};  // sums up to the window
};

struct RankTruth {
  int host = 0;
  std::vector<StepTruth> steps;  // complete steps
  Ending ending;
  bool has_trace = true;
  int64_t peak_allocated_bytes = 0;
  int64_t peak_reserved_bytes = 0;
};

struct MemberTruth {
  int rank = 0;
  int64_t start = 0;
  int64_t end = kNever;
  int64_t wait = 0;
};

struct CollectiveTruth {
  Instance instance;
  int64_t step = -1;                 // -1 = before the first
  std::vector<MemberTruth> members;  // empty in big runs
};

struct HostTruth {
  std::string name;
  std::string clock_id;
  HostClock clock;
  int64_t end = 0;  // of its recorder
};

struct FaultTruth {
  Fault fault;
  std::vector<int> ranks;          // on which it is; empty: none in particular
  std::optional<int64_t> cost_ns;  // per step, compared with a run without the fault
};

struct Truth {
  std::vector<HostTruth> hosts;
  std::vector<RankTruth> ranks;
  std::vector<Group> groups;
  std::vector<CollectiveTruth> collectives;  // by id; messages too
  std::vector<FaultTruth> faults;
  std::optional<std::string> hang;  // the template
  std::vector<int> culprits;        // of the hang
  int64_t rows = 0;                 // written
  int64_t step_ns = 0;              // mean period of the job's steps
  int64_t dropped_records = 0;
};

// One rank's steps by category, from its trail. Exact: each step's sums equal its window.
[[nodiscard]] std::vector<StepTruth> step_truth(const Trail& trail, bool gpu);

Status write_truth(const std::filesystem::path& file, const Spec& spec, const Truth& truth);

}  // namespace dprof::synth
