// SPDX-License-Identifier: Apache-2.0
// The only table of range names with a meaning: steps, phases, loader waits. PyTorch emits some by
// itself; a program can mark others with NVTX or record_function.
#pragma once

#include <cstdint>
#include <string_view>

namespace dprof::schema {

enum class Marker : uint8_t {
  kNone,
  kStep,   // one optimizer update
  kInput,  // waiting for, or fetching, a batch
  kForward,
  kBackward,
  kOptimizer,  // its end ends a step, where no explicit step is marked
  kCheckpoint,
};

struct MarkerName {
  std::string_view pattern;  // a final '*' matches any rest; a "#…" rest is a number or class name
  Marker marker;
  std::string_view emitted_by;
};

inline constexpr MarkerName kMarkerNames[] = {
    {"step", Marker::kStep, "programs, dprof-trainer"},
    {"ProfilerStep#*", Marker::kStep, "torch.profiler's schedule"},
    {"input", Marker::kInput, "programs, dprof-trainer"},
    {"enumerate(DataLoader)#*", Marker::kInput, "torch.utils.data.DataLoader"},
    {"forward", Marker::kForward, "programs, dprof-trainer"},
    {"DistributedDataParallel.forward", Marker::kForward,
     "torch.nn.parallel.DistributedDataParallel"},
    {"FullyShardedDataParallel.forward", Marker::kForward, "FSDP1"},
    {"backward", Marker::kBackward, "programs, dprof-trainer"},
    {"optimizer", Marker::kOptimizer, "programs, dprof-trainer"},
    {"Optimizer.step#*", Marker::kOptimizer, "torch.optim"},
    {"stage_forward", Marker::kForward, "pipelines, per micro-batch: dprof-trainer"},
    {"stage_backward", Marker::kBackward, "pipelines, per micro-batch: dprof-trainer"},
    {"checkpoint", Marker::kCheckpoint, "programs, dprof-trainer"},
};

// One forward and backward of a step that accumulates gradients. It only groups other ranges: they
// count as if they were directly in the step.
inline constexpr std::string_view kMicroStepName = "micro_step";

// Phases that the report lists at any nesting depth in a step; ranges with other names count only
// if outermost.
inline constexpr std::string_view kPhaseNames[] = {
    kMicroStepName,   "input",     "forward", "backward", "optimizer",  "stage_forward",
    "stage_backward", "replicate", "gather",  "reduce",   "pull",       "push",
    "serve",          "rebalance", "metrics", "barrier",  "validation", "checkpoint"};

// The marker of a range of this name. O(number of patterns): classify each distinct name once, not
// each row.
[[nodiscard]] constexpr Marker marker_of(std::string_view name) {
  for (const MarkerName& known : kMarkerNames) {
    if (known.pattern.ends_with('*')) {
      if (name.starts_with(known.pattern.substr(0, known.pattern.size() - 1))) return known.marker;
    } else if (name == known.pattern) {
      return known.marker;
    }
  }
  return Marker::kNone;
}

}  // namespace dprof::schema
