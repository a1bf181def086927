// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "analyzer/vocabulary/thresholds.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

// The state seen by samples of the training thread, and the cause that it means.
struct WaitWord {
  schema::ThreadWait wait;
  const char* cause;
  const char* saw;
};
constexpr WaitWord kWaitWords[] = {
    {schema::ThreadWait::kLock, "synchronisation", "waited for another thread (futex)"},
    {schema::ThreadWait::kSleep, "host", "slept (nanosleep)"},
    {schema::ThreadWait::kPoll, "host", "waited for a message (socket, pipe or poll)"},
    {schema::ThreadWait::kDisk, "host", "waited for a disk"},
    {schema::ThreadWait::kRunning, "host", "ran, or was ready to"},
    {schema::ThreadWait::kOther, "host", "waited in the kernel for something else"},
};

int64_t mean(const std::vector<int64_t>& values) {
  const int64_t sum = std::accumulate(values.begin(), values.end(), int64_t{0});
  return values.empty() ? 0 : sum / static_cast<int64_t>(values.size());
}

struct Difference {
  int64_t own_ns = 0;
  int64_t peers_ns = 0;
  int64_t delta_ns = 0;
  double spread_ns = 0;  // of delta between steps

  [[nodiscard]] double relative() const {
    return static_cast<double>(delta_ns) /
           std::max(1.0, static_cast<double>(std::max<int64_t>(1, peers_ns)));
  }
};
using Differences = std::array<Difference, kOwnKinds>;

class Decision {
 public:
  Decision(const CauseInput& input, const Suspect& suspect) : in_(input), suspect_(suspect) {
    const bool lasts = suspect.shape == Shape::kPersistent;
    if (lasts) {
      // Over all steps: selecting those in which it shows would favour chance.
      for (size_t s = suspect.onset.value_or(0); s < in_.work.steps.size(); ++s)
        turns_.push_back({*suspect.rank, s});
    } else if (suspect.rank) {
      for (const size_t s : suspect.when) turns_.push_back({*suspect.rank, s});
    } else {
      turns_ = suspect.turns;
    }
    for (size_t k = 0; k < kOwnKinds; ++k) {
      differences_[k] = difference(k, lasts);
      own_total_ += differences_[k].peers_ns;
    }
  }

  Cause run() {
    std::map<std::string_view, int64_t> of_cause;
    for (size_t k = 0; k < kOwnKinds; ++k) of_cause[kKinds[k].cause] += differences_[k].delta_ns;
    for (const auto& [word, delta] : of_cause) total_ += std::max<int64_t>(0, delta);
    if (total_ <= 0) return {.word = "unknown", .kind = {}, .reasons = {}};
    const auto top =
        std::ranges::max_element(of_cause, {}, [](const auto& entry) { return entry.second; });
    cause_.word = top->first;
    if (share(of_cause["cpu_contention"]) >= limit::kContention) cause_.word = "cpu_contention";
    describe();
    if (cause_.word != "cpu_contention" && share(top->second) < limit::kDominant) {
      cause_.word = "mixed";
      cause_.kind.clear();
      cause_.reasons.push_back(
          fmt::format("no single kind of time accounts for {} of its delay of {}",
                      format_share(limit::kDominant), format_ms({total_})));
    } else if (cause_.word == "compute") {
      refine_computation();
    } else if (cause_.word == "host") {
      refine_host();
    } else if (cause_.word == "rank0_work" && !in_.rank0) {
      cause_.word = "host";  // any rank can log; only rank 0 is chosen to do it for all
    }
    return std::move(cause_);
  }

 private:
  [[nodiscard]] double share(int64_t ns) const {
    return static_cast<double>(ns) / static_cast<double>(total_);
  }
  [[nodiscard]] const Difference& of(OwnKind kind) const { return differences_[index_of(kind)]; }

  [[nodiscard]] std::vector<size_t> peers(size_t rank) const {
    std::vector<size_t> others = in_.roles.sets[in_.roles.set_of[rank].value_or(0)];
    std::erase(others, rank);
    return others;
  }

  [[nodiscard]] Difference difference(size_t kind, bool lasts) const {
    std::vector<int64_t> own;
    std::vector<int64_t> theirs;
    std::vector<int64_t> delta;
    for (const auto& [rank, step] : turns_) {
      std::vector<int64_t> others;
      for (const size_t r : peers(rank)) others.push_back(in_.work.kind_ns[r][step][kind]);
      own.push_back(in_.work.kind_ns[rank][step][kind]);
      theirs.push_back(others.empty() ? 0 : median_ns(std::move(others)));
      delta.push_back(own.back() - theirs.back());
    }
    // Of what its role does, the rank has as much as the others of its role: said of both.
    if (suspect_.rank && !in_.work.of_role.empty()) {
      const int64_t usual = in_.work.of_role[*suspect_.rank][kind];
      for (int64_t& ns : own) ns += usual;
      for (int64_t& ns : theirs) ns += usual;
    }
    const double spread = mad_n({delta.begin(), delta.end()});
    // Work that occurs in few of the steps (samples, checkpoints) has no median.
    const bool by_mean = !lasts || median_ns(own) == 0;
    if (by_mean) return {mean(own), mean(theirs), mean(delta), spread};
    return {median_ns(own), median_ns(theirs), median_ns(delta), spread};
  }

  // The largest kind of the cause gives its name.
  void describe() {
    size_t best = 0;
    for (size_t k = 0; k < kOwnKinds; ++k) {
      const bool better = kKinds[best].cause != cause_.word ||
                          differences_[k].delta_ns > differences_[best].delta_ns;
      if (kKinds[k].cause == cause_.word && better) best = k;
    }
    const Difference& of_best = differences_[best];
    cause_.kind = kKinds[best].name;
    cause_.phase = kKinds[best].phase;
    cause_.own_ns = of_best.own_ns;
    cause_.peers_ns = of_best.peers_ns;
    cause_.relative = of_best.relative();
    cause_.steady = static_cast<double>(of_best.delta_ns) >= limit::kSteady * of_best.spread_ns;
    cause_.computes = computes(best);
    cause_.of_all_computation = computation().relative();
    best_ = static_cast<OwnKind>(best);
    note_ratios();
    cause_.reasons.push_back(fmt::format("{} of its delay is {}: {} per step, its peers' median {}",
                                         format_share(share(of_best.delta_ns)), cause_.kind,
                                         format_ms({of_best.own_ns}),
                                         format_ms({of_best.peers_ns})));
  }

  [[nodiscard]] Difference computation() const {
    Difference all;
    for (size_t k = 0; k < kOwnKinds; ++k) {
      if (!computes(k)) continue;
      all.own_ns += differences_[k].own_ns;
      all.peers_ns += differences_[k].peers_ns;
      all.delta_ns += differences_[k].delta_ns;
    }
    return all;
  }

  // A phase's relative excess; nullopt = too short to judge.
  [[nodiscard]] std::optional<double> ratio(OwnKind kind) const {
    const Difference& d = of(kind);
    if (static_cast<double>(d.peers_ns) < limit::kCounts * static_cast<double>(own_total_))
      return std::nullopt;
    return d.relative();
  }

  void note_ratios() {
    if (!cause_.computes) return;
    const std::optional<double> forward = ratio(OwnKind::kForward);
    const std::optional<double> backward = ratio(OwnKind::kBackward);
    const std::optional<double> optimizer = ratio(OwnKind::kOptimizer);
    if (!forward || !backward || *forward <= 0 || *backward <= 0) return;
    const double more = std::max(*forward, *backward);
    const double less = std::min(*forward, *backward);
    if (more - less > limit::kSameRatio * more) return;
    // Of a delay that is elsewhere, a factor that these two share says nothing.
    if (share(of(OwnKind::kForward).delta_ns + of(OwnKind::kBackward).delta_ns) < limit::kDominant)
      return;
    cause_.like_batch = !optimizer || *optimizer < limit::kUntouched * less;
    cause_.uniform = !cause_.like_batch;
    cause_.reasons.push_back(fmt::format(
        "forward takes {:.2f} times as long as on its peers, backward {:.2f}{}", 1 + *forward,
        1 + *backward, optimizer ? fmt::format(", the optimizer {:.2f}", 1 + *optimizer) : ""));
  }

  template <typename Get>
  [[nodiscard]] std::optional<double> usual(const Get& get) const {
    std::vector<double> values;
    for (const size_t r : peers(*suspect_.rank)) {
      const std::optional<double> value = get(in_.machines[r]);
      if (value) values.push_back(*value);
    }
    if (values.empty()) return std::nullopt;
    return median(std::move(values));
  }

  // Own value against the usual one; nullopt = one of them is unknown.
  template <typename Get>
  [[nodiscard]] std::optional<double> against_peers(const Get& get) const {
    const std::optional<double> own = get(in_.machines[*suspect_.rank]);
    const std::optional<double> theirs = usual(get);
    if (!own || !theirs || *theirs <= 0) return std::nullopt;
    return *own / *theirs;
  }

  void decide(std::string word, std::string reason) {
    cause_.word = std::move(word);
    cause_.reasons.push_back(std::move(reason));
  }

  void refine_computation() {
    if (!suspect_.rank && threads_can_have_waited()) {
      return decide("host",
                    "computation took longer than the training threads ran, by most of the delay: "
                    "they may have waited");
    }
    if (!suspect_.rank || in_.machines.empty()) {
      if (cause_.like_batch) cause_.word = "input_imbalance";
      return;
    }
    if (in_.work.on_device && blames_device()) return;
    if (!in_.work.on_device && has_no_cpu_time_for_it()) {
      return decide(
          "host",
          fmt::format(
              "almost none of its delay of {} is CPU time: the training thread was waiting, and not for a core",
              format_ms({of(best_).delta_ns})));
    }
    if (!in_.work.on_device && manages_memory()) return;
    const bool in_pipeline = in_.roles.of[*suspect_.rank].is_stage;
    const auto operators =
        against_peers([](const Machine& m) { return std::optional(m.kernels_per_step); });
    const bool more_operators = operators && *operators >= limit::kMoreWork;
    cause_.only_longer = !more_operators;
    if (cause_.like_batch && in_pipeline)
      return decide("stage_imbalance",
                    "its pipeline stage takes longer, in forward and backward alike");
    if (!in_pipeline && judged_by_batches()) return;
    if (cause_.like_batch) {
      return decide(
          "input_imbalance",
          "forward and backward are slower by the same factor and the optimizer is not, as with more or longer samples");
    }
    if (cause_.uniform && in_pipeline && more_operators) {
      return decide("stage_imbalance",
                    fmt::format("its stage has {:.2f} times as many operators", *operators));
    }
    if (cause_.uniform && in_.work.on_device)
      decide("device",
             "all its kernels are slower by the same factor, and no clock or limit explains it");
  }

  // True if the batches are known: they explain the delay, or it is not their doing. Computation
  // grows at most with the square of their elements (attention over long sequences).
  bool judged_by_batches() {
    const auto elements = against_peers([](const Machine& m) { return m.batch_elements; });
    if (!elements) return false;
    if (*elements >= limit::kMoreWork && 1 + cause_.of_all_computation <= *elements * *elements) {
      cause_.observed = true;
      decide("input_imbalance",
             fmt::format("its batches have {:.2f} times as many elements", *elements));
      return true;
    }
    // As many samples can be longer ones.
    if (!cause_.like_batch || in_.machines[*suspect_.rank].batch_elements_are_samples) return false;
    cause_.reasons.push_back(fmt::format(
        "that is not due to its batches: they have {:.2f} times as many elements as its peers'",
        *elements));
    return true;
  }

  bool blames_device() {
    const Machine& own = in_.machines[*suspect_.rank];
    const auto memory_clock = against_peers([](const Machine& m) { return m.memory_clock_mhz; });
    if (own.ecc_errors > 0 || (memory_clock && *memory_clock < limit::kLowerClock)) {
      decide(
          "gpu_memory",
          own.ecc_errors > 0
              ? fmt::format("its GPU had {} uncorrected memory errors", own.ecc_errors)
              : fmt::format("its GPU's memory clock runs at {:.2f} of its peers'", *memory_clock));
      return true;
    }
    const auto memory = against_peers([](const Machine& m) { return m.memory_kernel_ns; });
    const auto matrix = against_peers([](const Machine& m) { return m.matrix_kernel_ns; });
    const bool everywhere = ratio(OwnKind::kForward).value_or(0) > limit::kCounts &&
                            ratio(OwnKind::kBackward).value_or(0) > limit::kCounts;
    if (memory && matrix && everywhere && *memory >= limit::kSlowMemory &&
        *matrix < limit::kMoreWork) {
      decide("gpu_memory",
             fmt::format(
                 "its memory-bound kernels take {:.2f} times as long, its matrix products {:.2f}",
                 *memory, *matrix));
      return true;
    }
    if (!own.model.empty()) {
      const bool differs = std::ranges::all_of(peers(*suspect_.rank), [&](size_t r) {
        return !in_.machines[r].model.empty() && in_.machines[r].model != own.model;
      });
      if (differs) {
        decide("device",
               fmt::format("its GPU is of a different kind from its peers': {}", own.model));
        return true;
      }
    }
    const auto clock = against_peers([](const Machine& m) { return m.sm_clock_mhz; });
    const std::optional<double> theirs = usual([](const Machine& m) { return m.throttled; });
    const double more = own.throttled.value_or(0) - theirs.value_or(0);
    if (more < limit::kThrottled && !(clock && *clock < limit::kLowerClock)) return false;
    decide(
        "gpu_throttle",
        fmt::format(
            "its GPU was throttled in {} of the samples (reasons {:#x}); its clock is {:.2f} of its peers'",
            format_share(own.throttled.value_or(0)), own.throttle_reasons, clock.value_or(1)));
    return true;
  }

  void refine_host() {
    // A device also idles within the ranges of phases: the range is then no evidence.
    const bool named = best_ == OwnKind::kRange && !in_.work.on_device;
    const bool only_here = static_cast<double>(of(best_).peers_ns) <=
                           limit::kHardlyAny * static_cast<double>(of(best_).own_ns);
    if (named && only_here && in_.rank0) {
      return decide("rank0_work", "the delay is in a range that no peer has");
    }
    if (suspect_.shape == Shape::kRotating && !suspect_.one_at_a_time) {
      if (in_.collections_recorded) return rule_collections_out();
      return decide(
          "gc",
          "every rank's host pauses occasionally, each in different steps, as with Python's garbage collector; "
          "no recorded range confirms it");
    }
    const bool lasts = suspect_.rank && suspect_.shape == Shape::kPersistent;
    if (lasts && !in_.machines.empty() && !in_.work.on_device && manages_memory()) return;
    if (best_ != OwnKind::kUnattributed || !in_.phases_marked) return;
    if (suspect_.shape != Shape::kPersistent && suspect_.shape != Shape::kPeriodic) {
      if (in_.collections_recorded) return rule_collections_out();
      return decide(
          "gc",
          "the training thread pauses occasionally outside every phase, as with Python's garbage collector; "
          "no recorded range confirms it");
    }
    if (suspect_.rank && !in_.machines.empty()) refine_wait();
  }

  void rule_collections_out() {
    decide(cause_.word,
           "the host pauses occasionally; the recorded garbage collections of Python do not "
           "explain it");
  }

  // The training thread has about as much CPU time per step as its peers': it did not work longer.
  // False if unknown.
  [[nodiscard]] bool has_no_cpu_time_for_it() const {
    const std::optional<double> own = in_.machines[*suspect_.rank].cpu_per_step_ns;
    const std::optional<double> theirs = usual([](const Machine& m) { return m.cpu_per_step_ns; });
    return own && theirs && *own - *theirs <= limit::kOnCpu * delay_per_step();
  }

  // Of a rotating delay: the ranks' computation takes longer than their threads' CPU time, by most
  // of the delay. False if unknown.
  [[nodiscard]] bool threads_can_have_waited() const {
    if (in_.work.on_device || in_.machines.empty()) return false;
    double idle = 0;
    for (size_t r = 0; r < in_.work.kind_ns.size(); ++r) {
      if (!in_.machines[r].cpu_per_step_ns) return false;
      double computation = 0;
      for (const KindNs& kinds : in_.work.kind_ns[r]) {
        for (size_t k = 0; k < kOwnKinds; ++k)
          computation += computes(k) ? static_cast<double>(kinds[k]) : 0;
      }
      computation /= static_cast<double>(std::max<size_t>(1, in_.work.steps.size()));
      idle += std::max(0.0, computation - *in_.machines[r].cpu_per_step_ns);
    }
    return idle >= (1 - limit::kOnCpu) * delay_per_step();
  }

  // Samples of the recorder cover all steps, the delay only some of them.
  [[nodiscard]] double delay_per_step() const {
    return static_cast<double>(of(best_).delta_ns) * static_cast<double>(turns_.size()) /
           static_cast<double>(std::max<size_t>(1, in_.work.steps.size()));
  }

  // The delay is work of the kernel, which meanwhile maps more pages for the process than for its
  // peers: memory is returned to the system and allocated again.
  bool manages_memory() {
    const auto kernel = [](const Machine& m) { return m.kernel_cpu_per_step_ns; };
    const auto pages = [](const Machine& m) { return m.faults_per_step; };
    const Machine& own = in_.machines[*suspect_.rank];
    const std::optional<double> their_kernel = usual(kernel);
    const std::optional<double> their_pages = usual(pages);
    if (!kernel(own) || !pages(own) || !their_kernel || !their_pages) return false;
    const double more = *kernel(own) - *their_kernel;
    if (more < limit::kInKernel * delay_per_step() ||
        *pages(own) - *their_pages < limit::kFewPages ||
        *pages(own) < limit::kMorePages * *their_pages)
      return false;
    cause_.observed = true;
    decide(
        "allocator",
        fmt::format(
            "it spends {} more CPU time per step in the kernel than its peers, and takes {:.0f} page faults per step against their {:.0f}: "
            "memory is returned to the system and requested again",
            format_ms({std::llround(more)}), *pages(own), *their_pages));
    return true;
  }

  // Whether the training thread waited outside every phase, and for what.
  void refine_wait() {
    const Looks::ByWait& looks = in_.machines[*suspect_.rank].looks.counts;
    const double all = std::accumulate(looks.begin(), looks.end(), 0.0);
    for (const WaitWord& known : kWaitWords) {
      const double least = least_share(known.wait);
      if (least <= limit::kMostOfIt) continue;
      return decide(
          known.cause,
          fmt::format("in {:.0f} of {:.0f} samples outside every phase the training thread {}: "
                      "at least {} of its delay (95 % confidence)",
                      looks[static_cast<size_t>(known.wait)], all, known.saw, format_share(least)));
    }
    if (!has_no_cpu_time_for_it()) return;
    cause_.reasons.push_back(fmt::format(
        "outside every phase the training thread neither ran nor waited for a core; what it waited for {}",
        all == 0 ? "was not recorded" : fmt::format("is not clear from {:.0f} samples", all)));
  }

  // The least share of the delay that the thread spent in this wait: by its own samples, minus the
  // most that its peers spend in it, by theirs.
  [[nodiscard]] double least_share(schema::ThreadWait wait) const {
    const auto bounds = [wait](const Looks::ByWait& observations) {
      const double all = std::accumulate(observations.begin(), observations.end(), 0.0);
      return bounds_of_share(all > 0 ? observations[static_cast<size_t>(wait)] / all : 0, all);
    };
    Looks::ByWait of_peers{};
    for (const size_t r : peers(*suspect_.rank)) {
      for (size_t k = 0; k < of_peers.size(); ++k)
        of_peers[k] += in_.machines[r].looks.observations[k];
    }
    const Difference& d = of(best_);
    const double least = bounds(in_.machines[*suspect_.rank].looks.observations).least;
    const double usual = bounds(of_peers).most;
    return std::min(
        1.0, (least * static_cast<double>(d.own_ns) - usual * static_cast<double>(d.peers_ns)) /
                 static_cast<double>(std::max<int64_t>(1, d.delta_ns)));
  }

  const CauseInput& in_;
  const Suspect& suspect_;
  std::vector<Turn> turns_;
  Differences differences_;
  int64_t own_total_ = 0;  // the peers' own work
  int64_t total_ = 0;      // of the kinds that are longer
  OwnKind best_ = OwnKind::kUnattributed;
  Cause cause_;
};

}  // namespace

double fluctuation_of(const OwnWork& work, const std::vector<Turn>& turns) {
  std::vector<std::vector<bool>> late(work.kind_ns.size(),
                                      std::vector<bool>(work.steps.size(), false));
  for (const auto& [rank, step] : turns) late[rank][step] = true;
  double most = 0;
  for (size_t r = 0; r < work.kind_ns.size(); ++r) {
    const double whole = median({work.own_ns[r].begin(), work.own_ns[r].end()});
    for (size_t k = 0; k < kOwnKinds; ++k) {
      if (!computes(k)) continue;
      std::vector<double> series;
      for (size_t s = 0; s < work.kind_ns[r].size(); ++s) {
        if (!late[r][s]) series.push_back(static_cast<double>(work.kind_ns[r][s][k]));
      }
      if (series.empty()) continue;
      const double typical = median(series);
      if (typical >= limit::kMatters * whole && typical > 0)
        most = std::max(most, mad_n(series) / typical);
    }
  }
  return most;
}

Cause cause_of(const CauseInput& input, const Suspect& suspect) {
  if (input.work.kind_ns.empty()) return {.word = "unknown", .kind = {}, .reasons = {}};
  return Decision(input, suspect).run();
}

}  // namespace dprof::analyzer
