// SPDX-License-Identifier: Apache-2.0
// The differences between two runs, or sets of runs (docs/ci.md). A typed result; render.h shows
// it. For several runs on a side, means are compared; std::nullopt = not known on both sides.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/diff/change.h"
#include "analyzer/diff/run_facts.h"
#include "base/fields.h"

namespace dprof::analyzer {

// A property that differs between the sides.
struct Dissimilarity {
  std::string what;  // "world size"
  std::string a;
  std::string b;
  bool matters = false;  // the step times are not of the same work or machine
  std::string why;       // a sentence without its full stop
  DPROF_FIELDS(what, a, b, matters, why);
};

struct DiffSide {
  std::vector<std::string> runs;  // names
  int64_t ranks = 0;              // in the first run
  int64_t hosts = 0;
  std::vector<int64_t> steps;  // ordinary steady ones, per run
  DPROF_FIELDS(runs, ranks, hosts, steps);
};

// The change of the mean step, over ranks and steady steps. The changes sum to the total change.
struct ChangedPart {
  std::string key;    // "exposed_wait"
  std::string title;  // "exposed wait"
  int64_t a_ns = 0;
  int64_t b_ns = 0;
  DPROF_FIELDS(key, title, a_ns, b_ns);

  [[nodiscard]] int64_t change_ns() const { return b_ns - a_ns; }
};
struct Division {
  int64_t a_ns = 0;  // mean step
  int64_t b_ns = 0;
  std::vector<ChangedPart> parts;  // in the report's order; the sums are a_ns and b_ns
  DPROF_FIELDS(a_ns, b_ns, parts);

  [[nodiscard]] int64_t change_ns() const { return b_ns - a_ns; }
};

struct ChangedPhase {
  std::string name;
  std::optional<double> a_ns;  // nullopt: missing on this side
  std::optional<double> b_ns;
  DPROF_FIELDS(name, a_ns, b_ns);

  [[nodiscard]] double change_ns() const { return b_ns.value_or(0) - a_ns.value_or(0); }
};

// A rank's mean step, and its largest change, apart from waiting for others.
struct ChangedRank {
  int rank = 0;
  int64_t a_work_ns = 0;  // its step without exposed communication
  int64_t b_work_ns = 0;
  std::string part;  // title of the category that changed most; "" = none changed
  int64_t part_ns = 0;
  DPROF_FIELDS(rank, a_work_ns, b_work_ns, part, part_ns);

  [[nodiscard]] int64_t change_ns() const { return b_work_ns - a_work_ns; }
};

struct CollectiveTimes {
  double per_step = 0;
  int64_t transfer_ns = 0;
  int64_t wait_ns = 0;
  DPROF_FIELDS(per_step, transfer_ns, wait_ns);

  [[nodiscard]] double transfer_per_step() const {
    return per_step * static_cast<double>(transfer_ns);
  }
};
struct ChangedCollective {
  std::string communicator;
  std::string function;
  std::optional<int64_t> bytes;
  std::optional<CollectiveTimes> a;
  std::optional<CollectiveTimes> b;
  DPROF_FIELDS(communicator, function, bytes, a, b);

  [[nodiscard]] double change_ns() const {  // of transfers, per step
    return (b ? b->transfer_per_step() : 0) - (a ? a->transfer_per_step() : 0);
  }
};

// "new" and "gone" appear only if the other side's list cannot have left the name out.
struct ChangedName {
  std::string name;
  bool on_device = false;
  std::string what;  // new, gone, more, fewer, longer, shorter
  std::optional<double> a_count;
  std::optional<double> b_count;
  int64_t a_self_ns = 0;
  int64_t b_self_ns = 0;
  int64_t by_count_ns = 0;   // of the change: the difference in count, at A's length
  int64_t by_length_ns = 0;  // the remainder
  DPROF_FIELDS(name, on_device, what, a_count, b_count, a_self_ns, b_self_ns, by_count_ns,
               by_length_ns);

  [[nodiscard]] int64_t change_ns() const { return b_self_ns - a_self_ns; }
};

// Memory, lost records, recording cost.
struct ChangedFigure {
  std::string key;
  std::string title;
  std::string unit;  // "bytes", "records", "share", "faults", "ns"
  double a = 0;
  double b = 0;
  DPROF_FIELDS(key, title, unit, a, b);
};

struct ChangedStraggler {
  std::string what;  // appeared, vanished, other rank, other cause
  std::string text;  // "rank 3 holds the others up: dataloader, 12.0 ms per step"
  DPROF_FIELDS(what, text);
};

struct ChangedFinding {
  std::string what;  // new, gone
  std::string rule;
  std::string severity;
  std::string title;
  DPROF_FIELDS(what, rule, severity, title);
};

struct Diff {
  DiffSide a;
  DiffSide b;
  std::vector<Dissimilarity> dissimilar;
  std::optional<StepChange> step;
  std::string why_no_step;  // if `step` is missing
  std::optional<Division> division;
  std::vector<ChangedPhase> phases;  // largest change first, as in the lists below
  std::vector<ChangedRank> ranks;    // ranks on both sides
  std::vector<ChangedCollective> collectives;
  std::vector<ChangedName> names;
  std::string why_no_names;
  std::vector<ChangedFigure> figures;
  std::vector<ChangedStraggler> stragglers;
  std::vector<ChangedFinding> findings;  // warn and above

  [[nodiscard]] bool comparable() const;
};

// Each side has at least one run. O(steps + names log names).
[[nodiscard]] Diff diff_of(std::span<const RunFacts> a, std::span<const RunFacts> b);

// The division of a mean step by category; exact. Returns the part with most of the change, or
// nullptr if no part changed in the direction of the total.
[[nodiscard]] const ChangedPart* largest_part(const Division& division);

}  // namespace dprof::analyzer
