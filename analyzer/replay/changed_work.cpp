// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "analyzer/replay/changed_work_internal.h"
#include "base/stats.h"
#include "schema/function.h"

namespace dprof::analyzer {
namespace {

// A piece is late if it exceeds what others do in that step, and what the rank does in its own
// short ones, by a share of the piece and of the step and by this many of its spreads.
constexpr double kLateShare = 0.1;
constexpr double kLateOfStep = 0.01;
constexpr double kLateSpreads = 5;

// One entry's works at a spot, and their lengths; also sorted.
struct OfEntry {
  uint32_t entry = 0;
  std::span<const SpotWork> works;
  std::vector<int64_t> ns;
  std::vector<int64_t> sorted;
};

// The last of the first quarter, the first one of few.
size_t in_first_quarter(size_t count) { return (count - 1) / 4; }

std::vector<OfEntry> by_entry(const Spot& spot) {
  std::vector<OfEntry> all;
  for (size_t begin = 0; begin < spot.size();) {
    size_t end = begin;
    while (end < spot.size() && spot[end].entry == spot[begin].entry) ++end;
    OfEntry& one = all.emplace_back();
    one.entry = spot[begin].entry;
    one.works = std::span(spot).subspan(begin, end - begin);
    for (const SpotWork& work : one.works) one.ns.push_back(work.ns);
    one.sorted = one.ns;
    std::ranges::sort(one.sorted);
    begin = end;
  }
  return all;
}

// The rank value at the end of the first quarter, or at the beginning of the last.
double outer_of(std::vector<double> values, bool first) {
  std::ranges::sort(values);
  const size_t at = in_first_quarter(values.size());
  return values[first ? at : values.size() - 1 - at];
}

// The rank's steps in the order of their work, to compare equal places with those of others.
std::vector<size_t> order_of(std::span<const int64_t> ns) {
  std::vector<size_t> order(ns.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) { return ns[i]; });
  return order;
}

// Cuts late pieces to the first quarter of the ranks in their step. If ranks are late by turns, all
// of them have long steps, and the median of a few can be late itself.
void cut_late(std::vector<OfEntry>& entries, int64_t step_ns) {
  std::map<uint32_t, std::vector<int64_t>> in_step;
  for (const OfEntry& one : entries) {
    for (size_t i = 0; i < one.ns.size(); ++i) in_step[one.works[i].step].push_back(one.ns[i]);
  }
  for (auto& [step, ns] : in_step) std::ranges::sort(ns);
  for (OfEntry& one : entries) {
    const double spread =
        quantile_of_sorted(one.sorted, 0.25) - quantile_of_sorted(one.sorted, 0.05);
    for (size_t i = 0; i < one.ns.size(); ++i) {
      const std::vector<int64_t>& all = in_step[one.works[i].step];
      const int64_t usual = all[in_first_quarter(all.size())];
      const auto late = static_cast<double>(one.ns[i] - usual);
      if (late > std::max({kLateSpreads * spread, kLateShare * static_cast<double>(one.ns[i]),
                           kLateOfStep * static_cast<double>(step_ns)}))
        one.ns[i] = usual;
    }
    one.sorted = one.ns;
    std::ranges::sort(one.sorted);
  }
}

}  // namespace

bool can_change(const Change& change, const WorkKind& kind, bool on_device) {
  switch (change.subject) {
    case Subject::kInput:
      return kind.category == Category::kInputWait;
    case Subject::kSync:  // a host that runs ahead of its device
      return kind.category == Category::kSyncBubble || kind.is_capturable() ||
             kind.category == Category::kInputWait;
    case Subject::kLaunch:
      return kind.is_capturable();
    case Subject::kGc:
      return kind.detail == HostDetail::kGc;
    case Subject::kCheckpoint:
      return kind.is_of_checkpoint();
    case Subject::kPhase:
      return kind.computes() && key_of(kind.phase_of()) == change.name;
    case Subject::kKernel:
    case Subject::kOp:
      return kind.computes();
    case Subject::kHostWork:
      return (kind.category == Category::kHost && kind.detail != HostDetail::kCheckpoint) ||
             (on_device && kind.waits_for_launch());
    default:
      return true;
  }
}

std::string ChangedWork::take(const Change& change) {
  switch (change.subject) {
    case Subject::kRank:
    case Subject::kHost:
      return take_ranks(change);
    case Subject::kStragglers:
      return take_stragglers();
    case Subject::kInput:
      grounds_.rests("the wait for data is removed; loading itself stays the same");
      grounds_.err("a loader that shares cores with training does not become faster");
      return scale(change, change.factor, "no step waits for data, or the wait was not recorded");
    case Subject::kSync:
      return take_sync();
    case Subject::kLaunch:
      return take_launch();
    case Subject::kGc:
      return take_gc(change);
    case Subject::kCheckpoint:
      grounds_.rests("the time of checkpoints in steady steps is removed");
      return scale(change, change.factor, "no checkpoint was recorded in these steps");
    case Subject::kKernel:
      return take_kernel(change);
    case Subject::kPhase:
      grounds_.rests("computation in that phase is scaled on each rank");
      grounds_.err("whether memory or arithmetic limits it is not considered");
      return scale(change, change.factor, "that phase was not recorded");
    case Subject::kOp:
      return take_op(change);
    case Subject::kHostWork:
      grounds_.rests("the host's own work during computation is subtracted");
      grounds_.err("an upper bound: some of it is necessary");
      return scale(change, change.factor, "no such work was recorded");
    default:
      return "dprof has no model of this change";
  }
}

void ChangedWork::speed_up_beside(double factor) {
  for_kinds(factors_, {}, [&](const WorkKind& kind) {
    return kind.category == Category::kOverlapped ? factor : 1.0;
  });
}

void ChangedWork::drop_updates(std::vector<int64_t>& durations, double beside, bool ahead) const {
  std::vector<double> factors(factors_.size(), 1);
  for_kinds(factors, {}, [beside, ahead](const WorkKind& kind) {
    if (kind.phase_of() == Category::kOptimizer || kind.detail == HostDetail::kOptimizer)
      return 0.0;
    if (ahead && (kind.category == Category::kInputWait || kind.category == Category::kSyncBubble))
      return 0.0;
    return kind.category == Category::kOverlapped ? beside : 1.0;
  });
  scale_works(durations, factors, {});
}

std::string ChangedWork::take_sync() {
  if (!run_.on_device) return "no GPU activity was recorded: nothing waits for a device";
  grounds_.rests("the device no longer idles while the host waits for it");
  grounds_.err("assumes that the values that the host reads are not needed");
  grounds_.err(
      "a host that no longer waits may run ahead of its device, and then also hides its own work "
      "and the wait for data: the answer is halfway between both");
  const bool ahead = grounds_.other(Doubt::kRunsAhead, true);
  const auto chosen = [ahead](const WorkKind& k) {
    return k.category == Category::kSyncBubble ||
           (ahead && (k.is_capturable() || k.category == Category::kInputWait));
  };
  if (std::ranges::none_of(run_.work_kinds,
                           [](const WorkKind& k) { return k.category == Category::kSyncBubble; }))
    return "the device never idled because the host waited for it";
  const std::vector<int64_t> most = own_ns(chosen);
  for (size_t r = 0; r < most.size(); ++r) {
    double factor = 0;
    if (const std::optional<int64_t> waited = run_.device_waits[r]; waited && *waited < most[r]) {
      grounds_.rests("the host gets ahead of its device by at most the time that it waited for it");
      factor = 1 - static_cast<double>(*waited) / static_cast<double>(most[r]);
    }
    for_kinds(factors_, r, [&](const WorkKind& k) { return chosen(k) ? factor : 1.0; });
  }
  return {};
}

std::string ChangedWork::take_launch() {
  if (!run_.on_device) return "no GPU activity was recorded: nothing is launched";
  grounds_.rests(
      fmt::format("a graph has captured forward, backward and optimizer: the device waits neither "
                  "for launches nor for the host's work in them, only {:.1f} us between kernels",
                  static_cast<double>(kBetweenKernelsNs) / 1e3));
  grounds_.err(
      "too optimistic if synchronisation, allocation, changing shapes or necessary Python prevents "
      "the capture, too pessimistic if transfers would then overlap computation");
  const auto capturable = [](const WorkKind& k) { return k.is_capturable(); };
  if (std::ranges::none_of(run_.work_kinds, capturable))
    return "the device never idled for lack of a launch";
  // The time between kernels was measured on one GPU model only.
  const bool nothing = grounds_.other(Doubt::kBetweenKernels);
  const std::vector<int64_t> gaps = own_ns_by_step(capturable);
  const size_t steps = run_.steps.size();
  captured_.assign(gaps.size(), 1);
  for (size_t r = 0; r < run_.ranks.size(); ++r) {
    const std::span of_steps = std::span(gaps).subspan(r * steps, steps);
    const std::vector<int64_t> most = most_captured(of_steps);
    const auto all = static_cast<double>(std::accumulate(most.begin(), most.end(), int64_t{0}));
    const double left =
        nothing || all == 0 ? 0 : static_cast<double>(run_.between_kernels_ns[r]) / all;
    for (size_t s = 0; s < steps; ++s) {
      if (of_steps[s] == 0) continue;
      const double share = static_cast<double>(most[s]) / static_cast<double>(of_steps[s]);
      captured_[r * steps + s] = 1 - share * (1 - left);
    }
  }
  return {};
}

// What a graph can capture of one rank's work in each step: what else happens in a step, such as
// logging, remains.
std::vector<int64_t> ChangedWork::most_captured(std::span<const int64_t> of_steps) const {
  std::vector<int64_t> most(of_steps.begin(), of_steps.end());
  std::vector<int64_t> usual;
  for (size_t s = 0; s < most.size(); ++s) {
    if (!run_.outer[s]) usual.push_back(most[s]);
  }
  if (usual.empty()) return most;
  const int64_t middle = median_ns(std::move(usual));
  for (size_t s = 0; s < most.size(); ++s) {
    if (run_.outer[s]) most[s] = std::min(most[s], middle);
  }
  return most;
}

bool ChangedWork::any_message() const {
  return std::ranges::any_of(
      run_.move_kinds, [](const MoveKind& kind) { return schema::is_message(kind.function); });
}

// Several ranks are at places without peers: the ends of a pipeline without replicas.
bool ChangedWork::one_pipeline() const {
  std::set<uint32_t> alone;
  for (const Spot& spot : run_.spots) {
    if (!spot.empty() && spot.front().entry == spot.back().entry) alone.insert(spot.front().entry);
  }
  return any_message() && alone.size() > 1;
}

// In each step each rank works no longer than the ranks that work least; its longest works are
// shortened first.
void ChangedWork::even_totals() {
  std::vector<std::vector<std::vector<TaskId>>> works(  // by step and entry
      run_.steps.size(), std::vector<std::vector<TaskId>>(run_.ranks.size()));
  for (const Work& work : run_.works) works[work.step][work.entry].push_back(work.task);
  for (std::vector<std::vector<TaskId>>& of_step : works) {
    std::vector<double> totals;
    for (const std::vector<TaskId>& tasks : of_step) {
      double& total = totals.emplace_back(0);
      for (const TaskId task : tasks) total += static_cast<double>(run_.durations[task]);
    }
    const double usual = outer_of(totals, true);
    for (size_t r = 0; r < totals.size(); ++r) {
      std::vector<TaskId>& tasks = of_step[r];
      std::ranges::sort(tasks, std::greater{}, [&](TaskId task) { return run_.durations[task]; });
      double longest = 0;  // of those so far
      for (size_t i = 0; totals[r] > usual && i < tasks.size(); ++i) {
        longest += static_cast<double>(run_.durations[tasks[i]]);
        const double level =
            std::max(0.0, (longest - (totals[r] - usual)) / static_cast<double>(i + 1));
        const bool enough =
            i + 1 == tasks.size() || level >= static_cast<double>(run_.durations[tasks[i + 1]]);
        if (!enough) continue;
        for (size_t k = 0; k <= i; ++k) durations_[tasks[k]] = std::llround(level);
        break;
      }
    }
  }
}

std::string ChangedWork::take_stragglers() {
  if (run_.ranks.size() < 2) return "there is only one rank: nothing to compare it with";
  if (one_pipeline()) {
    grounds_.err(
        "stages of one pipeline are compared where they make the same calls: the answer is halfway "
        "between that and all of them working no longer than those that work least");
    if (grounds_.other(Doubt::kFewPeers, true)) {
      even_totals();
      return {};
    }
  }
  as_others(std::vector<bool>(run_.ranks.size(), true), true);
  grounds_.rests(
      "each rank takes as long as the median one, in the order of its own long and short steps; "
      "work that is late in a step takes as long as on the others");
  grounds_.err("differences by design are evened out as well: too optimistic");
  if (std::ranges::any_of(run_.spots, [](const Spot& spot) {
        return !spot.empty() && spot.front().entry == spot.back().entry;
      }))
    grounds_.err("a rank without peers stays as it is: too pessimistic");
  return {};
}

template <typename Factor>
void ChangedWork::for_kinds(std::vector<double>& factors, const std::optional<size_t>& entry,
                            const Factor& factor) const {
  for (size_t r = 0; r < run_.ranks.size(); ++r) {
    if (entry && r != *entry) continue;
    for (size_t k = 0; k < run_.work_kinds.size(); ++k)
      factors[r * run_.work_kinds.size() + k] *= factor(run_.work_kinds[k]);
  }
}

template <typename Chosen>
std::vector<int64_t> ChangedWork::own_ns_by_step(const Chosen& chosen) const {
  std::vector<int64_t> sums(run_.ranks.size() * run_.steps.size(), 0);
  for (const Work& work : run_.works) {
    for (const WorkPart& part : std::span(run_.parts).subspan(work.first_part, work.parts)) {
      if (chosen(run_.work_kinds[part.kind]))
        sums[work.entry * run_.steps.size() + work.step] += part.ns;
    }
  }
  return sums;
}

template <typename Chosen>
std::vector<int64_t> ChangedWork::own_ns(const Chosen& chosen) const {
  const std::vector<int64_t> by_step = own_ns_by_step(chosen);
  std::vector<int64_t> of_entry(run_.ranks.size(), 0);
  for (size_t i = 0; i < by_step.size(); ++i) of_entry[i / run_.steps.size()] += by_step[i];
  return of_entry;
}

std::string ChangedWork::scale(const Change& change, double factor, std::string_view nothing) {
  const auto chosen = [&](const WorkKind& k) { return can_change(change, k, run_.on_device); };
  if (std::ranges::none_of(run_.work_kinds, chosen)) return std::string(nothing);
  for_kinds(factors_, {}, [&](const WorkKind& kind) { return chosen(kind) ? factor : 1.0; });
  return {};
}

void ChangedWork::scale_works(std::vector<int64_t>& durations, const std::vector<double>& factors,
                              const std::vector<double>& captured) const {
  for (const Work& work : run_.works) {
    const double of_graph =
        captured.empty() ? 1 : captured[work.entry * run_.steps.size() + work.step];
    double now = 0;
    double before = 0;
    for (uint32_t p = 0; p < work.parts; ++p) {
      const WorkPart& part = run_.parts[work.first_part + p];
      const auto ns = static_cast<double>(part.ns);
      before += ns;
      const double factor = factors[work.entry * run_.work_kinds.size() + part.kind];
      now += ns * factor * (run_.work_kinds[part.kind].is_capturable() ? of_graph : 1);
    }
    if (now == before || before <= 0) continue;
    int64_t& duration = durations[work.task];
    duration = std::llround(static_cast<double>(duration) * now / before);
  }
}

std::string ChangedWork::take_ranks(const Change& change) {
  std::vector<bool> changed(run_.ranks.size(), false);
  for (size_t r = 0; r < changed.size(); ++r) {
    changed[r] = change.subject == Subject::kRank ? run_.ranks[r] == change.rank
                                                  : run_.hosts[r] == change.name;
  }
  if (!change.peers) {
    for (size_t r = 0; r < changed.size(); ++r) {
      if (changed[r]) for_kinds(factors_, r, [&](const WorkKind&) { return change.factor; });
    }
    grounds_.rests("all of its own work is scaled");
    return {};
  }
  if (as_others(changed, false) == 0) return "no other rank does the same: it has no peers";
  grounds_.rests(
      "own work between two calls takes as long as on the median peer, in the order of its own "
      "long and short steps");
  grounds_.err("if the work would move to other ranks, these take longer: too optimistic");
  return {};
}

// The number of pieces with others to take from.
size_t ChangedWork::as_others(const std::vector<bool>& changed, bool with_themselves) {
  size_t found = 0;
  const auto step_ns = static_cast<int64_t>(mean_recorded(run_.steps));
  // It is unknown which of the others it would resemble.
  const bool other_way = grounds_.other(Doubt::kWhichPeer);
  std::vector<double> at;
  for (const Spot& spot : run_.spots) {
    std::vector<OfEntry> entries = by_entry(spot);
    if (with_themselves) cut_late(entries, step_ns);
    std::map<size_t, std::vector<int64_t>> shared;  // by number of steps
    for (const OfEntry& own : entries) {
      if (!changed[own.entry]) continue;
      std::vector<const OfEntry*> others;
      for (const OfEntry& other : entries) {
        if (with_themselves || !changed[other.entry]) others.push_back(&other);
      }
      if (others.size() < (with_themselves ? 2U : 1U)) continue;
      ++found;
      const size_t n = own.works.size();
      std::vector<int64_t> fresh;
      std::vector<int64_t>& typical = with_themselves ? shared[n] : fresh;
      for (size_t i = typical.size(); i < n; ++i) {
        const double q = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
        at.clear();
        for (const OfEntry* other : others) at.push_back(quantile_of_sorted(other->sorted, q));
        typical.push_back(std::llround(other_way ? outer_of(at, with_themselves) : median(at)));
      }
      const std::vector<size_t> order = order_of(own.ns);
      for (size_t i = 0; i < n; ++i) replace(own.works[order[i]], typical[i]);
    }
  }
  return found;
}

// Distributed over its works in the recorded proportions.
void ChangedWork::replace(const SpotWork& spot, int64_t ns) {
  if (spot.ns <= 0 || spot.count == 0) return;
  const double factor = static_cast<double>(ns) / static_cast<double>(spot.ns);
  for (uint32_t i = 0; i < spot.count; ++i) {
    int64_t& duration = durations_[run_.works[spot.first + i].task];
    duration = std::llround(static_cast<double>(duration) * factor);
  }
}

std::string ChangedWork::take_kernel(const Change& change) {
  const std::set<std::string_view> meant = run_.kernels_meant(change.name);
  if (meant.empty()) return "no kernel was recorded";
  for (size_t r = 0; r < run_.kernels.size(); ++r) {
    double share = 0;
    for (const KernelShare& kernel : run_.kernels[r]) {
      if (meant.contains(kernel.name)) share += kernel.share;
    }
    const double factor = 1 - share * (1 - change.factor);
    for_kinds(factors_, r, [&](const WorkKind& k) { return k.computes() ? factor : 1.0; });
  }
  if (!meant.contains(change.name))
    grounds_.rests(fmt::format("kernels with '{}' in the name: {}", change.name, meant.size()));
  grounds_.rests(
      "the kernels' share of all kernel time is subtracted from computation, wherever it is");
  grounds_.err("kernels that run concurrently are not moved");
  return {};
}

std::string ChangedWork::take_op(const Change& change) {
  if (run_.on_device) {
    return "on a device an operator's time is its kernels' time: ask about kernels, as in "
           "kernel:NAME*0.5";
  }
  bool any = false;
  for (size_t r = 0; r < run_.ops.size(); ++r) {
    const auto op = std::ranges::find(run_.ops[r], change.name, &OpShare::name);
    if (op == run_.ops[r].end()) continue;
    any = true;
    for_kinds(factors_, r, [&](const WorkKind& k) {
      const double share = k.phase_of() == Category::kBackward ? op->of_backward : op->of_other;
      return k.computes() ? 1 - share * (1 - change.factor) : 1.0;
    });
  }
  if (!any) return "no operator was recorded";
  grounds_.rests(
      "the operator, with what it calls, is subtracted from computation by its share of backward "
      "and of the rest");
  grounds_.err("its time may be spread unevenly within these");
  return {};
}

std::string ChangedWork::take_gc(const Change& change) {
  if (change.word) {
    const std::vector<int64_t> of_rank =
        own_ns([](const WorkKind& k) { return k.detail == HostDetail::kGc; });
    if (any_message()) {
      grounds_.err(
          "stages of a pipeline that collect in the same step may do so one after the other: then "
          "nothing is gained");
      if (grounds_.other(Doubt::kTogether)) return {};
    }
    longer_ns_ +=
        std::ranges::max(of_rank) / static_cast<int64_t>(std::max<size_t>(1, run_.steps.size()));
    grounds_.rests(
        "all ranks collect garbage at the same time, for as long as the rank that collects most");
  } else {
    grounds_.rests("no rank collects garbage");
    grounds_.err("an upper bound: memory grows instead");
  }
  return scale(change, 0, "no garbage collection was recorded");
}

}  // namespace dprof::analyzer
