// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/step_matrix.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "gui/view/drawing/grid.h"
#include "gui/view/figures/notable_ranks.h"

namespace dprof::view {
namespace {

using analyzer::Category;
using Columns = std::unordered_map<int64_t, size_t>;  // by a step's index

constexpr double kHighest = 0.99;  // share of the values that the colours distinguish
constexpr double kLowest = 0.01;

Columns columns_of(const std::vector<int64_t>& steps) {
  Columns columns;
  for (size_t s = 0; s < steps.size(); ++s) columns.emplace(steps[s], s);
  return columns;
}

bool counts(Metric metric, Category category) {
  switch (metric) {
    case Metric::kWait:
      return category == Category::kExposedWait;
    case Metric::kExposed:
      return category == Category::kExposedWait || category == Category::kExposedTransfer;
    case Metric::kInput:
      return category == Category::kInputWait;
    case Metric::kStepTime:
    case Metric::kOwnDelay:
      break;
  }
  return false;
}

// The time in the metric's categories within each step of a rank.
void add_pieces(const RankModel& rank, Metric metric, const Columns& columns,
                std::span<int64_t> row) {
  if (rank.pieces.empty()) return;
  auto piece = rank.pieces.begin();
  for (const analyzer::StepWindow& step : rank.steps) {
    const auto column = columns.find(step.index);
    if (column == columns.end()) continue;
    while (piece != rank.pieces.end() && piece->span.end <= step.window.begin) ++piece;
    int64_t sum = 0;
    for (auto p = piece; p != rank.pieces.end() && p->span.begin < step.window.end; ++p) {
      if (!counts(metric, p->category)) continue;
      sum +=
          (std::min(p->span.end, step.window.end) - std::max(p->span.begin, step.window.begin)).ns;
    }
    row[column->second] = sum;
  }
}

void fill(const RankModel& rank, Metric metric, const Columns& columns, std::span<int64_t> row) {
  if (metric == Metric::kStepTime) {
    for (const analyzer::StepWindow& step : rank.steps) {
      if (const auto column = columns.find(step.index); column != columns.end())
        row[column->second] = step.window.length().ns;
    }
  } else if (metric == Metric::kOwnDelay) {
    for (const analyzer::OwnDelay& delay : rank.own_delays) {
      if (const auto column = columns.find(delay.step); column != columns.end())
        row[column->second] = delay.ns;
    }
  } else {
    add_pieces(rank, metric, columns, row);
  }
}

struct Mean {
  int64_t sum = 0;
  int64_t count = 0;
  void add(int64_t value) {
    if (value == StepMatrix::kUnknown) return;
    sum += value;
    ++count;
  }
  [[nodiscard]] int64_t value() const { return count == 0 ? StepMatrix::kUnknown : sum / count; }
};

void fill_means(StepMatrix& matrix) {
  std::vector<Mean> by_step(matrix.steps.size());
  matrix.step_worst_ns.assign(matrix.steps.size(), StepMatrix::kUnknown);
  for (size_t r = 0; r < matrix.ranks.size(); ++r) {
    Mean of_rank;
    for (size_t s = 0; s < matrix.steps.size(); ++s) {
      of_rank.add(matrix.at(r, s));
      by_step[s].add(matrix.at(r, s));
      matrix.step_worst_ns[s] = std::max(matrix.step_worst_ns[s], matrix.at(r, s));
    }
    matrix.rank_mean_ns.push_back(of_rank.value());
  }
  for (const Mean& mean : by_step) matrix.step_mean_ns.push_back(mean.value());
}

// The highest of the ranks' medians over steps. At least one value is known.
int64_t highest_median(const StepMatrix& matrix) {
  int64_t highest = std::numeric_limits<int64_t>::min();
  std::vector<int64_t> row;
  for (size_t r = 0; r < matrix.ranks.size(); ++r) {
    row.clear();
    for (size_t s = 0; s < matrix.steps.size(); ++s) {
      if (matrix.at(r, s) != StepMatrix::kUnknown) row.push_back(matrix.at(r, s));
    }
    if (row.empty()) continue;
    const auto middle = row.begin() + static_cast<ptrdiff_t>(row.size() / 2);
    std::nth_element(row.begin(), middle, row.end());
    highest = std::max(highest, *middle);
  }
  return highest;
}

// From the detection floor of a lasting delay up to the culprit's: mere noise is pale, and without
// a culprit no rank looks like one.
void set_delay_colours(const Model& model, StepMatrix& matrix) {
  if (!model.report.detection) return;
  const int64_t floor = model.report.detection->floor_ns;
  int64_t named = 0;
  for (const Culprit& culprit : culprits_of(model))
    named = std::max(named, culprit.own_delay_ns.value_or(0));
  matrix.low_ns = named > 0 ? std::min(floor, named / 2) : floor;
  matrix.high_ns = std::max({matrix.high_ns, named, 2 * matrix.low_ns});
}

void set_colours(const Model& model, StepMatrix& matrix) {
  std::vector<int64_t> known;
  for (const int64_t value : matrix.ns) {
    if (value != StepMatrix::kUnknown) known.push_back(value);
  }
  if (known.empty()) return;
  const auto at = [&](double share) {
    const auto place = static_cast<ptrdiff_t>(share * static_cast<double>(known.size() - 1));
    std::nth_element(known.begin(), known.begin() + place, known.end());
    return known[static_cast<size_t>(place)];
  };
  // One rank of a thousand that is late in most steps is not an outlier.
  matrix.high_ns = std::max(at(kHighest), highest_median(matrix));
  // Steps are never empty: show how they differ, not what they have in common.
  matrix.low_ns = matrix.metric == Metric::kStepTime ? at(kLowest) : 0;
  if (matrix.metric == Metric::kOwnDelay) set_delay_colours(model, matrix);
}

// A row's sort key: lower first, unknown last.
using RowKey = std::pair<int64_t, int64_t>;

class RowKeys {
 public:
  RowKeys(const Model& model, const StepMatrix& by_rank, RankOrder order)
      : model_(model), means_(by_rank.rank_mean_ns), order_(order) {
    if (order != RankOrder::kByCost || !model.report.stragglers) return;
    for (const analyzer::Straggler& one : *model.report.stragglers) {
      if (one.rank) add_cost(*one.rank, one.cost_ns);
      for (const int rank : one.host_ranks) add_cost(rank, one.cost_ns);
    }
  }

  // Ranks without a cost in the report are ordered by value.
  [[nodiscard]] RowKey of(size_t r) const {
    const int64_t mean = means_[r];
    const int64_t highest_first =
        mean == StepMatrix::kUnknown ? std::numeric_limits<int64_t>::max() : -mean;
    switch (order_) {
      case RankOrder::kByValue:
        return {highest_first, 0};
      case RankOrder::kByCost: {
        const auto cost = costs_.find(model_.ranks[r].rank);
        return {cost == costs_.end() ? 0 : -cost->second, highest_first};
      }
      case RankOrder::kByRank:
        break;
    }
    return {static_cast<int64_t>(r), 0};
  }

 private:
  void add_cost(int rank, int64_t ns) { costs_[rank] = std::max(costs_[rank], ns); }

  const Model& model_;
  const std::vector<int64_t>& means_;
  RankOrder order_;
  std::unordered_map<int, int64_t> costs_;
};

struct Row {
  std::vector<size_t> ranks;  // positions in Model::ranks
  bool is_group = false;
};

// In order. A group's position is that of its first rank.
std::vector<Row> rows_of(const Model& model, const StepMatrix& by_rank, const RowChoice& choice) {
  const RankDivision* division =
      choice.division ? &model.groups.divisions[*choice.division] : nullptr;
  const RowKeys keys(model, by_rank, choice.order);
  std::vector<size_t> order(model.ranks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](size_t r) { return keys.of(r); });
  std::vector<std::vector<size_t>> groups;
  if (division == nullptr) {
    groups.push_back(std::move(order));
  } else {
    std::unordered_map<size_t, size_t> place;
    for (const size_t r : order) {
      const auto [at, added] = place.try_emplace(division->group[r], groups.size());
      if (added) groups.emplace_back();
      groups[at->second].push_back(r);
    }
  }
  std::vector<Row> rows;
  for (std::vector<size_t>& ranks : groups) {
    const bool folded = division != nullptr && choice.folded &&
                        !choice.unfolded.contains(division->group[ranks.front()]);
    if (folded) {
      rows.push_back({std::move(ranks), true});
    } else {
      for (const size_t r : ranks) rows.push_back({{r}, false});
    }
  }
  return rows;
}

// Rearranges a matrix with a row per rank, in rank order, into one with these rows.
void arrange(const Model& model, const RowChoice& choice, StepMatrix& matrix) {
  if (choice.order == RankOrder::kByRank && !choice.division) return;
  const std::vector<Row> rows = rows_of(model, matrix, choice);
  const size_t steps = matrix.steps.size();
  const std::vector<int64_t> ns = std::exchange(matrix.ns, {});
  const std::vector<int64_t> means = std::exchange(matrix.rank_mean_ns, {});
  matrix.ranks.clear();
  matrix.members.clear();
  matrix.ns.reserve(rows.size() * steps);
  for (const auto& [ranks, is_group] : rows) {
    const size_t worst = *std::ranges::max_element(ranks, {}, [&](size_t r) { return means[r]; });
    matrix.ranks.push_back(worst);
    matrix.rank_mean_ns.push_back(means[worst]);
    matrix.members.push_back(is_group ? ranks : std::vector<size_t>());
    for (size_t s = 0; s < steps; ++s) {
      int64_t highest = StepMatrix::kUnknown;
      for (const size_t r : ranks) highest = std::max(highest, ns[r * steps + s]);
      matrix.ns.push_back(highest);
    }
  }
}

}  // namespace

float StepMatrix::level_of(int64_t value_ns) const {
  if (value_ns == kUnknown) return -1;
  if (high_ns <= low_ns) return 0;
  const double level =
      static_cast<double>(value_ns - low_ns) / static_cast<double>(high_ns - low_ns);
  return static_cast<float>(std::clamp(level, 0.0, 1.0));
}

StepMatrix step_matrix(const Model& model, Metric metric, const RowChoice& rows) {
  StepMatrix matrix{.metric = metric};
  for (const analyzer::StepWindow& step : model.steps) matrix.steps.push_back(step.index);
  const Columns columns = columns_of(matrix.steps);
  const size_t steps = matrix.steps.size();
  matrix.ns.assign(model.ranks.size() * steps, StepMatrix::kUnknown);
  for (size_t r = 0; r < model.ranks.size(); ++r) {
    matrix.ranks.push_back(r);
    fill(model.ranks[r], metric, columns, std::span(matrix.ns).subspan(r * steps, steps));
  }
  fill_means(matrix);
  set_colours(model, matrix);
  matrix.members.resize(matrix.ranks.size());
  arrange(model, rows, matrix);
  matrix.levels.reserve(matrix.ns.size());
  for (const int64_t value : matrix.ns) {
    const float share = matrix.level_of(value);
    matrix.levels.push_back(share < 0 ? uint8_t{0} : level_of_share(share));
  }
  return matrix;
}

size_t rank_in(const Model& model, const StepMatrix& matrix, size_t row, size_t column) {
  if (matrix.members[row].empty()) return matrix.ranks[row];
  size_t best = matrix.ranks[row];
  int64_t most = StepMatrix::kUnknown;
  for (const size_t r : matrix.members[row]) {
    std::vector<int64_t> values(matrix.steps.size(), StepMatrix::kUnknown);
    fill(model.ranks[r], matrix.metric, columns_of(matrix.steps), values);
    if (values[column] <= most) continue;
    most = values[column];
    best = r;
  }
  return best;
}

}  // namespace dprof::view
