// SPDX-License-Identifier: Apache-2.0
// How lengths vary: read off the operators of generated runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "synth/generate.h"

namespace dprof::synth {
namespace {

using Values = std::vector<double>;

// Forward computation of each step of a rank, relative to its mean.
std::vector<Values> forward_of(const Spec& spec) {
  std::vector<Trail> trails;
  EXPECT_TRUE(execute(spec, &trails).ok());
  std::vector<Values> all;
  for (const Trail& trail : trails) {
    Values sums(trail.steps.size(), 0);
    size_t step = 0;
    for (const HostPiece& piece : trail.pieces) {
      while (step + 1 < trail.steps.size() && trail.steps[step + 1].begin <= piece.begin) ++step;
      if (piece.busy == Busy::kForward) sums[step] += static_cast<double>(piece.end - piece.begin);
    }
    const double mean =
        std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(sums.size());
    for (double& value : sums) value = value / mean - 1;
    all.push_back(std::move(sums));
  }
  return all;
}

Spec varying(double step_noise) {
  Spec spec;
  spec.ranks = 4;
  spec.steps = 400;
  spec.rows_per_step = 40;
  spec.noise = 0;
  spec.rank_noise = 0;
  spec.step_noise = step_noise;
  return spec;
}

double mean_of(const Values& values, const std::function<double(double)>& of) {
  double sum = 0;
  for (const double value : values) sum += of(value);
  return sum / static_cast<double>(values.size());
}

double spread_of(const Values& values) {
  return std::sqrt(mean_of(values, [](double v) { return v * v; }));
}

double correlation_of(const Values& values) {
  double sum = 0;
  for (size_t i = 1; i < values.size(); ++i) sum += values[i] * values[i - 1];
  return sum / static_cast<double>(values.size() - 1) /
         mean_of(values, [](double v) { return v * v; });
}

// Of a normal distribution 3; the sample's of a long tail is far beyond.
double kurtosis_of(const Values& values) {
  return mean_of(values, [](double v) { return v * v * v * v; }) / std::pow(spread_of(values), 4);
}

TEST(Noise, IsNormalAndWithoutMemoryUnlessAskedFor) {
  for (const Values& values : forward_of(varying(0.02))) {
    EXPECT_NEAR(spread_of(values), 0.02, 0.003);
    EXPECT_NEAR(correlation_of(values), 0, 0.15);
    EXPECT_LT(kurtosis_of(values), 4.5);
  }
}

TEST(Noise, HasALongTail) {
  Spec spec = varying(0.02);
  spec.noise_tail = 2;
  for (const Values& values : forward_of(spec)) {
    EXPECT_GT(kurtosis_of(values), 5);
    EXPECT_GT(*std::ranges::max_element(values), 0.1);
    EXPECT_GT(*std::ranges::min_element(values), -0.1);
  }
}

TEST(Noise, RemembersTheStepBefore) {
  Spec spec = varying(0.02);
  spec.noise_memory = 0.9;
  for (const Values& values : forward_of(spec)) {
    EXPECT_NEAR(correlation_of(values), 0.9, 0.1);
    EXPECT_NEAR(spread_of(values), 0.02, 0.008);
  }
}

TEST(Noise, DiffersBetweenHostsByOrders) {
  Spec spec = varying(0.01);
  spec.ranks = 16;
  spec.hosts = 16;
  spec.steps = 100;
  spec.noise_decades = 2;
  Values spreads;
  for (const Values& values : forward_of(spec)) spreads.push_back(spread_of(values));
  EXPECT_LT(*std::ranges::min_element(spreads), 0.004);
  EXPECT_GT(*std::ranges::max_element(spreads), 0.025);
  spec.hosts = 1;
  Values together;
  for (const Values& values : forward_of(spec)) together.push_back(spread_of(values));
  EXPECT_LT(*std::ranges::max_element(together) / *std::ranges::min_element(together), 2);
}

TEST(Noise, TheLoadOfAllDrifts) {
  Spec spec = varying(0);
  spec.steps = 41;
  spec.drift = 2;
  for (const Values& values : forward_of(spec)) {
    EXPECT_NEAR((1 + values.back()) / (1 + values.front()), 2, 0.01);
    EXPECT_NEAR(values[20], 0, 0.01);
  }
}

TEST(Noise, RefusesWhatIsNoDistribution) {
  const std::pair<double Spec::*, double> bad[] = {{&Spec::noise_tail, -1},
                                                   {&Spec::noise_memory, 1},
                                                   {&Spec::noise_memory, -0.5},
                                                   {&Spec::noise_decades, -1},
                                                   {&Spec::drift, 0}};
  for (const auto& [member, value] : bad) {
    Spec spec;
    spec.*member = value;
    EXPECT_FALSE(execute(spec).ok());
  }
}

}  // namespace
}  // namespace dprof::synth
