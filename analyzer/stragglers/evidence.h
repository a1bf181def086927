// SPDX-License-Identifier: Apache-2.0
// The rows that show a straggler: its work in its most typical step, the ranks that waited for it
// there, and the rows of the other steps.
#pragma once

#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/steps/steps.h"
#include "analyzer/stragglers/detect.h"
#include "analyzer/vocabulary/evidence.h"

namespace dprof::analyzer {

struct EvidenceInput {
  std::span<const RankDigest> digests;
  const Steps& steps;
  const Matching& matching;
  const OwnWork& work;
};

// `phase`: shows its rows; without any, only the steps' spans. O(collectives).
std::vector<Evidence> evidence_of(const EvidenceInput& input, const Suspect& suspect,
                                  schema::Marker phase);

}  // namespace dprof::analyzer
