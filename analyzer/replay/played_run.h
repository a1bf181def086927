// SPDX-License-Identifier: Apache-2.0
// A run in the form that questions change: segments or operations as work of ranks, transfers
// between them, and their dependencies.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/breakdown/link_fit.h"
#include "analyzer/replay/replay.h"
#include "analyzer/run/run.h"
#include "base/compact_optional.h"

namespace dprof::analyzer {

// The kind of a piece of work.
struct WorkKind {
  Category category{};
  Category phase{};  // of computation that overlaps a collective; of a checkpoint's copies kHost
  HostDetail detail{};
  std::string name;  // "forward", "host.gc"

  [[nodiscard]] bool computes() const {
    return category <= Category::kOtherCompute || category == Category::kOverlapped;
  }
  [[nodiscard]] Category phase_of() const {
    return category == Category::kOverlapped ? phase : category;
  }
  [[nodiscard]] bool is_of_checkpoint() const {
    return detail == HostDetail::kCheckpoint ||
           (category == Category::kCopy && phase == Category::kHost);
  }
  // The device waits for the host's next launch.
  [[nodiscard]] bool waits_for_launch() const {
    return category == Category::kLaunch ||
           (category == Category::kIdle && detail != HostDetail::kLost) ||
           (category == Category::kHost && detail == HostDetail::kUnattributed);
  }
  // Likewise, while its host runs what a graph would have captured: Python and operators of
  // forward, backward and optimizer.
  [[nodiscard]] bool is_capturable() const {
    return waits_for_launch() ||
           (category == Category::kHost &&
            (detail == HostDetail::kRange || detail == HostDetail::kOptimizer ||
             detail == HostDetail::kPreempted));
  }
};

// A device needs this long from one kernel's end to the next one's begin even if it is queued, or
// in a graph: on an H200 1.0 to 2.2 us in the median of six recordings (docs/gpu_results.md).
inline constexpr int64_t kBetweenKernelsNs = 1'500;
struct WorkPart {
  uint32_t kind = 0;  // of PlayedRun::work_kinds
  int64_t ns = 0;
};

// A rank's own work between two calls or stops.
struct Work {
  TaskId task = 0;
  uint32_t entry = 0;
  uint32_t step = 0;
  uint32_t first_part = 0;  // of PlayedRun::parts
  uint32_t parts = 0;
};

// A rank's work at one spot of a step: consecutive works.
struct SpotWork {
  uint32_t entry = 0;
  uint32_t step = 0;
  uint32_t first = 0;  // of PlayedRun::works
  uint32_t count = 0;
  int64_t ns = 0;
};
// Work that peers do alike, once in each step: by entry, then step.
using Spot = std::vector<SpotWork>;

struct MoveKind {
  std::string name;  // "all_reduce default_pg 25.0 MB"
  std::string by;    // "all_reduce default_pg"
  schema::Function function{};
  size_t group = 0;
  size_t members = 0;
  std::optional<int64_t> bytes;
  std::optional<LinearCost> cost;  // of its communicator and function, fitted
  bool gradients = false;          // of DDP's buckets
};

// A rank's part in a transfer.
struct Move {
  TaskId task = 0;
  uint32_t entry = 0;
  uint32_t step = 0;
  uint32_t kind = 0;
  CompactOptional<int64_t, int32_t> bucket;
};

// A kernel's share of its rank's computation.
struct KernelShare {
  std::string name;
  double share = 0;
};

// An operator's shares of its rank's computation in backward, and outside of it.
struct OpShare {
  std::string name;
  double of_backward = 0;
  double of_other = 0;
};

// The meaning of a task, for traversals of the graph.
struct TaskRole {
  enum class What : uint8_t { kNothing, kWork, kMove, kStart, kGate };
  What what = What::kNothing;
  uint32_t index = 0;  // kWork: of works; kMove, kStart: of moves; kGate: of gates
};

struct PlayedRun {
  // The kernels that `name` in a question means, on all ranks: the one of that name, or if there is
  // none, all whose names contain it.
  [[nodiscard]] std::set<std::string_view> kernels_meant(std::string_view name) const;

  std::shared_ptr<const RunReplay> source;
  const TaskGraph* graph = nullptr;  // of `source`
  const SharedLinks* links = nullptr;
  std::vector<ReplayedStep> steps;
  std::vector<int64_t> step_index;     // as the program counts
  std::vector<bool> outer;             // by step: AlignedStep::outer
  std::span<const int64_t> durations;  // as recorded, by task; of `graph`
  std::span<const int64_t> lags;       // likewise
  std::vector<int> ranks;              // by entry
  std::vector<std::string> hosts;      // likewise; "" = unknown
  std::vector<WorkKind> work_kinds;
  std::vector<WorkPart> parts;
  std::vector<Work> works;
  std::vector<Spot> spots;
  std::vector<MoveKind> move_kinds;
  std::vector<Move> moves;
  std::vector<GateTask> gates;
  std::vector<TaskRole> roles;                    // by task
  std::vector<std::vector<KernelShare>> kernels;  // by entry; longest first
  std::vector<std::vector<OpShare>> ops;          // likewise; empty if work is that of GPUs
  // By entry: host time in calls that can wait for the device, all steps; nullopt: unknown.
  std::vector<std::optional<int64_t>> device_waits;
  // By entry: of the gaps before captured launches, what the device needs between kernels, all
  // steps.
  std::vector<int64_t> between_kernels_ns;
  bool on_device = false;  // work is that of GPUs

  // Transfers share links if the recording shows it or `shared` is set.
  [[nodiscard]] std::vector<int64_t> lengths(std::span<const int64_t> changed,
                                             bool shared = false) const {
    return step_lengths(steps, simulate(*graph, links, changed, lags, shared));
  }
  // It is unknown whether they do.
  [[nodiscard]] bool may_share_links() const {
    return links != nullptr && links->evidence() == SharedLinks::Evidence::kNone;
  }
};

// The inputs; not kept.
struct PlayedRunInput {
  std::span<const RankDigest> digests;
  std::span<const TraceFile> traces;
  const Steps& steps;
  const Matching& matching;
  std::span<const Lattice> pieces;            // by digest
  std::span<const IntervalSet> starved = {};  // likewise: ReplayHints::starved
};

// `replay` has segments or operations. O(tasks + pieces).
[[nodiscard]] PlayedRun played_run_of(std::shared_ptr<const RunReplay> replay,
                                      const PlayedRunInput& input);

}  // namespace dprof::analyzer
