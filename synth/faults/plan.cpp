// SPDX-License-Identifier: Apache-2.0
#include "synth/faults/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "synth/random.h"

namespace dprof::synth {
namespace {

constexpr int64_t kCheckpointEvery = 10;
constexpr int64_t kCollectEvery = 10;

int64_t ns_of(double ms) { return std::llround(ms * 1e6); }

Result<Pattern> pattern_of(const FaultSpec& spec) {
  if (spec.shape) {
    for (const Pattern p : {Pattern::kPersistent, Pattern::kTransient, Pattern::kPeriodic,
                            Pattern::kRotating, Pattern::kGrowing}) {
      if (word_of(p) == *spec.shape) return p;
    }
    return fail(Code::kUsage, fmt::format("{}: no shape of a fault", *spec.shape),
                "persistent, transient, periodic, rotating or growing");
  }
  if (spec.probability && spec.name != "drop") return Pattern::kTransient;
  return spec.every ? Pattern::kPeriodic : Pattern::kPersistent;
}

constexpr std::pair<std::string_view, Of> kOfs[] = {{"host", Of::kHost},
                                                    {"tensor", Of::kTensor},
                                                    {"data", Of::kData},
                                                    {"stage", Of::kStage},
                                                    {"replica", Of::kReplica}};

Result<Of> of_what(const Spec& spec, const FaultSpec& asked, Of usual) {
  if (!asked.of) return usual;
  const auto* const found =
      std::ranges::find(kOfs, *asked.of, &std::pair<std::string_view, Of>::first);
  if (found == std::end(kOfs)) {
    return fail(Code::kUsage, fmt::format("{}: no group of ranks", *asked.of),
                "host, tensor, data, stage or replica");
  }
  const bool tensor = found->second == Of::kTensor || found->second == Of::kData;
  if (tensor && spec.technique != Technique::kTensorData)
    return fail(Code::kUsage, fmt::format("{}: only with --technique tensor-data", *asked.of));
  if (!tensor && found->second != Of::kHost && spec.technique != Technique::kPipeline)
    return fail(Code::kUsage, fmt::format("{}: only with --technique pipeline", *asked.of));
  return found->second;
}

HangAct act_of(std::string_view name) {
  constexpr std::pair<std::string_view, HangAct> kActs[] = {
      {"hang-sleep", HangAct::kSleep},
      {"hang-missing-trace", HangAct::kSleep},
      {"hang-exception", HangAct::kException},
      {"hang-early-exit", HangAct::kEarlyExit},
      {"hang-infinite-loop", HangAct::kLoop},
      {"hang-data-stall", HangAct::kDataStall},
      {"hang-killed", HangAct::kKilled},
      {"hang-lost-node", HangAct::kLost},
      {"hang-swapped", HangAct::kSwapped},
      {"hang-wrong-size", HangAct::kWrongSize},
      {"hang-wrong-function", HangAct::kWrongFunction},
      {"hang-wrong-dtype", HangAct::kWrongDtype},
      {"hang-network", HangAct::kNetwork},
      {"hang-queued", HangAct::kQueued},
      {"hang-two-culprits", HangAct::kHalf},
  };
  const auto found = std::ranges::find(kActs, name, &std::pair<std::string_view, HangAct>::first);
  return found == std::end(kActs) ? HangAct::kNone : found->second;
}

Result<Fault> settled(const Spec& spec, const FaultSpec& asked) {
  Fault fault{.spec = asked, .kind = find_fault(asked.name)};
  if (fault.kind == nullptr) {
    return fail(Code::kUsage, fmt::format("{}: no such fault", asked.name),
                "dprof-synth --list names them");
  }
  if (fault.kind->gpu_only && spec.shape != Shape::kGpu)
    return fail(Code::kUsage, fmt::format("{}: only with --shape gpu", asked.name));
  const Result<Pattern> pattern = pattern_of(asked);
  if (!pattern.ok()) return fail(pattern.error());
  const bool hangs = fault.kind->family == Family::kHang;
  const bool all_ranks = asked.name == "gc-pauses" || (asked.name == "gc-collects" && !asked.shape);
  fault.pattern = all_ranks ? Pattern::kRotating : *pattern;
  fault.rank = asked.rank.value_or(asked.name == "rank0-work" ? 0 : std::min(1, spec.ranks - 1));
  fault.other = asked.other.value_or(asked.name == "hang-two-culprits"
                                         ? spec.ranks / 2 + fault.rank % std::max(1, spec.ranks / 2)
                                         : (fault.rank + 1) % spec.ranks);
  fault.host = asked.host.value_or(asked.name == "hang-lost-node" || asked.name == "slow-link"
                                       ? (asked.rank ? host_of(spec, *asked.rank) : spec.hosts - 1)
                                       : -1);
  const bool late = hangs || fault.kind->family == Family::kLoss;
  fault.from = asked.from.value_or(late && asked.name != "drop" ? spec.steps / 2 : 0);
  fault.to = asked.to.value_or(hangs ? fault.from + 1 : INT64_MAX);
  // Grows until the end.
  if (fault.pattern == Pattern::kGrowing) fault.to = std::min(fault.to, spec.steps);
  fault.every =
      std::max<int64_t>(1, asked.every.value_or(asked.name == "checkpoint"    ? kCheckpointEvery
                                                : asked.name == "gc-collects" ? kCollectEvery
                                                : fault.pattern == Pattern::kPeriodic ? 5
                                                                                      : 1));
  const bool random = fault.pattern == Pattern::kTransient || asked.name == "gc-pauses";
  fault.probability = asked.probability.value_or(asked.name == "drop" ? 0.005 : random ? 0.05 : 1);
  fault.ms = asked.ms.value_or(fault.kind->ms);
  fault.factor = asked.factor.value_or(fault.kind->factor);
  fault.count = asked.count.value_or(asked.name == "item-sync" ? 20 : 8);
  const Result<Of> of =
      of_what(spec, asked, asked.name == "stage-imbalance" ? Of::kStage : Of::kRank);
  if (!of.ok()) return fail(of.error());
  fault.of = *of;
  // With a host, of which any rank stands for all.
  if ((asked.name == "slow-rank" || fault.of == Of::kHost) && asked.host) {
    fault.of = Of::kHost;
    fault.rank = static_cast<int>(
        (static_cast<int64_t>(*asked.host) * spec.ranks + spec.hosts - 1) / spec.hosts);
  }
  fault.at = asked.at.value_or(0);
  if (!(fault.at >= 0) || !(fault.at < 1))
    return fail(Code::kUsage, fmt::format("{}: at: 0 or more, below 1", asked.name));
  if (fault.at > 0 && asked.name != "slow-backward" && asked.name != "sleep-backward")
    return fail(Code::kUsage, fmt::format("{}: at: only of faults in backward", asked.name));
  for (const int rank : {fault.rank, fault.other}) {
    if (rank < 0 || rank >= spec.ranks)
      return fail(Code::kUsage, fmt::format("{}: no rank {}", asked.name, rank));
  }
  if (fault.host >= spec.hosts)
    return fail(Code::kUsage, fmt::format("{}: no host {}", asked.name, fault.host));
  if (asked.name == "slow-link" && spec.hosts < 2)
    return fail(Code::kUsage, "slow-link: there is one host, and no link between hosts");
  const bool majority = act_of(asked.name) >= HangAct::kSwapped && hangs;
  if (majority && spec.ranks < 3)
    return fail(Code::kUsage, fmt::format("{}: needs 3 ranks or more", asked.name));
  return fault;
}

}  // namespace

int group_of(const Spec& spec, Of of, int rank) {
  switch (of) {
    case Of::kHost:
      return host_of(spec, rank);
    case Of::kTensor:
      return rank / spec.tensor_ranks;
    case Of::kData:
      return rank % spec.tensor_ranks;
    case Of::kStage:
      return rank / spec.replicas;
    case Of::kReplica:
      return rank % spec.replicas;
    case Of::kRank:
      break;
  }
  return rank;
}

std::string_view word_of(Pattern pattern) {
  constexpr std::string_view kWords[] = {"persistent", "transient", "periodic", "rotating",
                                         "growing"};
  return kWords[static_cast<size_t>(pattern)];
}

bool Fault::at_work(uint64_t seed, int64_t step) const {
  if (step < from || step >= to) return false;
  if (!takes_turns() && (step - from) % every != 0) return false;
  return pattern != Pattern::kTransient || uniform(key_of(seed, 71, step, rank)) < probability;
}

int Fault::rank_in(int64_t step, int ranks) const {
  return pattern == Pattern::kRotating ? static_cast<int>(step % ranks) : rank;
}

bool Fault::takes_turns() const {
  return kind->name == "gc-collects" && pattern == Pattern::kRotating;
}

double Fault::strength(int64_t step) const {
  if (pattern != Pattern::kGrowing) return 1;
  return static_cast<double>(step - from + 1) /
         static_cast<double>(std::max<int64_t>(1, to - from));
}

Result<FaultPlan> FaultPlan::make(const Spec& spec) {
  FaultPlan plan;
  plan.spec_ = spec;
  for (const FaultSpec& asked : spec.faults) {
    Result<Fault> fault = settled(spec, asked);
    if (!fault.ok()) return fail(fault.error());
    plan.faults_.push_back(*std::move(fault));
  }
  if (!spec.healthy.empty()) {
    const FaultKind* kind = find_fault(spec.healthy);
    if (kind == nullptr || kind->family != Family::kHealthy) {
      return fail(Code::kUsage, fmt::format("{}: no kind of healthy run", spec.healthy),
                  "dprof-synth --list names them");
    }
    if (spec.healthy == "unequal-stages" && spec.technique != Technique::kPipeline)
      return fail(Code::kUsage, "unequal-stages: only with --technique pipeline");
  }
  return plan;
}

const Fault* FaultPlan::hang() const {
  const auto found = std::ranges::find(faults_, Family::kHang,
                                       [](const Fault& fault) { return fault.kind->family; });
  return found == faults_.end() ? nullptr : &*found;
}

std::vector<int> FaultPlan::culprits() const {
  std::vector<int> ranks;
  const Fault* fault = hang();
  if (fault == nullptr) return ranks;
  switch (act_of(fault->kind->name)) {
    case HangAct::kNetwork:
      break;
    case HangAct::kLost:
      for (int r = 0; r < spec_.ranks; ++r) {
        if (host_of(spec_, r) == fault->host) ranks.push_back(r);
      }
      break;
    case HangAct::kSwapped:
    case HangAct::kHalf:
      ranks = {fault->rank, fault->other};
      break;
    default:
      ranks = {fault->rank};
  }
  std::ranges::sort(ranks);
  return ranks;
}

double FaultPlan::speed(int rank) const {
  double factor = 1 + spec_.rank_noise * normal(key_of(spec_.seed, 41, rank));
  if (spec_.healthy == "noisy-hosts")
    factor *= 1 + 0.01 * normal(key_of(spec_.seed, 42, host_of(spec_, rank)));
  if (spec_.healthy == "unequal-stages") {
    const int stage = rank / spec_.replicas;
    factor *= stage + 1 == spec_.ranks / spec_.replicas ? 1.08 : stage % 2 == 1 ? 0.97 : 1;
  }
  return factor;
}

double FaultPlan::loudness(int rank) const {
  if (spec_.noise_decades == 0) return 1;
  const double drawn = uniform(key_of(spec_.seed, 43, host_of(spec_, rank)));
  return std::pow(10, spec_.noise_decades * (drawn - 0.5));
}

bool FaultPlan::touches(const Fault& fault, int rank, int64_t step) const {
  const int culprit = fault.rank_in(step, spec_.ranks);
  return group_of(spec_, fault.of, culprit) == group_of(spec_, fault.of, rank);
}

std::vector<int> FaultPlan::touched(const Fault& fault) const {
  std::vector<int> ranks;
  const std::string_view name = fault.kind->name;
  if (fault.pattern == Pattern::kRotating || name == "slow-network") return ranks;
  for (int r = 0; r < spec_.ranks; ++r) {
    const bool hit = name == "slow-link" ? host_of(spec_, r) == fault.host : touches(fault, r, 0);
    if (hit) ranks.push_back(r);
  }
  return ranks;
}

Effects FaultPlan::effects(int rank, int64_t step) const {
  Effects effects;
  for (const Fault& fault : faults_) {
    if (!fault.at_work(spec_.seed, step)) continue;
    if (fault.kind->family == Family::kHang) {
      add_hang(fault, rank, step, effects);
    } else if (fault.kind->family == Family::kFault || fault.kind->family == Family::kMemory) {
      add(fault, rank, step, effects);
    }
  }
  if (!spec_.healthy.empty()) add_healthy(rank, step, effects);
  if (spec_.drift != 1 && spec_.steps > 1) {
    const double done = static_cast<double>(step) / static_cast<double>(spec_.steps - 1);
    effects.work_factor *= 1 + (spec_.drift - 1) * done;
  }
  return effects;
}

void FaultPlan::add(const Fault& fault, int rank, int64_t step, Effects& e) const {
  const std::string_view name = fault.kind->name;
  const double factor = fault.factor_in(step);
  if (name == "slow-network" || (name == "slow-link" && spec_.hosts > 1)) {
    e.network_factor = std::max(e.network_factor, factor);
    return;
  }
  const int64_t ns = ns_of(fault.ms * fault.strength(step));
  if (name == "gc-pauses") {
    if (uniform(key_of(spec_.seed, 72, rank, step)) < fault.probability) e.forward_gc_ns += ns;
    return;
  }
  if (name == "gc-collects") {
    const int64_t turn = fault.takes_turns() ? rank * fault.every / spec_.ranks : 0;
    if ((step - fault.from) % fault.every == turn) e.marked_gc_ns += ns;
    return;
  }
  if (!touches(fault, rank, step)) return;
  if (name == "slow-forward") e.forward_op_ns += ns;
  if (name == "sleep-forward") e.forward_host_ns += ns;
  if (name == "slow-backward" || name == "sleep-backward") {
    const Inside delay{.at = fault.at,
                       .op_ns = name == "slow-backward" ? ns : 0,
                       .host_ns = name == "sleep-backward" ? ns : 0};
    if (fault.at > 0) {
      e.inside_backward.push_back(delay);
    } else {
      e.backward_op_ns += delay.op_ns;
      e.backward_host_ns += delay.host_ns;
    }
  }
  if (name == "loader") e.loader_ns += ns;
  if (name == "slow-storage") e.batch_cost *= factor;
  if (name == "gc-pause") e.forward_gc_ns += ns;
  if (name == "gc-collect") e.marked_gc_ns += ns;
  if (name == "slow-optimizer") e.optimizer_op_ns += ns;
  if (name == "checkpoint") e.checkpoint_ns += ns;
  if (name == "rank0-work") e.rank0_ns += ns;
  if (name == "item-sync") {
    e.syncs += fault.count;
    e.after_sync_ns = ns;
  }
  if (name == "allocator-churn") {
    e.churns += fault.count;
    e.churn_ns = ns;
  }
  if (name == "leak") e.leaked_bytes += fault.count << 20;
  if (name == "slow-rank") e.host_factor *= factor, e.kernel_factor *= factor;
  if (name == "gpu-throttle" || name == "slow-device") e.kernel_factor *= factor;
  if (name == "slow-memory") e.memory_factor *= factor;
  if (name == "input-imbalance" || name == "long-sequences") e.batch_factor *= factor;
  if (name == "stage-imbalance") e.layers_factor *= factor;
  if (name == "cpu-contention") {
    e.host_factor *= factor;
    e.jitter = factor;
  }
}

void FaultPlan::add_hang(const Fault& fault, int rank, int64_t, Effects& effects) const {
  const HangAct act = act_of(fault.kind->name);
  const bool touched = act == HangAct::kNetwork ||
                       (act == HangAct::kLost && host_of(spec_, rank) == fault.host) ||
                       (act != HangAct::kLost && rank == fault.rank) ||
                       (act == HangAct::kHalf && rank == fault.other);
  if (touched) effects.hang = act;
}

void FaultPlan::add_healthy(int rank, int64_t step, Effects& e) const {
  const std::string& kind = spec_.healthy;
  const uint64_t key = key_of(spec_.seed, 51, rank, step);
  if (kind == "rank0-extra" && rank == 0) e.rank0_ns += ns_of(spec_.step_ms * 0.01);
  if (kind == "variable-sequences") e.batch_factor *= std::max(0.4, 1 + 0.15 * normal(key));
  if (kind == "spikes" && uniform(key) < 0.01) e.forward_host_ns += ns_of(30);
  if (kind == "below-floor" && rank == spec_.ranks / 2)
    e.forward_op_ns += ns_of(spec_.step_ms * 0.01);
  if (kind == "checkpoints" && step % kCheckpointEvery == kCheckpointEvery - 1)
    e.checkpoint_ns += ns_of(4 * spec_.step_ms);
  if (kind == "warm-up" && step < 3) e.work_factor *= 3;
  if (kind == "all-slower" && step >= spec_.steps / 2) e.work_factor *= 1.3;
  if (kind == "all-input") e.loader_ns += ns_of(spec_.step_ms * 0.25);
}

}  // namespace dprof::synth
