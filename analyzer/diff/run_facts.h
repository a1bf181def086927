// SPDX-License-Identifier: Apache-2.0
// The facts of a run that comparisons need, read from its JSON report ("dprof.report/1"): a stored
// report is as good a baseline as the traces it was made from. std::nullopt = not known.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/report/finding.h"
#include "analyzer/report/report.h"
#include "base/result.h"

namespace dprof::analyzer {

// Mean over a rank's steady steps, by category key, in the report's order.
using CategoryMeans = std::vector<std::pair<std::string, double>>;

struct RankFacts {
  int rank = 0;
  double wall_ns = 0;
  CategoryMeans category_ns;  // sums to wall_ns
};

struct PhaseFacts {
  std::string name;
  double per_step = 0;  // means over the ranks that have it
  double ns = 0;
};

struct CollectiveFacts {
  std::string communicator;
  std::string function;
  std::optional<int64_t> bytes;
  double per_step = 0;
  int64_t transfer_ns = 0;  // medians
  int64_t wait_ns = 0;
};

struct StragglerFacts {
  std::optional<int> rank;
  std::string shape;
  std::string cause;
  int64_t cost_ns = 0;
};

struct FindingFacts {
  std::string rule;
  FindingSeverity severity = FindingSeverity::kInfo;
  std::string title;
  std::string detail;
  std::string advice;
  std::string cause;
  std::vector<int> ranks;
  std::optional<int64_t> cost_ns;
  bool symptom = false;
};

struct RunFacts {
  std::string source;  // as given: a folder, a file
  std::string name;
  std::string command;
  int64_t ranks = 0;
  int64_t hosts = 0;
  std::optional<int64_t> world_size;
  std::map<std::string, std::string> environment;

  int64_t steady = 0;
  std::string step_source;
  std::optional<int64_t> micro_steps;
  std::vector<int64_t> lengths_ns;  // of ordinary steady steps, in order

  int64_t events = 0;
  int64_t lost = 0;
  std::optional<double> overhead_share;
  bool has_clock = true;  // times of several hosts can be compared

  std::vector<RankFacts> per_rank;
  std::optional<double> exposed_share;  // exposed wait and transfer, as a share of step time
  std::optional<double> input_share;
  // Mean per step, over ranks: ready to run, but without a core. Other programs used them, or the
  // program has more threads than cores.
  std::optional<double> waited_for_core_ns;
  std::vector<PhaseFacts> phases;
  std::vector<CollectiveFacts> collectives;
  std::optional<std::vector<StragglerFacts>> stragglers;
  std::vector<FindingFacts> findings;
  std::optional<Names> names;
  std::optional<int64_t> peak_allocated;  // of the device, or allocator, with the most
  std::optional<int64_t> peak_resident;
  std::optional<double> page_faults_per_step;    // of the rank with the most
  std::optional<double> kernel_cpu_ns_per_step;  // of the rank with the most

  std::string ended;        // kind of the verdict: "ok", "crash"; "" = not known
  std::string ended_title;  // one line
};

// `source` is for messages. Fails with a specific sentence for an empty text, invalid JSON, another
// JSON document, or a newer schema.
Result<RunFacts> facts_of_json(std::string_view json, const std::string& source);

}  // namespace dprof::analyzer
