// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/step_matrix.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <unordered_map>

#include "gui/view/drawing/grid.h"

namespace dprof::view {
namespace {

using analyzer::Category;
using Columns = std::unordered_map<int64_t, size_t>;  // by a step's index

constexpr double kHighest = 0.99;  // share of the values that the colours tell apart
constexpr double kLowest = 0.01;

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

// Time of the metric's categories within each of a rank's steps.
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
  for (size_t r = 0; r < matrix.ranks.size(); ++r) {
    Mean of_rank;
    for (size_t s = 0; s < matrix.steps.size(); ++s) {
      of_rank.add(matrix.at(r, s));
      by_step[s].add(matrix.at(r, s));
    }
    matrix.rank_mean_ns.push_back(of_rank.value());
  }
  for (const Mean& mean : by_step) matrix.step_mean_ns.push_back(mean.value());
}

// Of the ranks' medians over steps. Some value is known.
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

void set_colours(StepMatrix& matrix) {
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
  // One rank of a thousand that is late in most steps is no wild value.
  matrix.high_ns = std::max(at(kHighest), highest_median(matrix));
  // Steps are never empty: what differs between them is seen, not what they have in common.
  matrix.low_ns = matrix.metric == Metric::kStepTime ? at(kLowest) : 0;
}

void sort_by_value(StepMatrix& matrix) {
  const size_t steps = matrix.steps.size();
  std::vector<size_t> order(matrix.ranks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater{}, [&](size_t r) { return matrix.rank_mean_ns[r]; });
  StepMatrix sorted = matrix;
  for (size_t r = 0; r < order.size(); ++r) {
    sorted.ranks[r] = matrix.ranks[order[r]];
    sorted.rank_mean_ns[r] = matrix.rank_mean_ns[order[r]];
    std::copy_n(matrix.ns.begin() + static_cast<ptrdiff_t>(order[r] * steps), steps,
                sorted.ns.begin() + static_cast<ptrdiff_t>(r * steps));
  }
  matrix = std::move(sorted);
}

}  // namespace

float StepMatrix::level_of(int64_t value_ns) const {
  if (value_ns == kUnknown) return -1;
  if (high_ns <= low_ns) return 0;
  const double level =
      static_cast<double>(value_ns - low_ns) / static_cast<double>(high_ns - low_ns);
  return static_cast<float>(std::clamp(level, 0.0, 1.0));
}

StepMatrix step_matrix(const Model& model, Metric metric, RankOrder order) {
  StepMatrix matrix{.metric = metric};
  Columns columns;
  for (const analyzer::StepWindow& step : model.steps) {
    columns.emplace(step.index, matrix.steps.size());
    matrix.steps.push_back(step.index);
  }
  const size_t steps = matrix.steps.size();
  matrix.ns.assign(model.ranks.size() * steps, StepMatrix::kUnknown);
  for (size_t r = 0; r < model.ranks.size(); ++r) {
    matrix.ranks.push_back(r);
    fill(model.ranks[r], metric, columns, std::span(matrix.ns).subspan(r * steps, steps));
  }
  fill_means(matrix);
  set_colours(matrix);
  if (order == RankOrder::kByValue) sort_by_value(matrix);
  matrix.levels.reserve(matrix.ns.size());
  for (const int64_t value : matrix.ns) {
    const float share = matrix.level_of(value);
    matrix.levels.push_back(share < 0 ? uint8_t{0} : level_of_share(share));
  }
  return matrix;
}

}  // namespace dprof::view
