// SPDX-License-Identifier: Apache-2.0
// Sections on time: in a mean step, rank by rank, by phase, and in GPU rows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "analyzer/render/sections.h"
#include "analyzer/render/writers.h"
#include "base/format.h"
#include "schema/marker_names.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;

constexpr size_t kMostCulprits = 8;
constexpr double kNearMedianShare = 0.01;  // of a step, from the ranks' median
constexpr size_t kMostPhases = 16;
constexpr size_t kLongestName = 36;
constexpr size_t kLongestRanks = 24;

// The ranks that were waited for: by the summed waits of the collectives to which a rank came last.
std::string whom_for(const Report& report) {
  std::map<int, double> waited_for;
  double sum = 0;
  for (const CollectiveSummary& c : report.collectives.value_or(std::vector<CollectiveSummary>())) {
    const double wait = static_cast<double>(c.n) * static_cast<double>(c.wait_ns);
    sum += wait;
    if (c.last_arriver) waited_for[c.last_arriver->rank] += wait * c.last_arriver->share;
  }
  for (const PointToPoint& p : report.point_to_point.value_or(std::vector<PointToPoint>())) {
    const double wait = static_cast<double>(p.n) * static_cast<double>(p.wait_ns.value_or(0));
    sum += wait;
    if (p.from) waited_for[*p.from] += wait;
  }
  std::string whom;
  for (const auto& [rank, wait] : waited_for) {
    if (wait >= 0.5 * sum && sum > 0)
      whom = fmt::format("{} for rank {}", wait >= 0.9 * sum ? "" : ", mostly", rank);
  }
  return whom;
}

std::vector<std::string> exposed_notes(const Report& report, const StepUnit& unit, double wait_ns,
                                       double transfer_ns) {
  std::vector<std::string> notes;
  if (wait_ns > 0)
    notes.push_back(fmt::format("{} waiting{}", unit.text(wait_ns), whom_for(report)));
  if (transfer_ns > 0) notes.push_back(fmt::format("{} transfer", unit.text(transfer_ns)));
  return notes;
}

// The two largest details; empty if nothing is known of them.
std::vector<std::string> detail_notes(const MeanStep& mean, const StepUnit& unit,
                                      Category category) {
  const std::string prefix = std::string(key_of(category)) + ".";
  std::vector<std::pair<double, std::string>> details;
  bool known = false;
  for (const auto& [key, ns] : mean.detail_ns) {
    if (!key.starts_with(prefix) || !(ns > 0)) continue;
    std::string name = key.substr(prefix.size());
    known = known || name != "unattributed";
    std::ranges::replace(name, '_', ' ');
    details.emplace_back(ns, std::move(name));
  }
  if (!known) return {};
  std::ranges::stable_sort(details, std::greater(), [](const auto& d) { return d.first; });
  std::vector<std::string> notes;
  for (size_t i = 0; i < std::min<size_t>(2, details.size()); ++i)
    notes.push_back(fmt::format("{} {}", unit.text(details[i].first), details[i].second));
  return notes;
}

// Smaller parts are summed, and left out if even their sum is too small.
Bars picture_of(const Report& report, const MeanStep& mean) {
  const StepUnit unit(mean.wall_ns);
  const auto ns_of = [&](Category c) { return mean.category_ns[static_cast<size_t>(c)]; };
  Bars bars;
  double rest = 0;
  const auto add = [&](std::string_view title, double ns, std::vector<std::string> notes,
                       std::optional<Category> category, Style style = Style::kBar) {
    if (ns < kLeastShare * mean.wall_ns) {
      rest += ns;
      return;
    }
    bars.parts.push_back(
        {std::string(title), unit.text(ns), ns / mean.wall_ns, std::move(notes), style, category});
  };
  double overlapped = ns_of(Category::kOverlapped);
  for (const Category c :
       {Category::kForward, Category::kBackward, Category::kOptimizer, Category::kOtherCompute}) {
    const auto detail = mean.detail_ns.find(fmt::format("overlapped.{}", key_of(c)));
    const double hides = detail == mean.detail_ns.end() ? 0 : detail->second;
    overlapped -= hides;
    std::vector<std::string> notes;
    if (hides > 0) notes = {fmt::format("{} overlaps communication", unit.text(hides))};
    add(title_of(c), ns_of(c) + hides, std::move(notes), c);
  }
  if (overlapped > 0.5) {
    add("overlapped", overlapped, {"computation and communication at once"}, Category::kOverlapped);
  }
  const double wait = ns_of(Category::kExposedWait);
  const double transfer = ns_of(Category::kExposedTransfer);
  add("exposed comm", wait + transfer, exposed_notes(report, unit, wait, transfer),
      Category::kExposedTransfer, Style::kAccent);
  for (size_t c = static_cast<size_t>(Category::kCopy); c < kCategories; ++c) {
    const auto category = static_cast<Category>(c);
    add(title_of(category), ns_of(category), detail_notes(mean, unit, category), category,
        Style::kWarn);
  }
  if (rest >= kLeastShare * mean.wall_ns) add("rest", rest, {}, {}, Style::kFaint);
  return bars;
}

// Titles of table columns, in the order of Category.
constexpr std::array<std::string_view, kCategories> kShortTitles = {
    "forward", "backward", "optimizer", "other", "overlap", "wait",   "transfer", "copy",
    "input",   "sync",     "alloc",     "host",  "launch",  "depend", "idle",     "profiler"};

// A row of the table; the run's median belongs to no rank.
struct RankLine {
  std::string name;
  MeanStep step;
  std::string remark;
};

std::string remark_of(const Report& report, int rank) {
  for (const Straggler& s : report.stragglers.value_or(std::vector<Straggler>())) {
    if (s.rank == rank || std::ranges::count(s.host_ranks, rank) > 0) return "◀ culprit";
  }
  return {};
}

double wait_of(const MeanStep& step) {
  return step.category_ns[static_cast<size_t>(Category::kExposedWait)];
}

MeanStep median_of_lines(const std::vector<RankLine>& lines) {
  std::vector<MeanStep> steps;
  for (const RankLine& line : lines) steps.push_back(line.step);
  return median_of(steps);
}

// The largest difference of a rank's part from the ranks' median.
double largest_difference(const std::vector<RankLine>& lines) {
  const MeanStep median = median_of_lines(lines);
  double largest = 0;
  for (const RankLine& line : lines) {
    for (size_t c = 0; c < kCategories; ++c) {
      largest = std::max(largest, std::abs(line.step.category_ns[c] - median.category_ns[c]));
    }
  }
  return largest;
}

// Of many ranks the relevant ones: culprits, the rank that waits least, the one that waits longest;
// plus the median of all.
std::vector<RankLine> telling(std::vector<RankLine> lines) {
  const RankLine median{.name = "median", .step = median_of_lines(lines), .remark = {}};
  const auto by_wait = [](const RankLine& line) { return wait_of(line.step); };
  const auto least =
      static_cast<size_t>(std::ranges::min_element(lines, {}, by_wait) - lines.begin());
  const auto most =
      static_cast<size_t>(std::ranges::max_element(lines, {}, by_wait) - lines.begin());
  std::vector<RankLine> kept;
  size_t culprits = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool culprit = !lines[i].remark.empty() && culprits++ < kMostCulprits;
    if (!culprit && i != least && i != most) continue;
    if (lines[i].remark.empty()) lines[i].remark = i == least ? "waits least" : "waits longest";
    kept.push_back(std::move(lines[i]));
  }
  kept.push_back(median);
  return kept;
}

Table table_of_ranks(const std::vector<RankLine>& lines, const StepUnit& unit,
                     const std::vector<size_t>& columns, bool rest) {
  Table table;
  table.add_column("rank", Align::kRight, lines, [](const RankLine& line) { return line.name; });
  table.add_column("step", Align::kRight, lines,
                   [&](const RankLine& line) { return unit.number(line.step.wall_ns); });
  for (const size_t c : columns) {
    table.add_column(kShortTitles[c], Align::kRight, lines,
                     [&](const RankLine& line) { return unit.number(line.step.category_ns[c]); });
  }
  if (rest) {
    table.add_column("rest", Align::kRight, lines, [&](const RankLine& line) {
      double left = line.step.wall_ns;
      for (const size_t c : columns) left -= line.step.category_ns[c];
      return unit.number(std::max(0.0, left));
    });
  }
  table.add_column("", Align::kLeft, lines, [](const RankLine& line) { return line.remark; });
  return table;
}

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

// Keeps the most expensive ones in their original order.
void keep_longest(std::vector<PhaseRow>& rows, size_t most) {
  if (rows.size() <= most) return;
  std::vector<double> lengths;
  for (const PhaseRow& row : rows) lengths.push_back(row.ns);
  std::ranges::sort(lengths, std::greater());
  std::erase_if(rows, [&](const PhaseRow& row) { return row.ns < lengths[most - 1]; });
  rows.resize(std::min(rows.size(), most));
}

}  // namespace

Document step_section(const Report& report, const TextOptions& /*options*/) {
  Heading heading{.title = "WHERE A STEP GOES"};
  const std::optional<MeanStep> mean = mean_step(report);
  if (!mean) {
    heading.remark = "unknown: this run has no breakdown";
    return {{heading}};
  }
  const std::vector<RankBreakdown>& ranks = report.breakdown->per_rank;
  heading.remark =
      fmt::format("{}, {}",
                  is_seen_from_one_rank(report)
                      ? fmt::format("rank {}, mean over steady steps", ranks.front().rank)
                      : "mean over ranks and steady steps",
                  StepUnit(mean->wall_ns).text(mean->wall_ns));
  return {{heading, picture_of(report, *mean)}};
}

Document rank_section(const Report& report, const TextOptions& options) {
  const std::optional<MeanStep> mean = mean_step(report);
  if (!mean || report.breakdown->per_rank.size() < 2) return {};
  const StepUnit unit(mean->wall_ns);
  std::vector<RankLine> lines;
  for (const RankBreakdown& rank : report.breakdown->per_rank) {
    if (const std::optional<MeanStep> own = mean_step(report, rank))
      lines.push_back({fmt::to_string(rank.rank), *own, remark_of(report, rank.rank)});
  }
  if (lines.empty()) return {};
  Heading heading{.title = "RANK BY RANK"};
  const size_t all = lines.size();
  const double difference = largest_difference(lines);
  if (!is_asked_for(options, Section::kRanks) && difference < kNearMedianShare * mean->wall_ns) {
    heading.remark =
        fmt::format("all {} alike: no part differs by more than {} per step from the median", all,
                    unit.text(std::max(difference, unit.least())));
    return {{heading}};
  }
  if (all > kMostRanks) lines = telling(std::move(lines));
  // Columns are the categories with visible time; if the row is too long, the smallest ones are
  // merged into "rest".
  std::vector<size_t> columns;
  for (size_t c = 0; c < kCategories; ++c) {
    if (mean->category_ns[c] >= kLeastShare * mean->wall_ns) columns.push_back(c);
  }
  Table table = table_of_ranks(lines, unit, columns, false);
  while (text_width(table) > static_cast<size_t>(options.width) && columns.size() > 1) {
    // Waiting is always kept: it distinguishes culprits from victims.
    columns.erase(std::ranges::min_element(columns, {}, [&](size_t c) {
      return std::pair(c == static_cast<size_t>(Category::kExposedWait), mean->category_ns[c]);
    }));
    table = table_of_ranks(lines, unit, columns, true);
  }
  heading.remark = fmt::format("{} per step, mean over steady steps", unit.name());
  if (all > kMostRanks)
    heading.remark += fmt::format("; of {} ranks (--format json has them all)",
                                  format_count(static_cast<int64_t>(all)));
  return {{heading, std::move(table)}};
}

Document phase_section(const Report& report, const TextOptions& options) {
  if (!report.phases || report.phases->empty() || !report.run.steps) return {};
  std::vector<PhaseRow> rows;
  for (const PhaseSummary& phase : *report.phases) {
    if (!phase.per_rank.empty()) rows.push_back(phase_row(phase));
  }
  if (std::ranges::none_of(rows, says_more)) return {};
  const size_t all = rows.size();
  keep_longest(rows, std::max(kMostPhases, static_cast<size_t>(std::max(0, options.top))));
  const std::optional<MeanStep> mean = mean_step(report);
  const StepUnit unit(mean ? mean->wall_ns : static_cast<double>(report.run.steps->median_ns));
  Table table;
  table.add_columns(Align::kLeft, {"phase"});
  table.add_columns(Align::kRight, {"per step", unit.name(), "longest", "of rank"});
  table.add_columns(Align::kLeft, {"ranks"});
  for (const PhaseRow& row : rows) {
    table.add_row({cut_to(printable(row.phase->name), kLongestName), per_step_text(row.per_step),
                   unit.number(row.ns), unit.number(static_cast<double>(row.longest->mean_ns)),
                   fmt::to_string(row.longest->rank), ranks_of(*row.phase)});
  }
  Document document = titled_table(
      "PHASES", "as marked; they may nest; per step, mean over the ranks that have them", table);
  if (rows.size() < all)
    document.add_more(fmt::format("{} more (--format json has them all)", all - rows.size()));
  return document;
}

// GPU time as defined by other tools.
Document gpu_rows_section(const Report& report, const TextOptions& /*options*/) {
  if (!report.gpu_rows || report.gpu_rows->per_rank.empty()) return {};
  const GpuRows& rows = *report.gpu_rows;
  Table table{"rank",    "rows",          "span",   "busy",   "idle",
              "compute", "communication", "memory", "overlap"};
  const size_t shown = std::min(kMostRanks, rows.per_rank.size());
  for (const RankGpuRows& rank : std::span(rows.per_rank).first(shown)) {
    std::vector<std::string> cells = {fmt::to_string(rank.rank), format_count(rank.rows)};
    for (const int64_t ns : {rank.span_ns, rank.busy_ns, rank.idle_ns, rank.compute_ns,
                             rank.communication_ns, rank.memory_ns, rank.overlap_ns})
      cells.push_back(format_duration({ns}));
    table.add_row(std::move(cells));
  }
  Document document =
      titled_table("GPU",
                   fmt::format("rows: {} (--rows); whole recording, all devices of a rank together",
                               rows.filter),
                   table);
  if (shown < rows.per_rank.size())
    document.add_more(fmt::format("{} more ranks (--format json)", rows.per_rank.size() - shown));
  std::map<std::string, int64_t> left_out;
  for (const RankGpuRows& rank : rows.per_rank) {
    for (const auto& [reason, count] : rank.left_out) left_out[reason] += count;
  }
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : left_out) {
    if (count > 0) reasons.push_back(fmt::format("{} ({})", format_count(count), reason));
  }
  if (!reasons.empty())
    document.add(SingleLine{{{fmt::format("  rows not counted: {}", fmt::join(reasons, ", "))}}});
  return document;
}

// Joules per steady step: the ranks' devices, then the hosts' processors.
Document energy_section(const Report& report, const TextOptions& options) {
  if (!report.energy) return {};
  const Energy& energy = *report.energy;
  Document document;
  const auto joules = [](double j) { return fmt::format("{:.3g} J", j); };
  if (!energy.per_rank.empty()) {
    Table table{"rank", "per step", "±", "waiting, at most", "throttled", "shared by"};
    const size_t shown = std::min(kMostRanks, energy.per_rank.size());
    bool from_power = false;
    for (const RankEnergy& rank : std::span(energy.per_rank).first(shown)) {
      table.add_row({fmt::to_string(rank.rank), joules(rank.step_j), joules(rank.bound_j),
                     joules(rank.waiting_j),
                     rank.throttled_share ? format_share(*rank.throttled_share) : "–",
                     plural(rank.shared_by, "rank")});
      from_power = from_power || rank.from_power;
    }
    document = titled_table("ENERGY",
                            fmt::format("of each rank's GPU in a steady step{}",
                                        from_power ? "; the integral of its power" : ""),
                            table);
    if (shown < energy.per_rank.size())
      document.add_more(
          fmt::format("{} more ranks (--format json)", energy.per_rank.size() - shown));
  }
  if (!energy.per_host.empty()) {
    Table table{"host", "per step", "±"};
    const size_t shown = std::min(kMostRanks, energy.per_host.size());
    for (const HostEnergy& host : std::span(energy.per_host).first(shown))
      table.add_row({printable(host.host), joules(host.step_j), joules(host.bound_j)});
    document.add(titled_table("ENERGY OF HOSTS", "processors and memory, in a steady step", table));
    if (shown < energy.per_host.size())
      document.add_more(
          fmt::format("{} more hosts (--format json)", energy.per_host.size() - shown));
  }
  if (!energy.missing.empty() && is_asked_for(options, Section::kEnergy))
    document.add(SingleLine{
        {{fmt::format("{}not known: {}", document.empty() ? "ENERGY   " : "  ", energy.missing)}}});
  return document;
}

}  // namespace dprof::analyzer
