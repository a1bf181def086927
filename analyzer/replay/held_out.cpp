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

// The same thing in different steps.
struct Occurrence {
  size_t step = 0;
  TaskId task = 0;
  int64_t ns = 0;
};
using Occurrences = std::vector<Occurrence>;

class HeldOutCheck {
 public:
  explicit HeldOutCheck(const PlayedRun& run) : run_(run) {
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> number;  // entry, step, kind
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Occurrences> transfers;
    std::map<std::pair<uint32_t, uint32_t>, Occurrences> gates;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Occurrences> starts;
    std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> key_of(run.moves.size());
    for (size_t m = 0; m < run.moves.size(); ++m) {
      const Move& move = run.moves[m];
      key_of[m] = {move.entry, move.kind, number[{move.entry, move.step, move.kind}]++};
      transfers[key_of[m]].push_back({move.step, move.task, run.durations[move.task]});
    }
    for (TaskId task = 0; task < run.roles.size(); ++task) {
      const TaskRole& role = run.roles[task];
      if (role.what != TaskRole::What::kStart) continue;
      starts[key_of[role.index]].push_back({run.moves[role.index].step, task, run.lags[task]});
    }
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> gate_number;
    for (const GateTask& gate : run.gates) {
      const uint32_t n = gate_number[{gate.entry, gate.step}]++;
      gates[{gate.entry, n}].push_back({gate.step, gate.task, run.lags[gate.task]});
    }
    for (auto& [key, all] : transfers) transfers_.push_back(std::move(all));
    for (auto& [key, all] : starts) lags_.push_back(std::move(all));
    for (auto& [key, all] : gates) lags_.push_back(std::move(all));
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
  // Lengths of all steps where the chosen ones take what the others took.
  template <typename Chosen>
  [[nodiscard]] std::vector<int64_t> predicted(const Chosen& chosen, bool works) const {
    std::vector<int64_t> durations = run_.durations;
    std::vector<int64_t> lags = run_.lags;
    for (const Occurrences& all : transfers_) {
      take_others(all, chosen,
                  [&](const Occurrence& one, int64_t ns) { durations[one.task] = ns; });
    }
    for (const Occurrences& all : lags_) {
      take_others(all, chosen, [&](const Occurrence& one, int64_t ns) { lags[one.task] = ns; });
    }
    for (const Spot& spot : run_.spots) {
      if (!works) break;
      for (size_t begin = 0; begin < spot.size();) {
        size_t end = begin;
        Occurrences all;
        while (end < spot.size() && spot[end].entry == spot[begin].entry) {
          all.push_back({spot[end].step, static_cast<TaskId>(end), spot[end].ns});
          ++end;
        }
        take_others(all, chosen, [&](const Occurrence& one, int64_t ns) {
          const SpotWork& work = spot[one.task];
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

  template <typename Chosen, typename Take>
  static void take_others(const Occurrences& all, const Chosen& chosen, const Take& take) {
    std::vector<int64_t> fitted;
    std::vector<const Occurrence*> asked;
    for (const Occurrence& one : all) {
      if (chosen(one.step)) {
        asked.push_back(&one);
      } else {
        fitted.push_back(one.ns);
      }
    }
    if (fitted.empty() || asked.empty()) return;
    std::ranges::sort(fitted);
    std::ranges::stable_sort(asked, {}, [](const Occurrence* one) { return one->ns; });
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
    double told = 0;
    double recorded = 0;
    for (size_t s = 0; s < lengths.size(); ++s) {
      if (!chosen(s)) continue;
      told += static_cast<double>(lengths[s]);
      recorded += static_cast<double>(run_.steps[s].recorded_ns);
    }
    return recorded <= 0 ? 0 : std::abs(told - recorded) / recorded;
  }

  const PlayedRun& run_;
  std::vector<Occurrences> transfers_;  // durations
  std::vector<Occurrences> lags_;
};

}  // namespace

HeldOut held_out_of(const PlayedRun& run) { return HeldOutCheck(run).run(); }

}  // namespace dprof::analyzer
