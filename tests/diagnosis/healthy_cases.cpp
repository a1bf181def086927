// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/diagnosis/cases.h"

namespace dprof::diagnosis {
namespace {

using synth::Shape;
using synth::Technique;

constexpr size_t kVariants = 13;

// Awkward, and nobody's fault. Names of synth's healthy kinds and of faults that touch all alike
// are those; the others are made here.
constexpr std::string_view kKinds[] = {
    "plain",      "unequal-stages", "rank0-extra",  "noisy-hosts",  "variable-sequences",
    "spikes",     "below-floor",    "checkpoints",  "warm-up",      "fake-clocks",
    "all-slower", "all-input",      "slow-network", "lost-records", "missing-rank",
    "few-steps",  "other-roles",
};

bool is_of_synth(std::string_view kind) {
  for (const std::string_view other : {"plain", "fake-clocks", "slow-network", "lost-records",
                                       "missing-rank", "few-steps", "other-roles"}) {
    if (kind == other) return false;
  }
  return true;
}

void set_healthy_where(size_t number, Case& one) {
  synth::Spec& spec = one.spec;
  constexpr int kRanks[] = {4, 8, 2, 3, 16, 4, 8};
  constexpr Technique kTechniques[] = {Technique::kDdp,   Technique::kZero2,
                                       Technique::kDdp,   Technique::kZero3,
                                       Technique::kZero1, Technique::kTensorData};
  spec.ranks = number % 37 == 36 ? 64 : kRanks[number % std::size(kRanks)];
  spec.shape = number % 2 == 1 ? Shape::kGpu : Shape::kCpu;
  spec.technique = kTechniques[number / 3 % std::size(kTechniques)];
  if (spec.technique == Technique::kTensorData && spec.ranks % 2 != 0)
    spec.technique = Technique::kDdp;
  spec.hosts = spec.ranks >= 16 ? 4 : spec.ranks >= 4 && number % 2 == 0 ? 2 : 1;
}

void make_awkward(size_t number, Case& one) {
  synth::Spec& spec = one.spec;
  const std::string& kind = one.kind;
  if (is_of_synth(kind)) spec.healthy = kind;
  if (kind == "unequal-stages") {
    spec.technique = Technique::kPipeline;
    spec.ranks = std::min(spec.ranks, 8);
    spec.hosts = std::min(spec.hosts, spec.ranks);
  }
  if (kind == "other-roles") {
    spec.technique = number % 2 == 0 ? Technique::kParameterServer : Technique::kPipeline;
    spec.ranks = std::clamp(spec.ranks, 3, 8);
    spec.hosts = std::min(spec.hosts, 2);
  }
  if (kind == "fake-clocks") {
    spec.ranks = std::max(4, spec.ranks);
    spec.hosts = spec.ranks >= 8 ? 4 : 2;
    for (int host = 0; host < spec.hosts; ++host)
      spec.clocks.push_back(
          {.host = host, .offset_ms = 10'000.0 * host, .ppm = 50.0 - 30.0 * host});
  }
  if (kind == "slow-network") spec.faults.push_back({.name = "slow-network"});
  if (kind == "lost-records") spec.faults.push_back({.name = "drop", .probability = 0.01});
  if (kind == "missing-rank") {
    spec.ranks = std::max(4, spec.ranks);
    spec.faults.push_back({.name = number % 2 == 0 ? "absent" : "truncate", .rank = 1});
  }
  if (kind == "few-steps") spec.steps = 3 + static_cast<int64_t>(number % 4);
}

}  // namespace

void add_healthy_cases(size_t number, std::vector<Case>& cases) {
  for (const std::string_view kind : kKinds) {
    for (size_t variant = 0; variant < kVariants; ++variant, ++number) {
      Case one{.kind = std::string(kind)};
      set_healthy_where(number, one);
      set_usual(5000 + number, one);
      make_awkward(number, one);
      if (kind != "fake-clocks") set_clocks(number, one.spec);
      name_case(variant, one);
      cases.push_back(std::move(one));
    }
  }
}

}  // namespace dprof::diagnosis
