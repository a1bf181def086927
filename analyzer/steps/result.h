// SPDX-License-Identifier: Apache-2.0
// The steps of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/interval.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer {

// A step that differs from the others.
struct OuterEvent {
  int64_t step = 0;      // step index
  std::string kind;      // checkpoint, validation, other
  int64_t extra_ns = 0;  // beyond the median step
  DPROF_FIELDS(step, kind, extra_ns);
};

struct StepsInfo {
  int64_t count = 0;
  int64_t first_steady = 0;  // step indices, both included
  int64_t last_steady = 0;
  int64_t steady = 0;     // their number: recording with --every leaves gaps between indices
  int64_t median_ns = 0;  // over steady steps, of the longest rank's window
  schema::StepSource source = schema::StepSource::kMarker;
  std::optional<int64_t> micro_steps;  // per step, the usual number; nullopt = unknown
  std::vector<OuterEvent> outer;       // among the steady steps, by index
  // The longest rank's windows of the steady steps except those of `outer`, in order: the last
  // kMostLengths of them.
  static constexpr size_t kMostLengths = 2000;
  std::vector<int64_t> lengths_ns;
  DPROF_FIELDS(count, first_steady, last_steady, steady, median_ns, source, micro_steps, outer,
               lengths_ns);
};

// A step of one rank on the run's axis.
struct StepWindow {
  int64_t index = 0;
  Interval window;
};

struct AlignedStep {
  int64_t index = 0;
  std::vector<Interval> windows;  // one per entry of Steps::ranks
  // Its work's window on the GPU, one per entry of Steps::ranks (device_windows.h); nullopt = the
  // rank launched nothing in it. Empty if no rank has any.
  std::vector<std::optional<Interval>> device_windows;
  int64_t longest_ns = 0;  // the longest rank's window
  bool outer = false;      // a steady step with extra work: in totals, but not in the median
};

// Invariant  steps are in order of index, each with a window on every rank of `ranks`;
//            first_steady <= last_steady are positions in `steps`.
struct Steps {
  std::vector<size_t> ranks;  // positions of the digests that have steps
  std::vector<AlignedStep> steps;
  size_t first_steady = 0;
  size_t last_steady = 0;
  StepsInfo info;

  [[nodiscard]] std::span<const AlignedStep> steady() const {
    return std::span(steps).subspan(first_steady, last_steady - first_steady + 1);
  }
  // An entry's step on the host until its next one begins: the gap counts to the earlier step.
  [[nodiscard]] Interval until_next(size_t step, size_t entry) const;
};

}  // namespace dprof::analyzer
