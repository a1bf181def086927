// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/phases.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "schema/marker_names.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;

constexpr size_t kMostRows = 16;
constexpr size_t kLongestName = 36;
constexpr size_t kLongestRanks = 24;

struct PhaseRow {
  const PhaseSummary* phase = nullptr;
  double per_step = 0;  // means over the ranks that have it
  double ns = 0;
  const RankPhase* longest = nullptr;
};

PhaseRow phase_row(const PhaseSummary& phase) {
  PhaseRow row{.phase = &phase, .longest = &phase.per_rank.front()};
  const auto ranks = static_cast<double>(phase.per_rank.size());
  for (const RankPhase& rank : phase.per_rank) {
    row.per_step += rank.per_step / ranks;
    row.ns += static_cast<double>(rank.mean_ns) / ranks;
    if (rank.mean_ns > row.longest->mean_ns) row.longest = &rank;
  }
  return row;
}

bool says_more(const PhaseRow& row) {
  const Marker marker = schema::marker_of(row.phase->name);
  const bool in_breakdown = marker == Marker::kInput || marker == Marker::kForward ||
                            marker == Marker::kBackward || marker == Marker::kOptimizer;
  return !in_breakdown || row.per_step > 1;
}

std::string ranks_of(const PhaseSummary& phase) {
  std::vector<int> ranks;
  for (const RankPhase& rank : phase.per_rank) ranks.push_back(rank.rank);
  return cut_to(rank_list(std::move(ranks)), kLongestRanks);
}

}  // namespace

std::string phase_section(const Report& report, const TextOptions& options, const Painter& paint) {
  if (!report.phases || report.phases->empty() || !report.run.steps) return {};
  std::vector<PhaseRow> rows;
  for (const PhaseSummary& phase : *report.phases) {
    if (!phase.per_rank.empty()) rows.push_back(phase_row(phase));
  }
  if (std::ranges::none_of(rows, says_more)) return {};
  // The dearest ones, in the order in which they come.
  const size_t all = rows.size();
  const size_t most = std::max(kMostRows, static_cast<size_t>(std::max(0, options.top)));
  if (all > most) {
    std::vector<double> lengths;
    for (const PhaseRow& row : rows) lengths.push_back(row.ns);
    std::ranges::sort(lengths, std::greater());
    std::erase_if(rows, [&](const PhaseRow& row) { return row.ns < lengths[most - 1]; });
    rows.resize(std::min(rows.size(), most));
  }

  const std::optional<MeanStep> mean = mean_step(report);
  const StepUnit unit(mean ? mean->wall_ns : static_cast<double>(report.run.steps->median_ns));
  TextTable table;
  table.add_column("phase", TextTable::Align::kLeft);
  table.add_column("per step", TextTable::Align::kRight);
  table.add_column(std::string(unit.name()), TextTable::Align::kRight);
  table.add_column("longest", TextTable::Align::kRight);
  table.add_column("of rank", TextTable::Align::kRight);
  table.add_column("ranks", TextTable::Align::kLeft);
  for (const PhaseRow& row : rows) {
    table.add_row({cut_to(printable(row.phase->name), kLongestName), per_step_text(row.per_step),
                   unit.number(row.ns), unit.number(static_cast<double>(row.longest->mean_ns)),
                   fmt::to_string(row.longest->rank), ranks_of(*row.phase)});
  }
  std::string text =
      fmt::format("{}   as marked; they may nest; per step, mean over the ranks that have them\n{}",
                  paint(Style::kStrong, "PHASES"), table.render(kIndent, paint));
  if (rows.size() < all) {
    text += paint(Style::kFaint,
                  fmt::format("  … and {} more (--format json has them all)", all - rows.size())) +
            '\n';
  }
  return text;
}

}  // namespace dprof::analyzer
