// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/critical_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "base/in_threads.h"

namespace dprof::analyzer {
namespace {

constexpr double kShorter = 0.1;   // by this share, in each trial
constexpr size_t kMostTried = 8;   // of each list
constexpr size_t kMostNames = 24;  // listed
constexpr size_t kMostHandOvers = 32;

constexpr std::string_view kUnexplainedName = "unexplained";

// Sums of something over the steps.
struct Tally {
  double ns = 0;
  size_t steps = 0;  // in which it is on the path
  size_t last_step = SIZE_MAX;

  void add(double more, size_t step) {
    if (more <= 0) return;
    ns += more;
    if (last_step != step) ++steps;
    last_step = step;
  }
};
using Tallies = std::map<std::string, Tally>;

std::string phase_of_kind(const WorkKind& kind) {
  return kind.computes() ? std::string(key_of(kind.phase_of())) : "none";
}
std::string category_of_kind(const WorkKind& kind) { return std::string(key_of(kind.category)); }

std::string rank_name(int rank) { return fmt::format("rank {}", rank); }

class PathSummary {
 public:
  explicit PathSummary(const WhatIfModel& model)
      : model_(model), run_(model.run()), finder_(model) {}

  CriticalPath run() {
    CriticalPath result;
    for (size_t s = 0; s < run_.steps.size(); ++s) result.per_step.push_back(add_step(s));
    result.by_category = shares(categories_);
    result.by_rank = shares(ranks_);
    result.by_phase = shares(phases_);
    result.by_name = shares(names_);
    result.by_name.resize(std::min(result.by_name.size(), kMostNames));
    try_shorter(result);
    for (const auto& [hop, count] : hops_) {
      const auto& [from, to, by] = hop;
      result.hand_overs.push_back(
          {run_.ranks[from], run_.ranks[to], by,
           static_cast<double>(count) / static_cast<double>(run_.steps.size())});
    }
    std::ranges::stable_sort(result.hand_overs, std::greater{}, &HandOver::per_step);
    result.hand_overs.resize(std::min(result.hand_overs.size(), kMostHandOvers));
    result.slack = slack();
    return result;
  }

 private:
  StepPath add_step(size_t s) {
    const PathOfStep path = finder_.path(s);
    Tallies here;
    for (const PathPiece& piece : path.pieces) {
      const auto length = static_cast<double>(piece.end_ns - piece.begin_ns);
      ranks_[rank_name(run_.ranks[piece.entry])].add(length, s);
      if (piece.what == PathPiece::What::kWork) {
        add_work(run_.works[piece.index], length, s, here);
        continue;
      }
      const bool transfer = piece.what == PathPiece::What::kTransfer;
      const std::string name = transfer ? run_.move_kinds[run_.moves[piece.index].kind].name
                                        : std::string(kUnexplainedName);
      const std::string_view category =
          transfer ? key_of(Category::kExposedTransfer) : kUnexplainedName;
      categories_[std::string(category)].add(length, s);
      phases_["none"].add(length, s);
      names_[name].add(length, s);
      here[name].add(length, s);
    }
    for (const PathHop& hop : path.hops)
      ++hops_[{hop.from, hop.to, run_.move_kinds[run_.moves[hop.move].kind].by}];
    total_ += static_cast<double>(model_.unchanged()[s]);
    StepPath step{.step = run_.step_index[s],
                  .length_ns = model_.unchanged()[s],
                  .last_rank = run_.ranks[path.last],
                  .hand_overs = static_cast<int64_t>(path.hops.size()),
                  .longest = {}};
    for (const auto& [name, tally] : here) {
      if (std::llround(tally.ns) <= step.longest_ns) continue;
      step.longest = name;
      step.longest_ns = std::llround(tally.ns);
    }
    return step;
  }

  // Divided in proportion to its kinds: their order within it is unknown.
  void add_work(const Work& work, double length, size_t s, Tallies& here) {
    double all = 0;
    for (uint32_t p = 0; p < work.parts; ++p)
      all += static_cast<double>(run_.parts[work.first_part + p].ns);
    for (uint32_t p = 0; p < work.parts; ++p) {
      const WorkPart& part = run_.parts[work.first_part + p];
      const WorkKind& kind = run_.work_kinds[part.kind];
      const double ns = all <= 0 ? 0 : length * static_cast<double>(part.ns) / all;
      categories_[category_of_kind(kind)].add(ns, s);
      phases_[phase_of_kind(kind)].add(ns, s);
      names_[kind.name].add(ns, s);
      here[kind.name].add(ns, s);
    }
  }

  [[nodiscard]] std::vector<OnPath> shares(const Tallies& tallies) const {
    std::vector<OnPath> list;
    const auto steps = static_cast<double>(std::max<size_t>(1, run_.steps.size()));
    for (const auto& [name, tally] : tallies) {
      list.push_back({.name = name,
                      .ns = std::llround(tally.ns / steps),
                      .share = total_ <= 0 ? 0 : tally.ns / total_,
                      .criticality = static_cast<double>(tally.steps) / steps,
                      .gain_ns = {}});
    }
    std::ranges::stable_sort(list, std::greater{}, &OnPath::ns);
    return list;
  }

  // What takes a tenth less in one trial.
  struct Trial {
    std::vector<bool> work_kinds;
    std::vector<bool> move_kinds;
    std::optional<uint32_t> entry;  // all of its work
    std::vector<OnPath*> of;        // those with this meaning
  };

  // Mean gain per step.
  [[nodiscard]] int64_t gain(const Trial& trial) const {
    std::vector<int64_t> changed(run_.durations.begin(), run_.durations.end());
    for (const Work& work : run_.works) {
      const double share = trial.entry ? (work.entry == *trial.entry ? 1.0 : 0.0)
                                       : share_of_kinds(work, trial.work_kinds);
      if (share <= 0) continue;
      changed[work.task] -=
          std::llround(kShorter * share * static_cast<double>(changed[work.task]));
    }
    for (const Move& move : run_.moves) {
      if (trial.move_kinds[move.kind])
        changed[move.task] -= std::llround(kShorter * static_cast<double>(changed[move.task]));
    }
    return std::llround(mean_of(model_.unchanged()) - mean_of(run_.lengths(changed)));
  }

  [[nodiscard]] double share_of_kinds(const Work& work, const std::vector<bool>& chosen) const {
    double all = 0;
    double some = 0;
    for (uint32_t p = 0; p < work.parts; ++p) {
      const WorkPart& part = run_.parts[work.first_part + p];
      all += static_cast<double>(part.ns);
      if (chosen[part.kind]) some += static_cast<double>(part.ns);
    }
    return all <= 0 ? 0 : some / all;
  }

  // A phase is often a category and a name as well: that is one trial.
  static void add_trial(std::vector<Trial>& trials, Trial trial) {
    const auto same = std::ranges::find_if(trials, [&](const Trial& other) {
      return other.work_kinds == trial.work_kinds && other.move_kinds == trial.move_kinds &&
             other.entry == trial.entry;
    });
    if (same == trials.end()) {
      trials.push_back(std::move(trial));
    } else {
      same->of.push_back(trial.of.front());
    }
  }

  [[nodiscard]] Trial no_trial(OnPath& of) const {
    return {.work_kinds = std::vector<bool>(run_.work_kinds.size(), false),
            .move_kinds = std::vector<bool>(run_.move_kinds.size(), false),
            .entry = {},
            .of = {&of}};
  }

  template <typename NameOf>
  void add_kinds(std::vector<Trial>& trials, std::vector<OnPath>& list, const NameOf& name_of,
                 bool transfers_by_name) const {
    for (size_t i = 0; i < std::min(kMostTried, list.size()); ++i) {
      OnPath& one = list[i];
      if (one.name == kUnexplainedName) continue;
      const bool all_transfers = one.name == key_of(Category::kExposedTransfer);
      Trial trial = no_trial(one);
      for (size_t k = 0; k < trial.work_kinds.size(); ++k)
        trial.work_kinds[k] = name_of(run_.work_kinds[k]) == one.name;
      for (size_t k = 0; k < trial.move_kinds.size(); ++k) {
        trial.move_kinds[k] =
            all_transfers || (transfers_by_name && run_.move_kinds[k].name == one.name);
      }
      add_trial(trials, std::move(trial));
    }
  }

  void try_shorter(CriticalPath& result) const {
    std::vector<Trial> trials;
    add_kinds(trials, result.by_category, category_of_kind, false);
    add_kinds(
        trials, result.by_name, [](const WorkKind& kind) { return kind.name; }, true);
    std::vector<OnPath>& phases = result.by_phase;
    std::erase_if(phases, [](const OnPath& one) { return one.name == "none"; });
    add_kinds(trials, phases, phase_of_kind, false);
    for (size_t i = 0; i < std::min(kMostTried, result.by_rank.size()); ++i) {
      Trial trial = no_trial(result.by_rank[i]);
      const auto is_it = [&](int rank) { return rank_name(rank) == result.by_rank[i].name; };
      trial.entry =
          static_cast<uint32_t>(std::ranges::find_if(run_.ranks, is_it) - run_.ranks.begin());
      add_trial(trials, std::move(trial));
    }
    in_threads(trials.size(), kReplaysAtOnce, [&](size_t i) {
      const int64_t gained = gain(trials[i]);
      for (OnPath* one : trials[i].of) one->gain_ns = gained;
    });
  }

  [[nodiscard]] std::vector<PathSlack> slack() const {
    constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
    const size_t steps = run_.steps.size();
    std::vector<std::string> names;
    for (const WorkKind& kind : run_.work_kinds) names.push_back(category_of_kind(kind));
    std::vector<std::string> categories = names;
    std::ranges::sort(categories);
    categories.erase(std::unique(categories.begin(), categories.end()), categories.end());
    std::vector<size_t> category_of;  // by kind
    for (const std::string& name : names) {
      category_of.push_back(
          static_cast<size_t>(std::ranges::lower_bound(categories, name) - categories.begin()));
    }
    // [entry and category][step]: the least.
    std::vector<std::vector<int64_t>> least(run_.ranks.size() * categories.size());
    for (const Work& work : run_.works) {
      for (uint32_t p = 0; p < work.parts; ++p) {
        const size_t category = category_of[run_.parts[work.first_part + p].kind];
        std::vector<int64_t>& of_step = least[work.entry * categories.size() + category];
        if (of_step.empty()) of_step.assign(steps, kNone);
        of_step[work.step] = std::min(of_step[work.step], finder_.slack()[work.task]);
      }
    }
    std::vector<PathSlack> list;
    for (size_t i = 0; i < least.size(); ++i) {
      if (least[i].empty()) continue;
      double sum = 0;
      size_t n = 0;
      for (const int64_t ns : least[i]) {
        if (ns == kNone) continue;
        sum += static_cast<double>(ns);
        ++n;
      }
      list.push_back({run_.ranks[i / categories.size()], categories[i % categories.size()],
                      n == 0 ? 0 : std::llround(sum / static_cast<double>(n))});
    }
    std::ranges::stable_sort(list, {}, &PathSlack::rank);
    return list;
  }

  const WhatIfModel& model_;
  const PlayedRun& run_;
  PathFinder finder_;
  double total_ = 0;
  Tallies categories_;
  Tallies ranks_;
  Tallies phases_;
  Tallies names_;
  std::map<std::tuple<uint32_t, uint32_t, std::string>, int64_t> hops_;
};

}  // namespace

PathFinder::PathFinder(const WhatIfModel& model) : model_(model) {
  const PlayedRun& run = model.run();
  const std::vector<int64_t>& ends = model.ends();
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 2;
  std::vector<int64_t>& latest = slack_;
  latest.assign(ends.size(), kNever);
  for (const ReplayedStep& step : run.steps) {
    int64_t end = Task::kNoRelease;
    for (const TaskId task : step.last) end = std::max(end, ends[task]);
    step_ends_.push_back(end);
    for (const TaskId task : step.last) latest[task] = std::min(latest[task], end);
  }
  for (auto task = static_cast<TaskId>(ends.size()); task-- > 0;) {
    const int64_t begin = latest[task] - run.durations[task] - run.lags[task];
    for (const TaskId before : run.graph->before(task))
      latest[before] = std::min(latest[before], begin);
  }
  for (size_t t = 0; t < latest.size(); ++t) latest[t] -= ends[t];
}

PathOfStep PathFinder::path(size_t step) const {
  const PlayedRun& run = model_.run();
  const std::vector<int64_t>& ends = model_.ends();
  const TaskGraph& graph = *run.graph;
  PathOfStep path;
  if (run.steps[step].last.empty()) return path;
  const int64_t from =
      run.steps[step].begin_ns.value_or(step > 0 ? step_ends_[step - 1] : Task::kNoRelease);
  const auto entry_of = [&](const TaskRole& role) -> std::optional<uint32_t> {
    switch (role.what) {
      case TaskRole::What::kWork:
        return run.works[role.index].entry;
      case TaskRole::What::kMove:
      case TaskRole::What::kStart:
        return run.moves[role.index].entry;
      case TaskRole::What::kGate:
        return run.gates[role.index].entry;
      case TaskRole::What::kNothing:
        break;
    }
    return std::nullopt;
  };
  TaskId at =
      *std::ranges::max_element(run.steps[step].last, {}, [&](TaskId task) { return ends[task]; });
  std::optional<uint32_t> entry = entry_of(run.roles[at]);
  path.last = entry.value_or(0);
  std::optional<uint32_t> move;  // of `entry`, the last one that was passed
  while (true) {
    const TaskRole& role = run.roles[at];
    if (const auto here = entry_of(role)) {
      if (entry && *entry != *here && move) path.hops.push_back({ends[at], *here, *entry, *move});
      entry = here;
    }
    if (role.what == TaskRole::What::kMove) move = role.index;
    std::optional<TaskId> next;
    int64_t ready = graph.release(at);
    for (const TaskId before : graph.before(at)) {
      const auto owner = entry_of(run.roles[before]);
      const bool own = owner && owner == entry;
      if (ends[before] > ready || (ends[before] == ready && (own || !next))) {
        ready = ends[before];
        next = before;
      }
    }
    const int64_t begin = ready + run.lags[at];
    const uint32_t owner = entry.value_or(0);
    if (ends[at] > std::max(begin, from)) {
      const bool work = role.what == TaskRole::What::kWork;
      path.pieces.push_back({work ? PathPiece::What::kWork : PathPiece::What::kTransfer,
                             std::max(begin, from), ends[at], owner, role.index});
    }
    if (begin > std::max(ready, from)) {
      path.pieces.push_back(
          {PathPiece::What::kUnexplained, std::max(ready, from), begin, owner, role.index});
    }
    if (!next || ready <= from) break;
    at = *next;
  }
  std::ranges::reverse(path.pieces);
  std::ranges::reverse(path.hops);
  return path;
}

CriticalPath critical_path_of(const WhatIfModel& model) { return PathSummary(model).run(); }

}  // namespace dprof::analyzer
