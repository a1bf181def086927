// SPDX-License-Identifier: Apache-2.0
#include "analyzer/compare/compare.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <compare>
#include <functional>
#include <map>
#include <numbers>
#include <string_view>

#include "analyzer/lanes/lane_walk.h"

namespace dprof::analyzer {
namespace {

struct NameKey {
  bool on_device = false;
  std::string_view name;
  auto operator<=>(const NameKey&) const = default;
};
using Costs = std::map<NameKey, NameCost>;

// A rank's steady steps, from the first one's begin to the last one's end, and how many.
struct Steady {
  Interval span;
  int64_t steps = 0;
};

Steady steady_of(const ComparedRank& rank, const StepsInfo& info) {
  Steady steady;
  for (const StepWindow& step : rank.steps) {
    if (step.index < info.first_steady || step.index > info.last_steady) continue;
    if (steady.steps++ == 0) steady.span.begin = step.window.begin;
    steady.span.end = step.window.end;
  }
  return steady;
}

// One rank's sums, by position of the name in the rank's list.
class RankSums {
 public:
  RankSums(const RankLanes& lanes, Interval span) : lanes_(lanes), span_(span) {
    for (std::vector<NameCost>& sums : sums_) sums.resize(lanes.names.size());
    for (const ThreadLanes& thread : lanes.threads) {
      if (thread.table == "host_range") add_nested(thread);
      if (thread.table == "gpu_activity") add_flat(thread);
    }
  }

  void add_to(Costs& costs) const {
    for (size_t where = 0; where < sums_.size(); ++where) {
      for (size_t n = 0; n < sums_[where].size(); ++n) {
        const NameCost& sum = sums_[where][n];
        if (sum.count <= 0) continue;
        NameCost& cost = costs[{where == kDevice, lanes_.names[n]}];
        cost.total_ns += sum.total_ns;
        cost.self_ns += sum.self_ns;
        cost.count += sum.count;
        if (cost.by_length.size() < sum.by_length.size())
          cost.by_length.resize(sum.by_length.size());
        for (size_t b = 0; b < sum.by_length.size(); ++b) cost.by_length[b] += sum.by_length[b];
      }
    }
  }

 private:
  static constexpr size_t kHost = 0;
  static constexpr size_t kDevice = 1;

  [[nodiscard]] bool counts(const Lane& lane, size_t slice) const {
    const TraceNs begin{lane.start_ns[slice]};
    return begin >= span_.begin && begin < span_.end &&
           !is_unfinished(lanes_, begin + DurationNs{lane.duration_ns[slice]});
  }
  NameCost& add(const Lane& lane, size_t slice, size_t where) {
    NameCost& sum = sums_[where][static_cast<size_t>(lane.name[slice])];
    sum.total_ns += static_cast<double>(lane.duration_ns[slice]);
    sum.self_ns += static_cast<double>(lane.duration_ns[slice]);
    ++sum.count;
    const size_t bucket = length_bucket(lane.duration_ns[slice]);
    if (sum.by_length.size() <= bucket) sum.by_length.resize(bucket + 1);
    ++sum.by_length[bucket];
    return sum;
  }

  void add_nested(const ThreadLanes& thread) {
    walk_nested<NameCost*>(thread, span_, nullptr,
                           [&](const Lane& lane, size_t slice, NameCost* around) -> NameCost* {
                             if (!counts(lane, slice)) return nullptr;
                             if (around != nullptr)
                               around->self_ns -= static_cast<double>(lane.duration_ns[slice]);
                             return &add(lane, slice, kHost);
                           });
  }
  void add_flat(const ThreadLanes& stream) {
    for (const Lane& lane : stream.depths) {
      const SliceRange range = slices_in(lane, span_);
      for (size_t i = range.first; i < range.end; ++i) {
        if (counts(lane, i)) add(lane, i, kDevice);
      }
    }
  }

  const RankLanes& lanes_;
  Interval span_;
  std::array<std::vector<NameCost>, 2> sums_;
};

Costs costs_of(const ComparedRun& run) {
  Costs costs;
  if (!run.report->run.steps) return costs;
  double rank_steps = 0;
  for (const ComparedRank& rank : run.ranks) {
    const Steady steady = steady_of(rank, *run.report->run.steps);
    if (steady.steps == 0) continue;
    rank_steps += static_cast<double>(steady.steps);
    RankSums(*rank.lanes, steady.span).add_to(costs);
  }
  for (auto& [key, cost] : costs) {
    cost.total_ns /= rank_steps;
    cost.self_ns /= rank_steps;
    cost.count /= rank_steps;
    for (double& count : cost.by_length) count /= rank_steps;
  }
  return costs;
}

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

size_t length_bucket(int64_t duration_ns) {
  if (duration_ns <= 1) return 0;
  const auto octave = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(duration_ns))) - 1;
  const double middle = std::ldexp(std::numbers::sqrt2, static_cast<int>(octave));
  return 2 * octave + (static_cast<double>(duration_ns) >= middle ? 1 : 0);
}

int64_t bucket_begin_ns(size_t bucket) {
  if (bucket == 0) return 0;
  const double begin =
      std::ldexp(bucket % 2 == 1 ? std::numbers::sqrt2 : 1.0, static_cast<int>(bucket / 2));
  return static_cast<int64_t>(std::ceil(begin));
}

std::string aligned_name(std::string_view name) {
  std::string aligned;
  int depth = 0;  // nesting depth of template arguments
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const char before = i > 0 ? name[i - 1] : ' ';
    if (c == '<' && before != ' ' && before != '<') {
      ++depth;
    } else if (c == '>' && depth > 0 && before != '-') {
      --depth;
    } else if (depth > 0) {
      continue;
    } else if (c == '(' && aligned.starts_with("void ")) {
      break;
    } else if (c == '0' && i + 1 < name.size() && name[i + 1] == 'x' && !is_word(before)) {
      i = std::min(name.find_first_not_of("0123456789abcdefABCDEF", i + 2), name.size()) - 1;
      aligned += "0x";
    } else if (c == '#') {
      i = std::min(name.find_first_not_of("0123456789", i + 1), name.size()) - 1;
      aligned += '#';
    } else {
      aligned += c;
    }
  }
  if (depth > 0 || aligned.empty()) return std::string(name);  // no template arguments after all
  return aligned;
}

std::span<const StepWindow> steps_to_count(std::span<const StepWindow> steps, const StepsInfo& info,
                                           int64_t events) {
  if (events <= Names::kMostEvents) return steps;
  const auto all = static_cast<int64_t>(steps.size());
  const int64_t count = std::max<int64_t>(1, all * Names::kMostEvents / events);
  while (!steps.empty() && steps.back().index > info.last_steady)
    steps = steps.first(steps.size() - 1);
  return steps.last(std::min(steps.size(), static_cast<size_t>(count)));
}

std::optional<Names> names_of(const ComparedRun& run, std::vector<int> ranks) {
  std::map<std::pair<bool, std::string>, NameCost> sums;
  for (const auto& [key, cost] : costs_of(run)) {
    NameCost& sum = sums[{key.on_device, aligned_name(key.name)}];
    sum.total_ns += cost.total_ns;
    sum.self_ns += cost.self_ns;
    sum.count += cost.count;
  }
  if (sums.empty()) return std::nullopt;
  Names names{.ranks = std::move(ranks)};
  for (const auto& [key, sum] : sums) {
    names.list.push_back({.name = key.second,
                          .on_device = key.first,
                          .count = sum.count,
                          .total_ns = std::llround(sum.total_ns),
                          .self_ns = std::llround(sum.self_ns)});
  }
  std::ranges::stable_sort(names.list, std::greater(), &NameTimes::self_ns);
  if (names.list.size() > Names::kMost) {
    names.left_out = static_cast<int64_t>(names.list.size() - Names::kMost);
    names.list.resize(Names::kMost);
  }
  return names;
}

double ComparedName::difference_ns() const { return (b ? b->self_ns : 0) - (a ? a->self_ns : 0); }

RunComparison compare(const ComparedRun& a, const ComparedRun& b) {
  RunComparison comparison{.a = mean_step(*a.report), .b = mean_step(*b.report)};
  std::map<NameKey, ComparedName> names;
  const auto add = [&](const Costs& costs, std::optional<NameCost> ComparedName::*side) {
    for (const auto& [key, cost] : costs) {
      ComparedName& name = names[key];
      name.name = key.name;
      name.on_device = key.on_device;
      name.*side = cost;
    }
  };
  add(costs_of(a), &ComparedName::a);
  add(costs_of(b), &ComparedName::b);
  for (auto& [key, name] : names) comparison.names.push_back(std::move(name));
  std::ranges::stable_sort(comparison.names, std::greater(),
                           [](const ComparedName& name) { return std::abs(name.difference_ns()); });
  if (comparison.names.empty())
    comparison.why_no_names = "neither run has events within steady steps";
  return comparison;
}

}  // namespace dprof::analyzer
