// SPDX-License-Identifier: Apache-2.0
// The typed result of an analysis (docs/report.md). Every renderer (text, JSON, …) and the GUI show
// it and compute nothing themselves. Times are integer ns; std::nullopt = not computed (a
// diagnostic says why), an empty list = looked, found none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/align/result.h"
#include "analyzer/breakdown/result.h"
#include "analyzer/ending/result.h"
#include "analyzer/hang/result.h"
#include "analyzer/memory/result.h"
#include "analyzer/replay/result.h"
#include "analyzer/report/finding.h"
#include "analyzer/steps/result.h"
#include "analyzer/stragglers/result.h"
#include "analyzer/vocabulary/diagnostic.h"
#include "analyzer/vocabulary/loss.h"
#include "base/fields.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer {

struct RunInfo {
  std::string name;
  std::string command;
  int64_t ranks = 0;
  int64_t hosts = 0;
  std::optional<int64_t> world_size;
  std::optional<StepsInfo> steps;
  // The recording's software and hardware, by the key of `meta`, and "gpu"; values that differ
  // between ranks are joined by ", ".
  std::vector<std::pair<std::string, std::string>> environment;
  DPROF_FIELDS(name, command, ranks, hosts, world_size, steps, environment);
};

// Time of all events of one name, mean per rank and steady step. Addresses and template arguments
// are dropped from the name.
struct NameTimes {
  std::string name;
  bool on_device = false;  // kernels and copies of GPUs; else host ranges
  double count = 0;
  int64_t total_ns = 0;
  int64_t self_ns = 0;  // without nested events
  DPROF_FIELDS(name, on_device, count, total_ns, self_ns);
};

struct Names {
  static constexpr size_t kMost = 300;
  static constexpr size_t kMostRanks = 4;            // that are counted
  static constexpr int64_t kMostEvents = 1'000'000;  // of all of them; beyond, of their last steps
  std::vector<int> ranks;                            // whose events were counted
  std::vector<NameTimes> list;                       // by self_ns, largest first; the kMost largest
  int64_t left_out = 0;                              // further names
  DPROF_FIELDS(ranks, list, left_out);
};

struct Loss {
  int rank = 0;
  schema::Source source{};
  schema::LossReason reason{};
  int64_t count = 0;
  DPROF_FIELDS(rank, source, reason, count);
};

struct Overhead {
  std::optional<double> share;  // of wall time, of the costliest rank
  std::optional<int64_t> in_process_ns;
  std::optional<int64_t> recorder_cpu_ns;
  std::string how;
  DPROF_FIELDS(share, in_process_ns, recorder_cpu_ns, how);
};

struct Recording {
  int64_t events = 0;  // rows in event tables
  std::vector<Loss> lost;
  std::vector<Diagnostic> diagnostics;
  std::optional<Overhead> overhead;
  DPROF_FIELDS(events, lost, diagnostics, overhead);
};

[[nodiscard]] int64_t lost_records(const Recording& recording);

struct Report {
  RunInfo run;
  Recording recording;
  std::optional<Clock> clock;
  std::optional<Breakdown> breakdown;
  std::optional<GpuRows> gpu_rows;
  std::optional<Overlap> overlap;
  std::optional<Contention> contention;
  std::optional<Buckets> buckets;
  std::optional<std::vector<LinkFit>> link_fits;
  std::optional<std::vector<CollectiveSummary>> collectives;
  std::optional<std::vector<PointToPoint>> point_to_point;
  std::optional<std::vector<PhaseSummary>> phases;
  std::optional<std::vector<Straggler>> stragglers;
  std::optional<Detection> detection;
  std::optional<SlowLinks> slow_links;
  std::optional<Hang> hang;
  std::optional<Ending> ending;
  std::optional<Memory> memory;
  std::optional<Energy> energy;
  std::optional<Replay> replay;
  std::optional<CriticalPath> critical_path;
  std::optional<std::vector<Finding>> findings;
  std::optional<Names> names;
  DPROF_FIELDS(run, recording, clock, breakdown, gpu_rows, overlap, contention, buckets, link_fits,
               collectives, point_to_point, phases, stragglers, detection, slow_links, hang, ending,
               memory, energy, replay, critical_path, findings, names);
};

// True if the job is known to have failed.
[[nodiscard]] inline bool has_failed(const Report& report) {
  return report.ending && report.ending->verdict.kind != "ok";
}

}  // namespace dprof::analyzer