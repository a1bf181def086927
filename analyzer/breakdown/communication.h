// SPDX-License-Identifier: Apache-2.0
// Costs of communication beyond its totals: contention, DDP's buckets, and the fitted cost of a
// transfer as a function of size (docs/analysis/communication.md).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/breakdown/lattice.h"
#include "analyzer/breakdown/result.h"
#include "analyzer/match/match.h"
#include "analyzer/steps/result.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

struct CommunicationInput {
  std::span<const RankDigest> digests;
  const Matching& matching;
  const Steps& steps;
  std::span<const Lattice> pieces;  // by digest
};

// nullopt = cannot be determined; `diagnostics` says why.
std::optional<Contention> contention_of(const CommunicationInput& input,
                                        std::vector<Diagnostic>& diagnostics);
std::optional<Buckets> buckets_of(const CommunicationInput& input,
                                  std::vector<Diagnostic>& diagnostics);

// One entry per (communicator, function) with enough sizes; needs no steps.
std::vector<LinkFit> link_fits_of(std::span<const RankDigest> digests, const Matching& matching);

}  // namespace dprof::analyzer
