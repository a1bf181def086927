// SPDX-License-Identifier: Apache-2.0
// The rows that show a straggler: what it did in its most typical step, who waited for it there,
// and the rows of the other steps.
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

// `phase`: whose rows are shown; without any such rows the steps' spans alone. O(collectives).
std::vector<Evidence> evidence_of(const EvidenceInput& input, const Suspect& suspect,
                                  schema::Marker phase);

}  // namespace dprof::analyzer
