// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/phases.h"

#include <gmock/gmock.h>

namespace dprof::analyzer {
namespace {

using schema::Marker;
using ::testing::ElementsAre;

Interval from_to(int64_t begin, int64_t end) { return {{begin}, {end}}; }

std::vector<std::pair<Marker, Interval>> inferred(const RankDigest& digest) {
  std::vector<std::pair<Marker, Interval>> phases;
  for (const PhaseRange& phase : with_inferred_phases(digest))
    phases.emplace_back(phase.marker, phase.span);
  return phases;
}

// Two steps of unmarked forward, unmarked backward and a marked optimizer.
RankDigest unmarked() {
  RankDigest digest;
  digest.span = from_to(0, 2000);
  for (const int64_t at : {0, 1000}) {
    for (const int64_t op : {100, 150, 390}) {
      digest.forward_signs.push_back(from_to(at + op, at + op + 10));
      digest.ops.push_back(from_to(at + op, at + op + 10));
    }
    digest.autograd.push_back(from_to(at + 450, at + 500));
    digest.autograd.push_back(from_to(at + 520, at + 700));
    digest.phases.push_back({from_to(at + 800, at + 900), Marker::kOptimizer, 1});
  }
  return digest;
}

TEST(PhasesTest, ForwardReachesFromItsFirstSignToItsLast) {
  EXPECT_THAT(inferred(unmarked()),
              ElementsAre(std::pair(Marker::kForward, from_to(100, 400)),
                          std::pair(Marker::kBackward, from_to(450, 700)),
                          std::pair(Marker::kOptimizer, from_to(800, 900)),
                          std::pair(Marker::kForward, from_to(1100, 1400)),
                          std::pair(Marker::kBackward, from_to(1450, 1700)),
                          std::pair(Marker::kOptimizer, from_to(1800, 1900))));
}

TEST(PhasesTest, AccumulatedGradientsHaveAForwardEach) {
  RankDigest digest;
  digest.span = from_to(0, 1000);
  digest.forward_signs = {from_to(100, 110), from_to(180, 200), from_to(400, 410)};
  digest.autograd = {from_to(250, 300), from_to(450, 500)};
  EXPECT_THAT(inferred(digest), ElementsAre(std::pair(Marker::kForward, from_to(100, 200)),
                                            std::pair(Marker::kBackward, from_to(250, 300)),
                                            std::pair(Marker::kForward, from_to(400, 410)),
                                            std::pair(Marker::kBackward, from_to(450, 500))));
}

// A checkpointed layer computes its forward once more within backward.
TEST(PhasesTest, WhatIsComputedAgainBelongsToBackward) {
  RankDigest digest = unmarked();
  digest.forward_signs = {from_to(100, 110), from_to(540, 560)};
  EXPECT_EQ(inferred(digest)[0], std::pair(Marker::kForward, from_to(100, 110)));
  EXPECT_EQ(inferred(digest)[1].first, Marker::kBackward);
  EXPECT_EQ(inferred(digest)[2].first, Marker::kOptimizer);
}

// With a GPU, backward runs on threads of autograd's own.
TEST(PhasesTest, BackwardOnOtherThreadsEndsAForward) {
  RankDigest digest;
  digest.span = from_to(0, 1000);
  digest.forward_signs = {from_to(100, 110), from_to(700, 710)};
  digest.autograd_elsewhere = {from_to(300, 600)};
  EXPECT_THAT(inferred(digest), ElementsAre(std::pair(Marker::kForward, from_to(100, 110)),
                                            std::pair(Marker::kForward, from_to(700, 710))));
}

// Each moment of an inferred phase, one by one.
void expect_the_same_at_each_moment(const RankDigest& digest) {
  for (const PhaseRange& phase : with_inferred_phases(digest)) {
    if (phase.row != 0) continue;
    for (TraceNs at = phase.span.begin; at < phase.span.end; at = at + DurationNs{1})
      ASSERT_EQ(inferred_phase_at(digest, at), phase.marker) << at.ns;
  }
}

TEST(PhasesTest, AMomentHasThePhaseOfItsRange) {
  expect_the_same_at_each_moment(unmarked());
  RankDigest again = unmarked();
  again.forward_signs = {from_to(100, 110), from_to(540, 560)};
  expect_the_same_at_each_moment(again);
  EXPECT_EQ(inferred_phase_at(again, {720}), Marker::kBackward) << "a call after the last node";
  EXPECT_EQ(inferred_phase_at(again, {950}), Marker::kNone) << "after the optimizer";
  EXPECT_EQ(inferred_phase_at(again, {50}), Marker::kNone) << "before everything";
  RankDigest accumulating;
  accumulating.span = from_to(0, 1000);
  accumulating.forward_signs = {from_to(100, 110), from_to(180, 200), from_to(400, 410)};
  accumulating.autograd = {from_to(250, 300), from_to(450, 500)};
  expect_the_same_at_each_moment(accumulating);
}

}  // namespace
}  // namespace dprof::analyzer
