// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/render/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyzer/report/render/mean_step.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostRanks = 16;
constexpr size_t kIndent = 2;
constexpr double kLeastShare = 0.001;  // of a step

// Titles of table columns, in the order of Category.
constexpr std::array<std::string_view, kCategories> kShortTitles = {
    "forward", "backward", "optimizer", "other", "overlap", "wait",   "transfer", "copy",
    "input",   "sync",     "alloc",     "host",  "launch",  "depend", "idle",     "profiler"};

bool is_culprit(const Report& report, int rank) {
  return report.stragglers && std::ranges::any_of(*report.stragglers, [&](const Straggler& s) {
           return s.rank == rank;
         });
}

TextTable table_of_ranks(const Report& report, const StepUnit& unit,
                         const std::vector<size_t>& columns, bool rest) {
  TextTable table;
  table.add_column("rank", TextTable::Align::kRight);
  table.add_column("step", TextTable::Align::kRight);
  for (const size_t c : columns)
    table.add_column(std::string(kShortTitles[c]), TextTable::Align::kRight);
  if (rest) table.add_column("rest", TextTable::Align::kRight);
  table.add_column("", TextTable::Align::kLeft);
  for (const RankBreakdown& rank : report.breakdown->per_rank) {
    const std::optional<MeanStep> own = mean_step(report, rank);
    if (!own) continue;
    std::vector<std::string> cells = {fmt::to_string(rank.rank), unit.number(own->wall_ns)};
    double left = own->wall_ns;
    for (const size_t c : columns) {
      cells.push_back(unit.number(own->category_ns[c]));
      left -= own->category_ns[c];
    }
    if (rest) cells.push_back(unit.number(std::max(0.0, left)));
    if (is_culprit(report, rank.rank)) cells.emplace_back("◀ culprit");
    table.add_row(std::move(cells));
  }
  return table;
}

std::string busbw_text(const CollectiveSummary& c) {
  return c.busbw ? format_bytes(static_cast<int64_t>(*c.busbw)) + "/s" : "";
}

// What clocks cannot tell from nothing is not shown as a wait.
std::string wait_text(const CollectiveSummary& c) {
  if (c.bound_ns && c.wait_ns < *c.bound_ns) return "≤ " + format_duration({*c.bound_ns});
  return format_duration({c.wait_ns});
}

double total_ns(const CollectiveSummary& c) {
  return static_cast<double>(c.n) * static_cast<double>(c.transfer_ns + c.wait_ns);
}

// `bandwidth`: with a column for it.
TextTable table_of_collectives(const std::vector<CollectiveSummary>& collectives, size_t shown,
                               bool bandwidth) {
  std::set<std::string> communicators;
  for (const CollectiveSummary& c : collectives) communicators.insert(c.communicator);
  const bool in_steps = std::ranges::any_of(
      collectives, [](const CollectiveSummary& c) { return c.per_step.has_value(); });
  TextTable table;
  table.add_column("function", TextTable::Align::kLeft);
  if (communicators.size() > 1) table.add_column("group", TextTable::Align::kLeft);
  table.add_column("bytes", TextTable::Align::kRight);
  table.add_column("calls", TextTable::Align::kRight);
  if (in_steps) table.add_column("per step", TextTable::Align::kRight);
  for (const char* title : {"transfer", "wait"}) table.add_column(title, TextTable::Align::kRight);
  if (bandwidth) table.add_column("bus bandwidth", TextTable::Align::kRight);
  table.add_column("last to arrive", TextTable::Align::kLeft);
  for (size_t i = 0; i < shown; ++i) {
    const CollectiveSummary& c = collectives[i];
    std::vector<std::string> cells = {std::string(word_of(c.function))};
    if (communicators.size() > 1) cells.push_back(printable(c.communicator));
    cells.push_back(c.bytes ? format_bytes(*c.bytes) : "");
    cells.push_back(format_count(c.n));
    if (in_steps) cells.push_back(per_step_text(c.per_step));
    cells.push_back(format_duration({c.transfer_ns}));
    cells.push_back(wait_text(c));
    if (bandwidth) cells.push_back(busbw_text(c));
    cells.push_back(c.last_arriver ? fmt::format("rank {} in {}", c.last_arriver->rank,
                                                 format_share(c.last_arriver->share))
                                   : "");
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace

std::string rank_section(const Report& report, const TextOptions& options, const Painter& paint) {
  const std::optional<MeanStep> mean = mean_step(report);
  if (!mean || report.breakdown->per_rank.size() < 2) return {};
  const size_t ranks = report.breakdown->per_rank.size();
  if (ranks > kMostRanks) {
    return fmt::format("{}   {} ranks, too many to list: see the timeline, or --format json\n",
                       paint(Style::kStrong, "RANK BY RANK"), ranks);
  }
  // Columns are the categories with time that shows; the smallest ones go into "rest" where the
  // line would be too long.
  std::vector<size_t> columns;
  for (size_t c = 0; c < kCategories; ++c) {
    if (mean->category_ns[c] >= kLeastShare * mean->wall_ns) columns.push_back(c);
  }
  const StepUnit unit(mean->wall_ns);
  TextTable table = table_of_ranks(report, unit, columns, false);
  while (kIndent + table.width() > static_cast<size_t>(options.width) && columns.size() > 1) {
    // Waiting stays, however little: it tells culprits from victims.
    columns.erase(std::ranges::min_element(columns, {}, [&](size_t c) {
      return std::pair(c == static_cast<size_t>(Category::kExposedWait), mean->category_ns[c]);
    }));
    table = table_of_ranks(report, unit, columns, true);
  }
  return fmt::format("{}   {} per step, mean over steady steps\n{}",
                     paint(Style::kStrong, "RANK BY RANK"), unit.name(),
                     table.render(kIndent, paint));
}

std::string collective_section(const Report& report, const TextOptions& options,
                               const Painter& paint) {
  if (!report.collectives || report.collectives->empty()) return {};
  std::vector<CollectiveSummary> dearest = *report.collectives;
  std::ranges::stable_sort(dearest, std::greater(), total_ns);
  const size_t shown = std::min(dearest.size(), static_cast<size_t>(std::max(1, options.top)));
  TextTable table = table_of_collectives(dearest, shown, true);
  if (kIndent + table.width() > static_cast<size_t>(options.width))
    table = table_of_collectives(dearest, shown, false);
  std::string text =
      fmt::format("{}   medians per call; wait is that of the rank that waited longest\n{}",
                  paint(Style::kStrong, "COLLECTIVES"), table.render(kIndent, paint));
  if (shown < dearest.size()) {
    text += paint(Style::kFaint, fmt::format("  … and {} more (--top {})", dearest.size() - shown,
                                             dearest.size())) +
            '\n';
  }
  return text;
}

}  // namespace dprof::analyzer
