// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "synth/faults/plan.h"
#include "tests/diagnosis/cases.h"

namespace dprof::diagnosis {
namespace {

using synth::Shape;
using synth::Technique;

enum class On : uint8_t { kBoth, kCpu, kGpu };
enum class Over : uint8_t { kReplicas, kReplicasAndStages, kStages, kHosts };

// A kind of fault, and what the report must say about it.
struct Kind {
  std::string_view name;
  std::string_view fault;  // synth's
  Knob knob = Knob::kMs;
  std::vector<std::string_view> causes;
  On on = On::kBoth;
  Over over = Over::kReplicas;
  std::string_view shape = "persistent";
  double duty = 1;   // share of the steps in which it is at work
  double share = 1;  // Knob::kFactor: share of the step that the factor stretches
  int culprit = -1;  // rank; -1 = another one each time
  int least_ranks = 2;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kKinds = {
      {"slow-forward", "slow-forward", Knob::kMs, {"compute"}, On::kBoth, Over::kReplicasAndStages},
      {"slow-backward", "slow-backward", Knob::kMs, {"compute"}},
      {"slow-optimizer", "slow-optimizer", Knob::kMs, {"compute"}},
      {.name = "slow-rank",
       .fault = "slow-rank",
       .knob = Knob::kFactor,
       .causes = {"compute", "device"},
       .share = 0.9},
      {"sleep-forward", "sleep-forward", Knob::kMs, {"host"}},
      {"sleep-backward",
       "sleep-backward",
       Knob::kMs,
       {"host"},
       On::kBoth,
       Over::kReplicasAndStages},
      {"loader", "loader", Knob::kMs, {"dataloader"}},
      {"slow-storage", "slow-storage", Knob::kFactor, {"dataloader"}},
      {.name = "gc-collect",
       .fault = "gc-collect",
       .causes = {"gc"},
       .shape = "transient",
       .duty = 0.1},
      {.name = "gc-pauses",
       .fault = "gc-pauses",
       .causes = {"gc"},
       .shape = "rotating",
       .duty = 0.3,
       .least_ranks = 3},
      {"item-sync", "item-sync", Knob::kMs, {"synchronisation"}, On::kGpu},
      {.name = "cpu-contention",
       .fault = "cpu-contention",
       .knob = Knob::kFactor,
       .causes = {"cpu_contention"},
       .on = On::kCpu,
       .share = 0.9},
      {.name = "input-imbalance",
       .fault = "input-imbalance",
       .knob = Knob::kFactor,
       .causes = {"input_imbalance"},
       .share = 0.8},
      {.name = "long-sequences",
       .fault = "long-sequences",
       .knob = Knob::kFactor,
       .causes = {"input_imbalance"},
       .share = 0.8},
      {.name = "stage-imbalance",
       .fault = "stage-imbalance",
       .knob = Knob::kFactor,
       .causes = {"stage_imbalance"},
       .over = Over::kStages,
       .share = 0.6},
      {.name = "slow-link",
       .fault = "slow-link",
       .knob = Knob::kFactor,
       .causes = {"network"},
       .over = Over::kHosts,
       .share = 0.05,
       .least_ranks = 4},
      {"allocator-churn", "allocator-churn", Knob::kMs, {"allocator"}, On::kGpu},
      {.name = "checkpoint",
       .fault = "checkpoint",
       .causes = {"checkpoint"},
       .shape = "periodic",
       .duty = 0.1},
      {.name = "rank0-work", .fault = "rank0-work", .causes = {"rank0_work"}, .culprit = 0},
      {.name = "gpu-throttle",
       .fault = "gpu-throttle",
       .knob = Knob::kFactor,
       .causes = {"gpu_throttle"},
       .on = On::kGpu,
       .share = 0.9},
      {.name = "slow-device",
       .fault = "slow-device",
       .knob = Knob::kFactor,
       .causes = {"device"},
       .on = On::kGpu,
       .share = 0.9},
      {.name = "slow-memory",
       .fault = "slow-memory",
       .knob = Knob::kFactor,
       .causes = {"gpu_memory"},
       .on = On::kGpu,
       .share = 0.4},
      {.name = "transient",
       .fault = "sleep-forward",
       .causes = {"host", "gc"},
       .shape = "transient",
       .duty = 0.1},
      {.name = "periodic",
       .fault = "sleep-forward",
       .causes = {"host"},
       .shape = "periodic",
       .duty = 0.2},
      {.name = "rotating",
       .fault = "sleep-forward",
       .causes = {"host", "gc"},
       .shape = "rotating",
       .least_ranks = 3},
      {.name = "onset", .fault = "sleep-backward", .causes = {"host"}, .duty = 0.5},
      {.name = "two-stragglers", .fault = "slow-forward", .causes = {"compute"}, .least_ranks = 4},
      {.name = "slow-host",
       .fault = "slow-rank",
       .knob = Knob::kFactor,
       .causes = {"compute", "device"},
       .share = 0.9,
       .least_ranks = 8},
  };
  return kKinds;
}

void set_where(const Kind& kind, size_t number, Case& one) {
  synth::Spec& spec = one.spec;
  constexpr int kRanks[] = {4, 8, 2, 3, 16, 4, 8, 2, 16, 3, 8, 4, 64};
  constexpr Technique kReplicas[] = {Technique::kDdp,   Technique::kDdp,        Technique::kZero2,
                                     Technique::kZero3, Technique::kTensorData, Technique::kDdp,
                                     Technique::kZero1};
  spec.ranks = std::max(kind.least_ranks, kRanks[number % std::size(kRanks)]);
  spec.shape = kind.on == On::kCpu                      ? Shape::kCpu
               : kind.on == On::kGpu || number % 2 == 1 ? Shape::kGpu
                                                        : Shape::kCpu;
  spec.technique = kReplicas[number / 2 % std::size(kReplicas)];
  if (kind.over == Over::kStages || (kind.over == Over::kReplicasAndStages && number % 5 == 4)) {
    spec.technique = Technique::kPipeline;
    spec.ranks = std::clamp(spec.ranks, 2, 8);
  }
  if (spec.technique == Technique::kTensorData && spec.ranks % 2 != 0)
    spec.technique = Technique::kDdp;
  spec.hosts = spec.ranks >= 16 ? 4 : spec.ranks >= 4 && number % 3 == 0 ? 2 : 1;
  if (kind.over == Over::kHosts) {
    constexpr Technique kLinks[] = {Technique::kTensorData, Technique::kPipeline, Technique::kDdp};
    spec.technique = kLinks[number % std::size(kLinks)];
    spec.ranks = spec.technique == Technique::kPipeline ? 8 : std::max(8, spec.ranks);
    if (spec.ranks == 64) spec.ranks = 16;
    spec.hosts = 4;
    spec.tensor_ranks = spec.ranks / 2;
  }
  if (kind.name == "slow-host") spec.hosts = 4;
}

// The first guess of what makes the faults cost `size`; the runner corrects it.
void set_knob(const Kind& kind, double size, Case& one) {
  const double extra = size / (1 - size);
  for (synth::FaultSpec& fault : one.spec.faults) {
    if (kind.knob == Knob::kMs) {
      fault.ms = one.spec.step_ms * extra / kind.duty;
      if (fault.name == "item-sync" || fault.name == "allocator-churn")
        fault.ms = *fault.ms / static_cast<double>(*fault.count);
    } else {
      fault.factor = kind.fault == "slow-storage" ? 4 * (1 + extra) : 1 + extra / kind.share;
    }
  }
  one.knob = kind.knob;
}

void set_when(const Kind& kind, const synth::Spec& spec, synth::FaultSpec& fault) {
  if (kind.shape == "transient" || kind.name == "gc-pauses")
    fault.probability = kind.name == "gc-pauses" ? kind.duty / spec.ranks : kind.duty;
  if (kind.name == "periodic") fault.every = 5;
  if (kind.name == "rotating") fault.shape = "rotating";
  if (kind.name == "onset" || (kind.name == "slow-link" && spec.technique == Technique::kDdp))
    fault.from = spec.steps / 2;
  if (kind.name == "item-sync" || kind.name == "allocator-churn") fault.count = 8;
}

std::vector<int> ranks_of_host(const synth::Spec& spec, int host) {
  std::vector<int> ranks;
  for (int r = 0; r < spec.ranks; ++r) {
    if (synth::host_of(spec, r) == host) ranks.push_back(r);
  }
  return ranks;
}

// Who is at fault, and what is to be found.
void set_culprit(const Kind& kind, size_t number, Case& one) {
  const synth::Spec& spec = one.spec;
  synth::FaultSpec fault{.name = std::string(kind.fault)};
  Expected expected{.causes = kind.causes, .shape = kind.shape};
  const auto turn = static_cast<int>(number * 7 + 1);
  const bool of_host = kind.over == Over::kHosts || kind.name == "slow-host";
  if (of_host) {
    fault.host = turn % spec.hosts;
    expected.host = *fault.host;
    expected.ranks = ranks_of_host(spec, expected.host);
  } else if (kind.shape != "rotating") {
    const bool reads = kind.name == "loader" || kind.name == "slow-storage";
    const bool first = spec.technique == Technique::kPipeline && reads;
    fault.rank = first ? 0 : kind.culprit >= 0 ? kind.culprit : turn % spec.ranks;
    expected.ranks = {*fault.rank};
  }
  set_when(kind, spec, fault);
  // Without marks nothing says what the host was at.
  const bool by_marks = kind.name == "checkpoint" || kind.name == "rank0-work";
  if (by_marks && spec.marks != synth::Marks::kMarker) expected.causes.emplace_back("host");
  one.spec.faults.push_back(fault);
  one.expected.push_back(expected);
  if (kind.name != "two-stragglers") return;
  // Two that add up: one before and one behind the first bucket would hide each other.
  fault.name = "loader";
  fault.rank = (*fault.rank + spec.ranks / 2) % spec.ranks;
  one.spec.faults.push_back(fault);
  one.expected.push_back({.ranks = {*fault.rank}, .causes = {"dataloader"}, .shape = kind.shape});
}

}  // namespace

void add_fault_cases(size_t number, std::vector<Case>& cases) {
  constexpr double kSizes[] = {0.01, 0.03, 0.05, 0.1, 0.3};
  constexpr size_t kVariants = 3;
  for (const Kind& kind : kinds()) {
    for (const double size : kSizes) {
      for (size_t variant = 0; variant < kVariants; ++variant, ++number) {
        Case one{.kind = std::string(kind.name), .size = size};
        set_where(kind, number, one);
        set_usual(number, one);
        set_clocks(number, one.spec);
        set_culprit(kind, number, one);
        set_knob(kind, size, one);
        name_case(variant, one);
        cases.push_back(std::move(one));
      }
    }
  }
}

}  // namespace dprof::diagnosis
