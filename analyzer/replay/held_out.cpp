// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/held_out.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kLeastHeldOut = 4;    // steps that are predicted
constexpr double kChangedLoad = 0.03;  // of a step, between the halves' medians

// One occurrence, in one step, of something that recurs in each step. There are as many as tasks.
struct Occurrence {
  uint32_t thing = 0;
  uint32_t step = 0;
  TaskId task = 0;
};

// Gives equal keys equal numbers. Those of one rank are contiguous.
class Things {
 public:
  // The n-th of a kind in a step of a rank.
  uint32_t of(uint32_t entry, uint32_t step, uint32_t kind) {
    if (entry != entry_) seen_.clear();
    entry_ = entry;
    const uint32_t n = seen_[{step, kind}]++;
    return numbers_.try_emplace({entry, kind, n}, static_cast<uint32_t>(numbers_.size()))
        .first->second;
  }

 private:
  uint32_t entry_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> seen_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> numbers_;
};

// Puts the occurrences of each thing together, in order of the steps.
void sort_things(std::vector<Occurrence>& all) {
  std::ranges::sort(all, {}, [](const Occurrence& one) { return std::tuple(one.thing, one.step); });
}

class HeldOutCheck {
 public:
  explicit HeldOutCheck(const PlayedRun& run) : run_(run) {
    {
      Things things;
      std::vector<uint32_t> thing_of(run.moves.size());
      transfers_.reserve(run.moves.size());
      for (size_t m = 0; m < run.moves.size(); ++m) {
        const Move& move = run.moves[m];
        thing_of[m] = things.of(move.entry, move.step, move.kind);
        transfers_.push_back({thing_of[m], move.step, move.task});
      }
      for (TaskId task = 0; task < run.roles.size(); ++task) {
        const TaskRole& role = run.roles[task];
        if (role.what != TaskRole::What::kStart) continue;
        starts_.push_back({thing_of[role.index], run.moves[role.index].step, task});
      }
    }
    Things things;
    for (const GateTask& gate : run.gates)
      gates_.push_back({things.of(gate.entry, gate.step, 0), gate.step, gate.task});
    for (auto* all : {&transfers_, &starts_, &gates_}) sort_things(*all);
  }

  HeldOut run() const {
    HeldOut result;
    const size_t steps = run_.steps.size();
    if (steps < 2 * kLeastHeldOut) return result;
    const auto even = [](size_t step) { return step % 2 == 1; };  // the second, fourth, …
    result.error = median_error(predicted(even, true), even);
    const size_t middle = steps / 2;
    const auto second = [middle](size_t step) { return step >= middle; };
    std::vector<int64_t> halves[2];
    for (size_t s = 0; s < steps; ++s)
      halves[second(s) ? 1 : 0].push_back(run_.steps[s].recorded_ns);
    const auto first_median = static_cast<double>(median_ns(halves[0]));
    const auto second_median = static_cast<double>(median_ns(halves[1]));
    if (first_median > 0 && std::abs(second_median / first_median - 1) > kChangedLoad)
      result.half_error = mean_error(predicted(second, false), second);
    return result;
  }

 private:
  // Lengths of all steps if the chosen ones take the times of the others.
  template <typename Chosen>
  [[nodiscard]] std::vector<int64_t> predicted(const Chosen& chosen, bool works) const {
    std::vector<int64_t> durations(run_.durations.begin(), run_.durations.end());
    std::vector<int64_t> lags(run_.lags.begin(), run_.lags.end());
    take_others(transfers_, chosen, durations);
    take_others(starts_, chosen, lags);
    take_others(gates_, chosen, lags);
    for (const Spot& spot : run_.spots) {
      if (!works) break;
      for (size_t begin = 0; begin < spot.size();) {
        size_t end = begin;
        std::vector<StepTime> all;
        while (end < spot.size() && spot[end].entry == spot[begin].entry) {
          all.push_back({spot[end].step, end, spot[end].ns});
          ++end;
        }
        take_others(all, chosen, [&](const StepTime& one, int64_t ns) {
          const SpotWork& work = spot[one.which];
          if (work.ns <= 0) return;
          const double factor = static_cast<double>(ns) / static_cast<double>(work.ns);
          for (uint32_t i = 0; i < work.count; ++i) {
            int64_t& duration = durations[run_.works[work.first + i].task];
            duration = std::llround(static_cast<double>(duration) * factor);
          }
        });
        begin = end;
      }
    }
    return step_lengths(run_.steps, run_.graph->simulate(durations, lags));
  }

  // The time that one thing took in a step.
  struct StepTime {
    size_t step = 0;
    size_t which = 0;
    int64_t ns = 0;
  };

  template <typename Chosen>
  static void take_others(const std::vector<Occurrence>& all, const Chosen& chosen,
                          std::vector<int64_t>& times) {
    std::vector<StepTime> of_thing;
    for (size_t i = 0; i < all.size(); ++i) {
      of_thing.push_back({all[i].step, all[i].task, times[all[i].task]});
      if (i + 1 < all.size() && all[i + 1].thing == all[i].thing) continue;
      take_others(of_thing, chosen,
                  [&](const StepTime& one, int64_t ns) { times[one.which] = ns; });
      of_thing.clear();
    }
  }

  template <typename Chosen, typename Take>
  static void take_others(const std::vector<StepTime>& all, const Chosen& chosen,
                          const Take& take) {
    std::vector<int64_t> fitted;
    std::vector<const StepTime*> asked;
    for (const StepTime& one : all) {
      if (chosen(one.step)) {
        asked.push_back(&one);
      } else {
        fitted.push_back(one.ns);
      }
    }
    if (fitted.empty() || asked.empty()) return;
    std::ranges::sort(fitted);
    std::ranges::stable_sort(asked, {}, [](const StepTime* one) { return one->ns; });
    for (size_t i = 0; i < asked.size(); ++i) {
      const double q = (static_cast<double>(i) + 0.5) / static_cast<double>(asked.size());
      take(*asked[i], std::llround(quantile_of_sorted(fitted, q)));
    }
  }

  template <typename Chosen>
  [[nodiscard]] double median_error(const std::vector<int64_t>& lengths,
                                    const Chosen& chosen) const {
    std::vector<double> errors;
    for (size_t s = 0; s < lengths.size(); ++s) {
      if (!chosen(s) || run_.steps[s].recorded_ns <= 0) continue;
      const auto recorded = static_cast<double>(run_.steps[s].recorded_ns);
      errors.push_back(std::abs(static_cast<double>(lengths[s]) - recorded) / recorded);
    }
    return median(std::move(errors));
  }

  template <typename Chosen>
  [[nodiscard]] double mean_error(const std::vector<int64_t>& lengths, const Chosen& chosen) const {
    double replayed = 0;
    double recorded = 0;
    for (size_t s = 0; s < lengths.size(); ++s) {
      if (!chosen(s)) continue;
      replayed += static_cast<double>(lengths[s]);
      recorded += static_cast<double>(run_.steps[s].recorded_ns);
    }
    return recorded <= 0 ? 0 : std::abs(replayed - recorded) / recorded;
  }

  const PlayedRun& run_;
  std::vector<Occurrence> transfers_;
  std::vector<Occurrence> starts_;
  std::vector<Occurrence> gates_;
};

}  // namespace

HeldOut held_out_of(const PlayedRun& run) { return HeldOutCheck(run).run(); }

}  // namespace dprof::analyzer
