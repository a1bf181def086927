// SPDX-License-Identifier: Apache-2.0
// A run's critical path as shown in the window: which rank determined which time, where the path
// continued on another rank, and the slack of everything else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/replay/what_if.h"
#include "base/interval.h"

namespace dprof::view {

// A segment of the path on one rank.
struct PathPart {
  Interval span;
  int rank_index = 0;  // into Model::ranks
  uint32_t name = 0;   // into RunPath::names: the activity
};

// A continuation of the path on another rank.
struct PathJump {
  TraceNs at;
  int from = 0;  // rank index that was waited for
  int to = 0;
  uint32_t by = 0;    // into RunPath::names: the collective or message
  uint32_t step = 0;  // into RunPath::steps
};

struct PathStep {
  int64_t step = 0;  // the program's number
  Interval span;
  int64_t length_ns = 0;  // replayed
  int last_rank = 0;      // index of the rank that ended it
  uint32_t first_jump = 0;
  uint32_t jumps = 0;
};

// Work or a transfer of a rank, and its slack: how much longer it could take without lengthening
// the step.
struct SlackPart {
  Interval span;
  uint8_t grade = 0;  // 0 = (nearly) on the path; kMostSlack = a fifth of the step or more
};
inline constexpr uint8_t kMostSlack = 3;

// An item on the path, and its time in each step.
enum class PathItemKind : uint8_t { kCategory, kRank, kName };
struct PathItem {
  PathItemKind kind{};
  std::string name;
  int rank = -1;            // kRank
  std::vector<int64_t> ns;  // by step; 0 where it is not on the path
};

struct RunPath {
  std::vector<PathStep> steps;
  std::vector<PathPart> parts;  // in order of time, of all steps
  std::vector<PathJump> jumps;  // likewise
  std::vector<std::string> names;
  std::vector<std::vector<SlackPart>> slack;  // by rank index, in order of time
  std::vector<PathItem> items;
  int64_t median_ns = 0;  // of the steps' lengths

  [[nodiscard]] std::optional<size_t> index_of_step(int64_t step) const;
  // The part that contains the moment, if it is on that rank.
  [[nodiscard]] const PathPart* part_at(int rank_index, TraceNs at) const;
  [[nodiscard]] const SlackPart* slack_at(int rank_index, TraceNs at) const;
  [[nodiscard]] std::span<const PathJump> jumps_of(const PathStep& step) const {
    return std::span(jumps).subspan(step.first_jump, step.jumps);
  }
};

struct StepBegin {
  int64_t step = 0;
  TraceNs begin;
};
// `ranks`: the numbers of Model::ranks. O(tasks + edges).
[[nodiscard]] RunPath run_path_of(const analyzer::WhatIfModel& model, std::span<const int> ranks,
                                  std::span<const StepBegin> begins);

// An item that takes longer or shorter on this step's path than in the median step.
struct PathDifference {
  const PathItem* item = nullptr;
  int64_t ns = 0;
  int64_t usual_ns = 0;  // median over the steps
  [[nodiscard]] int64_t by() const { return ns - usual_ns; }
};
// The largest difference first; omits items that are neither in this step nor usual.
[[nodiscard]] std::vector<PathDifference> differences(const RunPath& path, size_t step,
                                                      PathItemKind kind);

}  // namespace dprof::view
