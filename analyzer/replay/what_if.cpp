// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/what_if.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kWorthwhile = 0.005;  // of a step, that an answer nobody asked for gains
constexpr size_t kMostListed = 12;     // names in a hint
constexpr size_t kRanksAsked = 4;      // of the catalogue: those that work most

// "a, b, … and 3 more".
template <typename Names>
std::string listed(const Names& names) {
  std::vector<std::string> some;
  for (const auto& name : names) {
    if (some.size() == kMostListed) break;
    some.push_back(fmt::format("{}", name));
  }
  std::string text = fmt::format("{}", fmt::join(some, ", "));
  if (names.size() > some.size()) text += fmt::format(" and {} more", names.size() - some.size());
  return text;
}

double quantile_of(const std::vector<int64_t>& sorted, double q) {
  const double at = std::clamp(q * static_cast<double>(sorted.size()) - 0.5, 0.0,
                               static_cast<double>(sorted.size() - 1));
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(low);
  return static_cast<double>(sorted[low]) * (1 - part) + static_cast<double>(sorted[high]) * part;
}

// One entry's works at a spot, and their lengths in order.
struct OfEntry {
  uint32_t entry = 0;
  std::span<const SpotWork> works;
  std::vector<int64_t> sorted;
};

std::vector<OfEntry> by_entry(const Spot& spot) {
  std::vector<OfEntry> all;
  for (size_t begin = 0; begin < spot.size();) {
    size_t end = begin;
    while (end < spot.size() && spot[end].entry == spot[begin].entry) ++end;
    OfEntry& one = all.emplace_back();
    one.entry = spot[begin].entry;
    one.works = std::span(spot).subspan(begin, end - begin);
    for (const SpotWork& work : one.works) one.sorted.push_back(work.ns);
    std::ranges::sort(one.sorted);
    begin = end;
  }
  return all;
}

// Which of the steps in which it works most, of how many: the same place in the order of others'.
std::vector<size_t> order_of(std::span<const SpotWork> works) {
  std::vector<size_t> order(works.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) { return works[i].ns; });
  return order;
}

}  // namespace

std::string words_of(std::span<const Change> changes) {
  std::vector<std::string_view> words;
  for (const Change& change : changes) words.emplace_back(change.text);
  return fmt::format("{}", fmt::join(words, " + "));
}

// The run with changes, as far as it can be made.
class WhatIfModel::Trial {
 public:
  explicit Trial(const WhatIfModel& model)
      : model_(model),
        run_(model.run_),
        durations_(model.run_.durations),
        factors_(run_.ranks.size() * run_.work_kinds.size(), 1) {}

  // "" = done; else why not.
  std::string make(std::span<const Change> changes) {
    for (const Change& change : changes) {
      if (std::string why = take(change); !why.empty()) return change.text + ": " + why;
    }
    speed_up_beside(move_transfers());
    scale_works(durations_, factors_);
    return {};
  }

  [[nodiscard]] std::vector<int64_t> lengths() const {
    std::vector<int64_t> lengths = run_.lengths(durations_);
    if (accumulate_ > 1) {
      // Of so many passes all but the last send and update nothing.
      std::vector<int64_t> without = durations_;
      for (const Move& move : run_.moves) {
        if (run_.move_kinds[move.kind].gradients) without[move.task] = 0;
      }
      std::vector<double> factors(factors_.size(), 1);
      for_kinds(factors, {}, [](const WorkKind& kind) {
        return kind.phase_of() == Category::kOptimizer || kind.detail == HostDetail::kOptimizer
                   ? 0.0
                   : 1.0;
      });
      scale_works(without, factors);
      const std::vector<int64_t> silent = run_.lengths(without);
      for (size_t s = 0; s < lengths.size(); ++s) {
        lengths[s] = static_cast<int64_t>(
            (static_cast<double>(lengths[s]) + (accumulate_ - 1) * static_cast<double>(silent[s])) /
            accumulate_);
      }
    }
    for (int64_t& length : lengths) length += longer_ns_;
    return lengths;
  }

  [[nodiscard]] const std::vector<std::string>& rests_on() const { return rests_on_; }
  [[nodiscard]] const std::vector<std::string>& errs() const { return errs_; }
  // What of the gain rests on a fit instead of on what was recorded: it may be wrong by that.
  [[nodiscard]] double doubt() const { return doubt_; }

 private:
  void rests(std::string text) { add_once(rests_on_, std::move(text)); }
  void err(std::string text) { add_once(errs_, std::move(text)); }
  static void add_once(std::vector<std::string>& texts, std::string text) {
    if (std::ranges::count(texts, text) == 0) texts.push_back(std::move(text));
  }

  std::string take(const Change& change) {
    switch (change.subject) {
      case Subject::kRank:
      case Subject::kHost:
        return take_ranks(change);
      case Subject::kStragglers: {
        if (run_.ranks.size() < 2) return "there is one rank, and nobody to compare it with";
        as_others(std::vector<bool>(run_.ranks.size(), true), true);
        rests(
            "each rank does what the middle one does, in the order of its own long and short steps");
        err("what ranks differ in by design is evened out as well: it promises too much");
        return {};
      }
      case Subject::kInput:
        rests("the wait for data is taken off; what is read stays the same");
        err("a loader that uses the cores of training is not made faster by waiting less");
        return scale(change.factor, "no step waits for data, or the wait was not recorded",
                     [](const WorkKind& k) { return k.category == Category::kInputWait; });
      case Subject::kTransfer:
        rests("each transfer takes that share of its recorded time");
        return scale_transfers(change.factor, transfer_);
      case Subject::kBandwidth:
        return take_bandwidth(change);
      case Subject::kLatency:
        return take_latency(change);
      case Subject::kBucketCap:
        return take_bucket_cap(change);
      case Subject::kOverlap:
        return take_overlap();
      case Subject::kSync:
        if (!run_.on_device) return "there are no GPU rows: nothing waits for a device";
        rests("the device is not idle where the host waited for it");
        err("the values that were read are taken not to be needed");
        return scale(0, "no device was idle because the host waited for it",
                     [](const WorkKind& k) { return k.category == Category::kSyncBubble; });
      case Subject::kLaunch:
        if (!run_.on_device) return "there are no GPU rows: nothing is launched";
        rests("the device has no gaps between kernels that wait for their launch");
        err("an upper bound: synchronisation, allocation and changing shapes forbid a capture");
        return scale(0, "no device was idle for want of a launch", is_launch);
      case Subject::kGc:
        return take_gc(change);
      case Subject::kCheckpoint:
        rests("the time of checkpoints in the steady steps is taken off");
        return scale(change.factor, "no checkpoint was recorded in these steps",
                     [](const WorkKind& k) { return k.detail == HostDetail::kCheckpoint; });
      case Subject::kKernel:
        return take_kernel(change);
      case Subject::kPhase:
        rests("computation of that phase takes that share of its recorded time on each rank");
        err("whether memory or arithmetic bounds it is not asked");
        return scale(change.factor, "that phase was not recorded", [&](const WorkKind& k) {
          return k.computes() && key_of(k.phase_of()) == change.name;
        });
      case Subject::kOp:
        return "times of operators by name are not kept in the model of this run";
      case Subject::kAccumulate:
        return take_accumulation(change);
      case Subject::kWorld:
        return take_world(change);
      case Subject::kHostWork:
        rests("the host's own work beside computation is taken off");
        err("a bound: some of it has to be done");
        return scale(change.factor, "no such work was recorded", [this](const WorkKind& k) {
          return (k.category == Category::kHost && k.detail != HostDetail::kCheckpoint) ||
                 (run_.on_device && is_launch(k));
        });
    }
    return "it is not known how";
  }

  static bool is_launch(const WorkKind& kind) {
    return kind.category == Category::kLaunch ||
           (kind.category == Category::kIdle && kind.detail != HostDetail::kLost) ||
           (kind.category == Category::kHost && kind.detail == HostDetail::kUnattributed);
  }

  // Own work.

  template <typename Factor>
  void for_kinds(std::vector<double>& factors, const std::optional<size_t>& entry,
                 const Factor& factor) const {
    for (size_t r = 0; r < run_.ranks.size(); ++r) {
      if (entry && r != *entry) continue;
      for (size_t k = 0; k < run_.work_kinds.size(); ++k)
        factors[r * run_.work_kinds.size() + k] *= factor(run_.work_kinds[k]);
    }
  }

  template <typename Chosen>
  std::string scale(double factor, std::string_view nothing, const Chosen& chosen) {
    if (std::ranges::none_of(run_.work_kinds, chosen)) return std::string(nothing);
    for_kinds(factors_, {}, [&](const WorkKind& kind) { return chosen(kind) ? factor : 1.0; });
    return {};
  }

  void scale_works(std::vector<int64_t>& durations, const std::vector<double>& factors) const {
    for (const Work& work : run_.works) {
      double now = 0;
      double before = 0;
      for (uint32_t p = 0; p < work.parts; ++p) {
        const WorkPart& part = run_.parts[work.first_part + p];
        const auto ns = static_cast<double>(part.ns);
        before += ns;
        now += ns * factors[work.entry * run_.work_kinds.size() + part.kind];
      }
      if (now == before || before <= 0) continue;
      int64_t& duration = durations[work.task];
      duration = std::llround(static_cast<double>(duration) * now / before);
    }
  }

  std::string take_ranks(const Change& change) {
    std::vector<bool> changed(run_.ranks.size(), false);
    for (size_t r = 0; r < changed.size(); ++r) {
      changed[r] = change.subject == Subject::kRank ? run_.ranks[r] == change.rank
                                                    : run_.hosts[r] == change.name;
    }
    if (!change.peers) {
      for (size_t r = 0; r < changed.size(); ++r) {
        if (changed[r]) for_kinds(factors_, r, [&](const WorkKind&) { return change.factor; });
      }
      rests("all of its own work takes that share of its recorded time");
      return {};
    }
    if (as_others(changed, false) == 0) return "no other rank does the same: it has no peers";
    rests(
        "own work between two calls takes what the middle one of its peers does there, "
        "in the order of its own long and short steps");
    err("if the work itself would move to others, they take longer: it promises too much");
    return {};
  }

  // How many pieces have others to take from.
  size_t as_others(const std::vector<bool>& changed, bool with_themselves) {
    size_t found = 0;
    std::vector<double> at;
    for (const Spot& spot : run_.spots) {
      const std::vector<OfEntry> entries = by_entry(spot);
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
          for (const OfEntry* other : others) at.push_back(quantile_of(other->sorted, q));
          typical.push_back(std::llround(median(at)));
        }
        const std::vector<size_t> order = order_of(own.works);
        for (size_t i = 0; i < n; ++i) replace(own.works[order[i]], typical[i]);
      }
    }
    return found;
  }

  // Spread over its works as it was.
  void replace(const SpotWork& spot, int64_t ns) {
    if (spot.ns <= 0 || spot.count == 0) return;
    const double factor = static_cast<double>(ns) / static_cast<double>(spot.ns);
    for (uint32_t i = 0; i < spot.count; ++i) {
      int64_t& duration = durations_[run_.works[spot.first + i].task];
      duration = std::llround(static_cast<double>(duration) * factor);
    }
  }

  std::string take_kernel(const Change& change) {
    bool any = false;
    for (size_t r = 0; r < run_.kernels.size(); ++r) {
      const auto kernel = std::ranges::find(run_.kernels[r], change.name, &KernelShare::name);
      if (kernel == run_.kernels[r].end()) continue;
      any = true;
      const double factor = 1 - kernel->share * (1 - change.factor);
      for_kinds(factors_, r, [&](const WorkKind& k) { return k.computes() ? factor : 1.0; });
    }
    if (!any) return "no kernel was recorded";
    rests("the kernel's share of all kernels' time is taken off computation, wherever it is");
    err("kernels that run beside it are not moved");
    return {};
  }

  std::string take_gc(const Change& change) {
    const auto is_gc = [](const WorkKind& k) { return k.detail == HostDetail::kGc; };
    if (change.word) {
      std::vector<int64_t> of_rank(run_.ranks.size(), 0);
      for (const Work& work : run_.works) {
        for (uint32_t p = 0; p < work.parts; ++p) {
          const WorkPart& part = run_.parts[work.first_part + p];
          if (is_gc(run_.work_kinds[part.kind])) of_rank[work.entry] += part.ns;
        }
      }
      longer_ns_ +=
          std::ranges::max(of_rank) / static_cast<int64_t>(std::max<size_t>(1, run_.steps.size()));
      rests("all ranks collect garbage at the same time, as much as the one that has most");
    } else {
      rests("no rank collects garbage");
      err("memory grows instead: a bound");
    }
    return scale(0, "no garbage collection was recorded", is_gc);
  }

  // Transfers.

  std::string scale_transfers(double factor, double& of) {
    if (run_.moves.empty()) return "no rank meets another one";
    of *= factor;
    if (model_.beside_.contention) {
      rests(
          "computation beside transfers is slowed down by the measured contention as long as they last");
    } else {
      err("computation beside a transfer is taken to stay as fast as it is");
    }
    return {};
  }

  [[nodiscard]] bool any_cost() const {
    return std::ranges::any_of(run_.move_kinds,
                               [](const MoveKind& kind) { return kind.cost.has_value(); });
  }

  std::string take_bandwidth(const Change& change) {
    if (any_cost()) {
      rests(
          "a transfer takes a part that does not depend on its size, by the fit of its "
          "communicator, and the rest by the bandwidth");
    } else {
      rests(
          "no communicator has transfers of three sizes: their whole time is taken to go by the "
          "bandwidth");
      err("latency is taken to be nothing: it promises too much where transfers are small");
    }
    for (const MoveKind& kind : run_.move_kinds) {
      if (kind.cost) doubt_ = std::max(doubt_, kind.cost->residual);
    }
    return scale_transfers(change.factor, bandwidth_);
  }

  std::string take_latency(const Change& change) {
    if (!any_cost()) {
      return "no communicator has transfers of two sizes, one at least twice the other: "
             "latency is not known";
    }
    rests(
        "the part of a transfer that does not depend on its size, by the fit of its communicator");
    for (const MoveKind& kind : run_.move_kinds) {
      if (kind.cost) doubt_ = std::max(doubt_, kind.cost->residual);
    }
    return scale_transfers(change.factor, latency_);
  }

  std::string take_overlap() {
    if (!model_.beside_.overlap) return "what transfers could hide behind was not computed";
    std::map<int64_t, const StepOverlap*> of_step;
    for (const StepOverlap& step : model_.beside_.overlap->per_step) of_step[step.step] = &step;
    bool any = false;
    kept_.assign(run_.steps.size(), 1);
    for (size_t s = 0; s < run_.steps.size(); ++s) {
      const auto known = of_step.find(run_.step_index[s]);
      if (known == of_step.end() || !known->second->hideable_ns) continue;
      any = true;
      const auto exposed = static_cast<double>(known->second->exposed_transfer_ns);
      if (exposed <= 0) continue;
      kept_[s] =
          std::clamp(1 - static_cast<double>(*known->second->hideable_ns) / exposed, 0.0, 1.0);
    }
    if (!any) return "no step tells what its transfers could hide behind";
    rests(
        "of exposed transfers, what computation between their readiness and the update could hide");
    err("a bound: it needs the calls to be made as soon as their data is ready");
    return {};
  }

  // What of a transfer does not depend on its size.
  [[nodiscard]] double latency_of(const Move& move) const {
    const std::optional<LinearCost>& cost = run_.move_kinds[move.kind].cost;
    return cost ? cost->alpha_ns : 0;
  }

  // Gives their time, by what it was.
  double move_transfers() {
    double before = 0;
    double after = 0;
    for (const Move& move : run_.moves) {
      int64_t& duration = durations_[move.task];
      const auto whole = static_cast<double>(duration);
      const double fixed = std::min(latency_of(move), whole);
      double now = transfer_ * (latency_ * fixed + (whole - fixed) / bandwidth_);
      if (!kept_.empty()) now *= kept_[move.step];
      duration = std::llround(now);
      before += whole;
      after += now;
    }
    return before <= 0 ? 1 : after / before;
  }

  // Contention goes with the transfers that cause it. Where they become longer, what would then run
  // beside them is not known.
  void speed_up_beside(double transfers) {
    if (!model_.beside_.contention || transfers >= 1) return;
    const double lost = 1 - 1 / std::max(1.0, model_.beside_.contention->factor);
    for_kinds(factors_, {}, [&](const WorkKind& kind) {
      return kind.category == Category::kOverlapped ? 1 - lost * (1 - transfers) : 1.0;
    });
  }

  std::string take_bucket_cap(const Change& change) {
    std::map<std::pair<uint32_t, uint32_t>, std::vector<const Move*>> buckets;  // entry, step
    bool fitted = false;
    for (const Move& move : run_.moves) {
      const MoveKind& kind = run_.move_kinds[move.kind];
      if (!move.bucket || !kind.bytes || *kind.bytes <= 0) continue;
      buckets[{move.entry, move.step}].push_back(&move);
      fitted |= kind.cost.has_value();
    }
    if (buckets.empty())
      return "no order of buckets was recorded: DDP's are known where it is used";
    if (!fitted) {
      return "no bucket is twice as large as another one: what a transfer costs by its size is not "
             "known";
    }
    for (auto& [where, moves] : buckets) {
      std::ranges::stable_sort(moves, {}, [](const Move* m) { return *m->bucket; });
      bucket_again(moves, change.bytes);
    }
    for (const MoveKind& kind : run_.move_kinds) {
      if (kind.cost && kind.gradients) doubt_ = std::max(doubt_, kind.cost->residual);
    }
    rests("buckets are joined until they reach the cap, or divided; transfers by their fit");
    err("gradients of a bucket are taken to become ready evenly over the time that it fills");
    return {};
  }

  // Buckets in the order of their numbers, which is that of their transfers.
  void bucket_again(const std::vector<const Move*>& moves, int64_t cap) {
    double joined = 0;  // time of those that wait to be joined, without latency
    int64_t bytes = 0;
    for (size_t b = 0; b < moves.size(); ++b) {
      const Move& move = *moves[b];
      const auto whole = static_cast<double>(durations_[move.task]);
      const double fixed = std::min(latency_of(move), whole);
      const int64_t own = *run_.move_kinds[move.kind].bytes;
      bytes += own;
      joined += whole - fixed;
      if (bytes < cap && b + 1 < moves.size()) {
        durations_[move.task] = 0;
        continue;
      }
      const auto pieces = std::max<int64_t>(1, (own + cap - 1) / cap);
      double time = joined + fixed;
      if (bytes == own && pieces > 1)
        time = divided(move, b > 0 ? moves[b - 1] : nullptr, whole, fixed, pieces);
      durations_[move.task] = std::llround(time);
      joined = 0;
      bytes = 0;
    }
  }

  // From when all of a bucket is ready until its last piece is there: former pieces were sent while
  // it filled, unless the bucket before was still on its way.
  [[nodiscard]] double divided(const Move& move, const Move* former, double whole, double fixed,
                               int64_t pieces) const {
    const auto k = static_cast<double>(pieces);
    const double each = (whole - fixed) / k + fixed;
    const int64_t began = model_.ends_[move.task] - run_.durations[move.task];
    double fill = 0;
    if (former != nullptr) {
      const int64_t free = model_.ends_[former->task];
      if (began <= free) return k * each;  // it waited for the one before
      fill = static_cast<double>(began - std::max(free, free - run_.durations[former->task]));
    }
    return std::max(each, k * each - fill * (k - 1) / k);
  }

  std::string take_accumulation(const Change& change) {
    if (std::ranges::none_of(run_.move_kinds, &MoveKind::gradients))
      return "no transfer is known to be one of gradients: DDP's buckets tell it";
    accumulate_ *= change.factor;
    rests(
        "of so many passes one sends gradients and updates; a step is one pass, with as many samples as now");
    err("it changes what is computed: the batch of an update is so many times larger");
    return {};
  }

  // Weak scaling: each rank does what it does, the last one of more ranks comes later.
  std::string take_world(const Change& change) {
    if (run_.ranks.size() < 2) return "there is one rank: nothing tells what more would wait for";
    if (run_.moves.empty()) return "no rank meets another one";
    size_t widest = 0;
    for (const MoveKind& kind : run_.move_kinds) widest = std::max(widest, kind.members);
    for (const Move& move : run_.moves) {
      const MoveKind& kind = run_.move_kinds[move.kind];
      if (schema::is_message(kind.function) || kind.members < widest) continue;
      const auto n = static_cast<double>(kind.members);
      const double more = n * change.factor;
      int64_t& duration = durations_[move.task];
      const auto whole = static_cast<double>(duration);
      const double fixed = std::min(latency_of(move), whole);
      // A ring: as many hops as there are others, each with its part of the bytes.
      duration = std::llround(fixed * (more - 1) / (n - 1) +
                              (whole - fixed) * ((more - 1) / more) / ((n - 1) / n));
    }
    longer_ns_ += later_of_more(change.factor);
    rests(
        "each rank works as much as now; rings of that many more ranks; the last of more ranks, "
        "drawn from how these differ, comes later");
    err(any_cost() ? "new hosts are taken to be linked as the present ones are"
                   : "latency is not known and taken to be nothing: it promises too little loss");
    return {};
  }

  // What the last of so many times more ranks is later by: of what ranks did beyond the mean of
  // their step. The expected largest of n draws from those that were seen.
  [[nodiscard]] int64_t later_of_more(double times) const {
    std::vector<std::vector<double>> own(run_.steps.size(),
                                         std::vector<double>(run_.ranks.size(), 0));
    for (const Work& work : run_.works)
      own[work.step][work.entry] += static_cast<double>(durations_[work.task]);
    std::vector<double> beyond;
    for (std::vector<double>& step : own) {
      double mean = 0;
      for (const double ns : step) mean += ns / static_cast<double>(step.size());
      for (const double ns : step) beyond.push_back(ns - mean);
    }
    std::ranges::sort(beyond);
    const auto largest_of = [&](double n) {
      double sum = 0;
      const auto all = static_cast<double>(beyond.size());
      for (size_t i = 0; i < beyond.size(); ++i) {
        sum += beyond[i] * (std::pow(static_cast<double>(i + 1) / all, n) -
                            std::pow(static_cast<double>(i) / all, n));
      }
      return sum;
    };
    const auto n = static_cast<double>(run_.ranks.size());
    return std::llround(std::max(0.0, largest_of(n * times) - largest_of(n)));
  }

  const WhatIfModel& model_;
  const PlayedRun& run_;
  std::vector<int64_t> durations_;
  std::vector<double> factors_;  // by entry and kind of work
  double transfer_ = 1;
  double bandwidth_ = 1;
  double latency_ = 1;
  std::vector<double> kept_;  // of transfers, by step; empty = all
  double accumulate_ = 1;
  int64_t longer_ns_ = 0;  // each step
  double doubt_ = 0;
  std::vector<std::string> rests_on_;
  std::vector<std::string> errs_;
};

WhatIfModel::WhatIfModel(PlayedRun run, Beside beside)
    : run_(std::move(run)), beside_(std::move(beside)) {
  ends_ = run_.graph->simulate(run_.durations, run_.lags);
  unchanged_ = step_lengths(run_.steps, ends_);
  double recorded = 0;
  for (const ReplayedStep& step : run_.steps) recorded += static_cast<double>(step.recorded_ns);
  mean_step_ns_ =
      run_.steps.empty() ? 0 : std::llround(recorded / static_cast<double>(run_.steps.size()));
}

Status WhatIfModel::check(const Change& change) const {
  const auto unknown = [&](std::string what, std::string there) {
    return fail(Code::kNotFound, fmt::format("--what-if '{}': {}", change.text, what),
                std::move(there));
  };
  switch (change.subject) {
    case Subject::kRank:
      if (std::ranges::count(run_.ranks, change.rank) == 0)
        return unknown(fmt::format("there is no rank {} with steps", change.rank),
                       "ranks: " + listed(run_.ranks));
      return Done{};
    case Subject::kHost:
      if (std::ranges::count(run_.hosts, change.name) == 0) {
        return unknown(
            fmt::format("there is no host '{}'", change.name),
            "hosts: " + listed(std::set<std::string>(run_.hosts.begin(), run_.hosts.end())));
      }
      return Done{};
    case Subject::kPhase: {
      std::set<std::string_view> phases;
      for (const WorkKind& kind : run_.work_kinds) {
        if (kind.computes()) phases.insert(key_of(kind.phase_of()));
      }
      if (!phases.contains(change.name)) {
        return unknown(fmt::format("there is no phase '{}'", change.name),
                       "phases: " + listed(phases));
      }
      return Done{};
    }
    case Subject::kKernel: {
      std::vector<std::string_view> kernels;
      for (const auto& of_rank : run_.kernels) {
        for (const KernelShare& kernel : of_rank) {
          if (kernel.name == change.name) return Done{};
          if (std::ranges::count(kernels, kernel.name) == 0) kernels.push_back(kernel.name);
        }
      }
      if (kernels.empty()) return Done{};  // then it cannot be answered
      return unknown(fmt::format("there is no kernel '{}'", change.name),
                     "kernels: " + listed(kernels));
    }
    default:
      return Done{};
  }
}

Result<WhatIf> WhatIfModel::answer(std::span<const Change> changes) const {
  for (const Change& change : changes) {
    if (const Status known = check(change); !known.ok()) return fail(known.error());
  }
  WhatIf what{.change = words_of(changes), .valid_because = {}, .bias = {}, .refused = {}};
  if (!beside_.quality.accepted) {
    what.refused = "the replay of this run is refused: it does not reproduce what was recorded";
    return what;
  }
  Trial trial(*this);
  if (std::string why = trial.make(changes); !why.empty()) {
    what.refused = std::move(why);
    return what;
  }
  return weighed(trial, std::move(what));
}

WhatIf WhatIfModel::weighed(const Trial& trial, WhatIf what) const {
  std::vector<int64_t> gain = trial.lengths();
  for (size_t s = 0; s < gain.size(); ++s) gain[s] = unchanged_[s] - gain[s];
  const Estimate mean = bootstrap_mean({gain.begin(), gain.end()});
  what.gain_ns = std::llround(mean.value);
  what.step_ns = mean_step_ns_ - *what.gain_ns;
  const double error = beside_.quality.error() * static_cast<double>(mean_step_ns_);
  const double doubt = std::hypot(trial.doubt(), kGainError) * std::abs(mean.value);
  what.bound_ns = std::llround(std::hypot(mean.half_width, error, doubt));
  what.valid_because =
      fmt::format("{}; {} steps replayed", fmt::join(trial.rests_on(), "; "), run_.steps.size());
  what.bias = fmt::format("{}", fmt::join(trial.errs(), "; "));
  return what;
}

std::vector<int64_t> WhatIfModel::gain_of(std::span<const Change> changes) const {
  Trial trial(*this);
  if (!trial.make(changes).empty()) return std::vector<int64_t>(unchanged_.size(), 0);
  std::vector<int64_t> gain = trial.lengths();
  for (size_t s = 0; s < gain.size(); ++s) gain[s] = unchanged_[s] - gain[s];
  return gain;
}

std::vector<Change> WhatIfModel::catalogue() const {
  std::vector<std::string> texts = {"stragglers=none", "input=0",    "bandwidth*2",   "latency=0",
                                    "overlap=full",    "sync=none",  "launch=graphs", "gc=together",
                                    "checkpoint=0",    "host-work=0"};
  const bool buckets =
      std::ranges::any_of(run_.moves, [](const Move& move) { return move.bucket.has_value(); });
  if (buckets) {
    for (const char* cap : {"1MiB", "5MiB", "25MiB", "100MiB"})
      texts.push_back(fmt::format("bucket_cap={}", cap));
  }
  std::vector<std::pair<int64_t, int>> busiest;
  for (size_t r = 0; r < run_.ranks.size(); ++r) busiest.emplace_back(0, run_.ranks[r]);
  for (const Work& work : run_.works) busiest[work.entry].first += run_.durations[work.task];
  std::ranges::sort(busiest, std::greater{});
  for (size_t i = 0; run_.ranks.size() > 1 && i < std::min(kRanksAsked, busiest.size()); ++i)
    texts.push_back(fmt::format("rank:{}=peers", busiest[i].second));
  std::vector<Change> changes;
  for (const std::string& text : texts) {
    Result<Change> change = parse_change(text);
    if (change.ok()) changes.push_back(*std::move(change));
  }
  return changes;
}

std::vector<WhatIf> WhatIfModel::best(size_t most) const {
  std::vector<WhatIf> answers;
  for (const Change& change : catalogue()) {
    Result<WhatIf> what = answer(std::span(&change, 1));
    if (!what.ok() || !what->gain_ns) continue;
    if (static_cast<double>(*what->gain_ns) < kWorthwhile * static_cast<double>(mean_step_ns_))
      continue;
    answers.push_back(*std::move(what));
  }
  std::ranges::stable_sort(answers, std::greater{}, [](const WhatIf& w) { return *w.gain_ns; });
  // Of the caps of buckets the best one says it all.
  bool cap_seen = false;
  std::erase_if(answers, [&](const WhatIf& w) {
    const bool cap = w.change.starts_with("bucket_cap");
    const bool again = cap && cap_seen;
    cap_seen |= cap;
    return again;
  });
  answers.resize(std::min(answers.size(), most));
  return answers;
}

}  // namespace dprof::analyzer
