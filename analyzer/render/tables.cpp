// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostCulprits = 8;
constexpr double kLeastListedShare = 0.001;  // of a step
constexpr double kNearMedianShare = 0.01;    // of a step, from the ranks' median

// Titles of table columns, in the order of Category.
constexpr std::array<std::string_view, kCategories> kShortTitles = {
    "forward", "backward", "optimizer", "other", "overlap", "wait",   "transfer", "copy",
    "input",   "sync",     "alloc",     "host",  "launch",  "depend", "idle",     "profiler"};

// A line of the table; the run's median is no rank's.
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

MeanStep median_of(const std::vector<RankLine>& lines) {
  const auto median = [&](auto&& value) {
    std::vector<double> values;
    for (const RankLine& line : lines) values.push_back(value(line.step));
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
  };
  MeanStep step{.wall_ns = median([](const MeanStep& s) { return s.wall_ns; }), .detail_ns = {}};
  for (size_t c = 0; c < kCategories; ++c)
    step.category_ns[c] = median([&](const MeanStep& s) { return s.category_ns[c]; });
  return step;
}

// The largest difference of a rank's part from the ranks' median.
double largest_difference(const std::vector<RankLine>& lines) {
  const MeanStep median = median_of(lines);
  double largest = 0;
  for (const RankLine& line : lines) {
    for (size_t c = 0; c < kCategories; ++c) {
      largest = std::max(largest, std::abs(line.step.category_ns[c] - median.category_ns[c]));
    }
  }
  return largest;
}

// Of many ranks those that matter: culprits, whom the others wait for, who waits longest; beside
// the median of all.
std::vector<RankLine> telling(std::vector<RankLine> lines) {
  const RankLine median{.name = "median", .step = median_of(lines), .remark = {}};
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

TextTable table_of_ranks(const std::vector<RankLine>& lines, const StepUnit& unit,
                         const std::vector<size_t>& columns, bool rest) {
  TextTable table;
  table.add_column("rank", TextTable::Align::kRight);
  table.add_column("step", TextTable::Align::kRight);
  for (const size_t c : columns)
    table.add_column(std::string(kShortTitles[c]), TextTable::Align::kRight);
  if (rest) table.add_column("rest", TextTable::Align::kRight);
  table.add_column("", TextTable::Align::kLeft);
  for (const RankLine& line : lines) {
    std::vector<std::string> cells = {line.name, unit.number(line.step.wall_ns)};
    double left = line.step.wall_ns;
    for (const size_t c : columns) {
      cells.push_back(unit.number(line.step.category_ns[c]));
      left -= line.step.category_ns[c];
    }
    if (rest) cells.push_back(unit.number(std::max(0.0, left)));
    if (!line.remark.empty()) cells.push_back(line.remark);
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
  const StepUnit unit(mean->wall_ns);
  const std::string title = paint(Style::kStrong, "RANK BY RANK");
  std::vector<RankLine> lines;
  for (const RankBreakdown& rank : report.breakdown->per_rank) {
    if (const std::optional<MeanStep> own = mean_step(report, rank))
      lines.push_back({fmt::to_string(rank.rank), *own, remark_of(report, rank.rank)});
  }
  if (lines.empty()) return {};
  const size_t all = lines.size();
  const bool in_full = is_asked_for(options, Section::kRanks);
  const double difference = largest_difference(lines);
  if (!in_full && difference < kNearMedianShare * mean->wall_ns) {
    return fmt::format(
        "{}   all {} alike: no part differs by more than {} per step from their median\n", title,
        all, unit.text(std::max(difference, unit.least())));
  }
  if (lines.size() > kMostRanks) lines = telling(std::move(lines));
  // Columns are the categories with time that shows; the smallest ones go into "rest" where the
  // line would be too long.
  std::vector<size_t> columns;
  for (size_t c = 0; c < kCategories; ++c) {
    if (mean->category_ns[c] >= kLeastListedShare * mean->wall_ns) columns.push_back(c);
  }
  TextTable table = table_of_ranks(lines, unit, columns, false);
  while (kIndent + table.width() > static_cast<size_t>(options.width) && columns.size() > 1) {
    // Waiting stays, however little: it tells culprits from victims.
    columns.erase(std::ranges::min_element(columns, {}, [&](size_t c) {
      return std::pair(c == static_cast<size_t>(Category::kExposedWait), mean->category_ns[c]);
    }));
    table = table_of_ranks(lines, unit, columns, true);
  }
  const std::string which =
      all > kMostRanks ? fmt::format("; of {} ranks (--format json has them all)", all) : "";
  return fmt::format("{}   {} per step, mean over steady steps{}\n{}", title, unit.name(), which,
                     table.render(kIndent, paint));
}

std::string collective_section(const Report& report, const TextOptions& options,
                               const Painter& paint) {
  if (!report.collectives || report.collectives->empty()) return {};
  std::vector<CollectiveSummary> dearest = *report.collectives;
  std::ranges::stable_sort(dearest, std::greater(), total_ns);
  // What happens once, at the start, costs no step anything.
  const auto in_steps = [](const CollectiveSummary& c) { return c.per_step.value_or(1) > 0; };
  size_t outside = 0;
  if (!is_asked_for(options, Section::kCollectives) && std::ranges::any_of(dearest, in_steps))
    outside = std::erase_if(dearest, [&](const CollectiveSummary& c) { return !in_steps(c); });
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
  if (outside > 0) {
    text += paint(Style::kFaint,
                  fmt::format("  … and {} outside of steps (--sections collectives)", outside)) +
            '\n';
  }
  return text;
}

}  // namespace dprof::analyzer
