// SPDX-License-Identifier: Apache-2.0
#include "tests/diagnosis/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "synth/random.h"
#include "tests/diagnosis/cases.h"

namespace dprof::diagnosis {
namespace {

// How much times vary without any fault: a quiet machine, a usual one, a loud one.
struct Noise {
  double operators;
  double ranks;
  double steps;
};
constexpr Noise kNoise[] = {{0.01, 0.002, 0}, {0.02, 0.003, 0.01}, {0.02, 0.005, 0.02}};

constexpr size_t kApart = 1009;  // between seeds; prime to all that cases take in turns

// In an order by chance, but always the same one.
std::vector<Case> shuffled(std::vector<Case> cases) {
  std::vector<size_t> order(cases.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [](size_t i) { return synth::mixed(i); });
  std::vector<Case> mixed;
  mixed.reserve(cases.size());
  for (const size_t i : order) mixed.push_back(std::move(cases[i]));
  return mixed;
}

}  // namespace

void set_usual(size_t number, Case& one) {
  synth::Spec& spec = one.spec;
  spec.seed = 1000 + number;
  spec.threads = 1;
  spec.steps = number % 4 == 3 ? 80 : 50;
  spec.step_ms = number % 5 == 2 ? 200 : 60;
  spec.rows_per_step = 100;
  spec.marks = number % 7 == 5 ? synth::Marks::kOptimizer : synth::Marks::kMarker;
  const Noise& noise = kNoise[number % std::size(kNoise)];
  // Little to transfer: the fault is the one thing that is wrong with the run.
  spec.bytes_per_step = spec.shape == synth::Shape::kGpu ? 8e6 : 4e5;
  spec.noise = noise.operators;
  spec.rank_noise = noise.ranks;
  spec.step_noise = noise.steps;
}

void set_clocks(size_t number, synth::Spec& spec) {
  if (spec.hosts < 2 || number % 2 == 0) return;
  for (int host = 1; host < spec.hosts; ++host) {
    spec.clocks.push_back({.host = host,
                           .offset_ms = host % 2 == 0 ? -10'000.0 : 3'000.0 * host,
                           .ppm = 20.0 * host});
  }
}

void name_case(size_t variant, Case& one) {
  const synth::Spec& spec = one.spec;
  const std::string size = one.size > 0 ? fmt::format("{}%", one.size * 100) : "healthy";
  one.id = fmt::format("{}/{}/{}/{}-{}-{}x{}", one.kind, size, variant, word_of(spec.shape),
                       word_of(spec.technique), spec.ranks, spec.hosts);
}

std::vector<Case> all_cases(size_t seed) {
  std::vector<Case> cases;
  add_fault_cases(seed * kApart, cases);
  add_healthy_cases(seed * kApart, cases);
  return shuffled(std::move(cases));
}

std::vector<Case> harder_cases(size_t seed) {
  std::vector<Case> cases;
  add_harder_cases(seed * kApart, cases);
  return shuffled(std::move(cases));
}

}  // namespace dprof::diagnosis
