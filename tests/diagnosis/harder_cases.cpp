// SPDX-License-Identifier: Apache-2.0
// Runs that are harder to judge: the same faults where times vary more, or otherwise, or where
// other things cost time as well; and faults at other places, on groups of ranks, or several.
#include <array>
#include <iterator>

#include "synth/faults/plan.h"
#include "tests/diagnosis/cases.h"

namespace dprof::diagnosis {
namespace {

using synth::FaultSpec;
using synth::Marks;
using synth::Of;
using synth::Shape;
using synth::Spec;
using synth::Technique;

// What a run is like, whatever is wrong with it. Noise of operators, of ranks, of steps.
struct World {
  std::string_view name;
  void (*set)(Spec& spec);
};

void set_noise(Spec& spec, double operators, double ranks, double steps) {
  spec.noise = operators;
  spec.rank_noise = ranks;
  spec.step_noise = steps;
}

void set_tails(Spec& spec) {
  set_noise(spec, 0.05, 0.003, 0.01);
  spec.noise_tail = 2.5;
}

void set_memory(Spec& spec) {
  set_noise(spec, 0.02, 0.003, 0.02);
  spec.noise_memory = 0.9;
}

// From a tenth of this to ten times as much.
void set_unequal(Spec& spec) {
  set_noise(spec, 0.02, 0.003, 0.005);
  spec.noise_decades = 2;
}

// Transfers alone take so much of the time of computation.
void set_transfer_share(Spec& spec, double share) {
  spec.bytes_per_step = spec.shape == Shape::kGpu ? 100e6 : 12e6;
  const double gb_s = 2 * spec.bytes_per_step / (share * spec.step_ms * 1e6);
  spec.network.bandwidth_gb_s = gb_s;
  spec.network.inside_bandwidth_gb_s = gb_s;
}

void set_transfers(Spec& spec) {
  set_noise(spec, 0.02, 0.003, 0.01);
  set_transfer_share(spec, 1.2);
}

void set_contention(Spec& spec) {
  set_noise(spec, 0.02, 0.003, 0.01);
  set_transfer_share(spec, 0.3);
  spec.contention = 1.4;
  spec.transfer_contention = 1.3;
}

void set_drift(Spec& spec) {
  set_noise(spec, 0.02, 0.003, 0.01);
  spec.drift = 1.6;
}

void set_no_marks(Spec& spec) {
  set_noise(spec, 0.02, 0.003, 0.01);
  spec.marks = Marks::kNone;
}

void set_everything(Spec& spec) {
  set_contention(spec);
  spec.contention = 1.2;
  set_noise(spec, 0.03, 0.003, 0.01);
  spec.noise_tail = 3;
  spec.noise_memory = 0.8;
  spec.noise_decades = 1;
  spec.drift = 1.3;
}

constexpr World kWorlds[] = {{"heavy-tails", set_tails},     {"autocorrelated", set_memory},
                             {"unequal-hosts", set_unequal}, {"comm-bound", set_transfers},
                             {"contended", set_contention},  {"drifting-load", set_drift},
                             {"no-marks", set_no_marks},     {"everything", set_everything}};

// In which kinds of faults take turns: a quiet one, a usual one, and the noisy ones.
constexpr World kTurns[] = {{"quiet", [](Spec& spec) { set_noise(spec, 0.01, 0.002, 0); }},
                            {"heavy-tails", set_tails},
                            {"usual", [](Spec& spec) { set_noise(spec, 0.02, 0.003, 0.01); }},
                            {"autocorrelated", set_memory},
                            {"unequal-hosts", set_unequal}};

// Where a run takes place; groups are tensor-parallel ones, or the replicas of a stage.
struct Layout {
  Technique technique;
  int ranks;
  int hosts;
  int group = 1;
};

void set_layout(const Layout& layout, Spec& spec) {
  spec.technique = layout.technique;
  spec.ranks = layout.ranks;
  spec.hosts = layout.hosts;
  if (layout.technique == Technique::kTensorData) spec.tensor_ranks = layout.group;
  if (layout.technique == Technique::kPipeline) spec.replicas = layout.group;
}

constexpr Layout kLayouts[] = {
    {Technique::kDdp, 4, 2},  {Technique::kZero3, 8, 2},          {Technique::kTensorData, 8, 2, 2},
    {Technique::kDdp, 16, 4}, {Technique::kZero1, 3, 3},          {Technique::kZero2, 6, 2},
    {Technique::kDdp, 8, 8},  {Technique::kTensorData, 16, 4, 4}, {Technique::kZero2, 12, 3},
    {Technique::kDdp, 32, 4}, {Technique::kPipeline, 8, 2, 2},
};

// Every way in which four ranks can work together.
constexpr Layout kOfFour[] = {
    {Technique::kDdp, 4, 1},           {Technique::kTensorData, 4, 1, 2},
    {Technique::kPipeline, 4, 1, 2},   {Technique::kZero1, 4, 2},
    {Technique::kDdp, 4, 4},           {Technique::kParameterServer, 4, 1},
    {Technique::kPipeline, 4, 4},      {Technique::kZero3, 4, 1},
    {Technique::kDdp, 4, 2},           {Technique::kTensorData, 4, 2, 2},
    {Technique::kZero2, 4, 1},         {Technique::kPipeline, 4, 2, 2},
    {Technique::kPipeline, 4, 1},      {Technique::kTensorData, 4, 1, 4},
    {Technique::kZero3, 4, 4},         {Technique::kParameterServer, 4, 2},
    {Technique::kZero1, 4, 1},         {Technique::kPipeline, 4, 2},
    {Technique::kTensorData, 4, 4, 2}, {Technique::kZero2, 4, 2},
};

bool has_lone_stages(const Spec& spec) {
  return spec.technique == Technique::kPipeline && spec.replicas == 1;
}

// A fault of one rank, and what is to be said of it.
struct Usual {
  FaultSpec fault;
  std::vector<std::string_view> causes;
  std::string_view shape = "persistent";
  double duty = 1;
  bool of_stages = true;  // also where each stage of a pipeline has one rank
};

const std::vector<Usual>& usual_faults() {
  static const std::vector<Usual> kUsual = {
      {{.name = "slow-forward"}, {"compute"}},
      {{.name = "sleep-backward"}, {"host"}},
      {{.name = "slow-rank", .factor = 1}, {"compute", "device"}, "persistent", 1, false},
      {{.name = "sleep-forward", .probability = 0.1}, {"host", "gc"}, "transient", 0.1},
      {{.name = "loader"}, {"dataloader"}, "persistent", 1, false},
      {{.name = "slow-backward"}, {"compute"}},
      {{.name = "sleep-forward", .every = 5}, {"host"}, "periodic", 0.2},
      {{.name = "input-imbalance", .factor = 1}, {"input_imbalance"}, "persistent", 1, false},
      {{.name = "sleep-forward"}, {"host"}},
      {{.name = "slow-optimizer"}, {"compute"}, "persistent", 1, false},
  };
  return kUsual;
}

// The first guess of a length that costs `size`; the runner turns it.
void guess(double size, double duty, const Spec& spec, FaultSpec& fault) {
  const double extra = size / (1 - size) / duty;
  if (fault.factor) {
    fault.factor = 1 + extra;
  } else {
    fault.ms = spec.step_ms * extra;
  }
}

void add_fault(Case& one, FaultSpec fault, double duty, std::vector<std::string_view> causes,
               std::string_view shape, std::vector<int> ranks) {
  guess(one.size, duty, one.spec, fault);
  one.knob = Knob::kEach;
  one.spec.faults.push_back(std::move(fault));
  one.expected.push_back({.ranks = std::move(ranks), .causes = std::move(causes), .shape = shape});
}

void add_usual(size_t number, Case& one) {
  const Spec& spec = one.spec;
  const std::vector<Usual>& all = usual_faults();
  const bool lone = has_lone_stages(spec) || spec.technique == Technique::kParameterServer;
  while (lone && !all[number % all.size()].of_stages) ++number;
  const Usual& usual = all[number % all.size()];
  const bool served = spec.technique == Technique::kParameterServer;
  const auto turn = static_cast<int>(number * 7 + 1);
  FaultSpec fault = usual.fault;
  fault.rank = served ? 1 + turn % (spec.ranks - 1) : turn % spec.ranks;
  // Only the first stage reads.
  if (fault.name == "loader" && spec.technique == Technique::kPipeline)
    fault.rank = turn % spec.replicas;
  std::vector<std::string_view> causes = usual.causes;
  if (fault.name == "input-imbalance" && spec.technique == Technique::kPipeline)
    causes.emplace_back("stage_imbalance");
  // Without marks nothing says what the host was at.
  if (fault.name == "loader" && spec.marks == Marks::kNone) causes.emplace_back("host");
  const int rank = *fault.rank;
  add_fault(one, std::move(fault), usual.duty, std::move(causes), usual.shape, {rank});
}

int nth_rank(size_t number, int which, const Spec& spec) {
  return (static_cast<int>(number * 7 + 1) + which * std::max(1, spec.ranks / 3)) % spec.ranks;
}

void add_in_backward(size_t number, double at, Case& one) {
  const bool sleeps = number % 2 == 0;
  const int rank = nth_rank(number, 0, one.spec);
  add_fault(one, {.name = sleeps ? "sleep-backward" : "slow-backward", .rank = rank, .at = at}, 1,
            {sleeps ? "host" : "compute"}, "persistent", {rank});
}

void add_growing(size_t number, Case& one) {
  const bool sleeps = number % 2 == 0;
  const int rank = nth_rank(number, 0, one.spec);
  add_fault(one,
            {.name = sleeps ? "sleep-forward" : "slow-backward", .rank = rank, .shape = "growing"},
            0.5, {sleeps ? "host" : "compute"}, "persistent", {rank});
}

// All ranks of a group.
void add_of(size_t number, std::string_view word, Of of, Case& one) {
  const Spec& spec = one.spec;
  constexpr std::pair<std::string_view, std::string_view> kFaults[] = {
      {"sleep-forward", "host"}, {"slow-forward", "compute"}, {"sleep-backward", "host"}};
  const auto& [name, cause] = kFaults[number % std::size(kFaults)];
  const int rank = nth_rank(number, 0, spec);
  std::vector<int> ranks;
  for (int r = 0; r < spec.ranks; ++r) {
    if (group_of(spec, of, r) == group_of(spec, of, rank)) ranks.push_back(r);
  }
  add_fault(one, {.name = std::string(name), .rank = rank, .of = std::string(word)}, 1, {cause},
            "persistent", std::move(ranks));
  if (of == Of::kHost) one.expected.back().host = host_of(spec, rank);
}

void add_three(size_t number, Case& one) {
  const Spec& spec = one.spec;
  const int a = nth_rank(number, 0, spec);
  const int b = nth_rank(number, 1, spec);
  const int c = nth_rank(number, 2, spec);
  add_fault(one, {.name = "slow-forward", .rank = a}, 2, {"compute"}, "persistent", {a});
  add_fault(one, {.name = "loader", .rank = b}, 2, {"dataloader"}, "persistent", {b});
  add_fault(one, {.name = "sleep-backward", .rank = c, .at = 0.5}, 2, {"host"}, "persistent", {c});
}

void add_two_on_one(size_t number, Case& one) {
  const int rank = nth_rank(number, 0, one.spec);
  const std::vector<std::string_view> causes = {"compute", "dataloader", "mixed"};
  add_fault(one, {.name = "slow-forward", .rank = rank}, 2, causes, "persistent", {rank});
  add_fault(one, {.name = "loader", .rank = rank}, 2, causes, "persistent", {rank});
  one.expected.pop_back();
  one.expected.back().faults = 2;
}

void add_lasting_and_other(size_t number, bool rotating, Case& one) {
  const int lasting = nth_rank(number, 0, one.spec);
  const int other = nth_rank(number, 1, one.spec);
  add_fault(one, {.name = "slow-backward", .rank = lasting}, 2, {"compute"}, "persistent",
            {lasting});
  if (rotating) {
    add_fault(one, {.name = "sleep-forward", .shape = "rotating"}, 2, {"host", "gc"}, "rotating",
              {});
  } else {
    add_fault(one, {.name = "sleep-forward", .rank = other, .probability = 0.1}, 0.2,
              {"host", "gc"}, "transient", {other});
  }
}

// A kind of fault that takes place in several worlds.
struct HarderKind {
  std::string_view name;
  void (*make)(size_t number, Case& one);
  std::vector<Layout> layouts;
};

const std::vector<HarderKind>& harder_kinds() {
  static const std::vector<Layout> kReplicas = {
      {Technique::kDdp, 4, 2},        {Technique::kZero1, 8, 2}, {Technique::kTensorData, 8, 2, 2},
      {Technique::kZero2, 6, 2},      {Technique::kDdp, 16, 4},  {Technique::kZero3, 4, 1},
      {Technique::kPipeline, 8, 2, 2}};
  static const std::vector<Layout> kFlat = {{Technique::kDdp, 4, 2},    {Technique::kZero2, 8, 2},
                                            {Technique::kDdp, 16, 4},   {Technique::kZero3, 6, 2},
                                            {Technique::kZero1, 12, 3}, {Technique::kDdp, 8, 8}};
  static const std::vector<Layout> kHosts = {{Technique::kDdp, 8, 4},
                                             {Technique::kZero2, 12, 3},
                                             {Technique::kTensorData, 16, 4, 2},
                                             {Technique::kZero3, 16, 4}};
  static const std::vector<Layout> kTensor = {{Technique::kTensorData, 8, 2, 2},
                                              {Technique::kTensorData, 12, 3, 2},
                                              {Technique::kTensorData, 16, 2, 4},
                                              {Technique::kTensorData, 16, 8, 2}};
  static const std::vector<Layout> kStages = {{Technique::kPipeline, 8, 2, 2},
                                              {Technique::kPipeline, 6, 2, 3},
                                              {Technique::kPipeline, 16, 4, 4},
                                              {Technique::kPipeline, 4, 1, 2}};
  static const std::vector<Layout> kPipes = {{Technique::kPipeline, 8, 2, 4},
                                             {Technique::kPipeline, 6, 2, 3},
                                             {Technique::kPipeline, 16, 4, 4}};
  static const std::vector<HarderKind> kAll = {
      {"mid-backward", [](size_t n, Case& one) { add_in_backward(n, 0.375, one); }, kReplicas},
      {"between-buckets", [](size_t n, Case& one) { add_in_backward(n, 0.5, one); }, kReplicas},
      {"growing", add_growing, kReplicas},
      {"host-group", [](size_t n, Case& one) { add_of(n, "host", Of::kHost, one); }, kHosts},
      {"tensor-group", [](size_t n, Case& one) { add_of(n, "tensor", Of::kTensor, one); }, kTensor},
      {"stage-replica", add_usual, kStages},
      {"pipeline-replica", [](size_t n, Case& one) { add_of(n, "replica", Of::kReplica, one); },
       kPipes},
      {"three-faults", add_three, kFlat},
      {"two-on-one-rank", add_two_on_one, kFlat},
      {"lasting-and-rotating", [](size_t n, Case& one) { add_lasting_and_other(n, true, one); },
       kFlat},
      {"lasting-and-transient", [](size_t n, Case& one) { add_lasting_and_other(n, false, one); },
       kFlat},
  };
  return kAll;
}

Case begun(std::string_view kind, double size, size_t number, const Layout& layout,
           const World& world) {
  Case one{.kind = std::string(kind), .size = size};
  one.harder = true;
  set_layout(layout, one.spec);
  one.spec.shape = number % 2 == 1 ? Shape::kGpu : Shape::kCpu;
  set_usual(20'000 + number, one);
  world.set(one.spec);
  set_clocks(number, one.spec);
  return one;
}

constexpr double kHarderSizes[] = {0.03, 0.05, 0.1, 0.3};
constexpr size_t kInWorld = 4;       // runs of each size
constexpr size_t kOfKind = 3;        // likewise
constexpr size_t kHealthyRuns = 12;  // runs of each world

template <typename T, size_t N>
const T& turn_of(const T (&all)[N], size_t number) {
  return all[number % N];
}

}  // namespace

void add_harder_cases(size_t number, std::vector<Case>& cases) {
  const auto push = [&](size_t variant, Case one) {
    name_case(variant, one);
    cases.push_back(std::move(one));
  };
  for (const World& world : kWorlds) {
    for (const double size : kHarderSizes) {
      for (size_t variant = 0; variant < kInWorld; ++variant, ++number) {
        Case one = begun(world.name, size, number, turn_of(kLayouts, number), world);
        add_usual(number, one);
        push(variant, std::move(one));
      }
    }
  }
  for (const double size : {0.05, 0.1, 0.3}) {
    for (size_t variant = 0; variant < std::size(kOfFour); ++variant, ++number) {
      Case one = begun("layouts-of-4", size, number, kOfFour[variant], turn_of(kTurns, number));
      add_usual(number, one);
      push(variant, std::move(one));
    }
  }
  for (const HarderKind& kind : harder_kinds()) {
    for (const double size : kHarderSizes) {
      for (size_t variant = 0; variant < kOfKind; ++variant, ++number) {
        Case one = begun(kind.name, size, number, kind.layouts[number % kind.layouts.size()],
                         turn_of(kTurns, number));
        kind.make(number, one);
        push(variant, std::move(one));
      }
    }
  }
  for (const World& world : kWorlds) {
    for (size_t variant = 0; variant < kHealthyRuns; ++variant, ++number)
      push(variant, begun(world.name, 0, number, turn_of(kLayouts, number), world));
  }
  for (size_t variant = 0; variant < std::size(kOfFour); ++variant, ++number)
    push(variant, begun("layouts-of-4", 0, number, kOfFour[variant], turn_of(kTurns, number)));
}

}  // namespace dprof::diagnosis
