// SPDX-License-Identifier: Apache-2.0
// Each rank's own work per steady step: all time in which no other rank held it up, by kind. Host
// steps last from start to start, those of a GPU while their work ran on it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/breakdown/lattice.h"
#include "analyzer/digest/digest.h"
#include "analyzer/steps/steps.h"
#include "analyzer/stragglers/kinds.h"

namespace dprof::analyzer {

struct OwnWork {
  std::vector<size_t> steps;                 // positions in Steps::steps
  std::vector<std::vector<int64_t>> own_ns;  // [rank][entry of steps]
  std::vector<std::vector<KindNs>> kind_ns;  // likewise; sums to own_ns
  bool by_operators = false;                 // phases divided into operators and host time
  bool on_device = false;                    // divided by what the ranks' GPUs did
  int64_t unknown_entries = 0;               // rank-steps with lost records, which get usual times
  std::vector<KindNs> of_role;  // [rank]: left out of each step as its role's; empty = nothing
};

// The kind of a piece; nullopt = the rank was held up.
[[nodiscard]] std::optional<OwnKind> own_kind_of(const LatticePiece& piece);

// `pieces`: the lattice of each rank of `steps`. A rank's step with missing collective records
// would show waiting as work: it gets the rank's usual times. O(pieces + operators).
OwnWork own_work_of(std::span<const RankDigest> digests, const Steps& steps,
                    std::span<const Lattice> pieces);

// A rank's time in each of these sorted, disjoint spans, by the same kinds; `by_operators` as in
// its OwnWork. O(pieces + operators).
std::vector<KindNs> kinds_over(const RankDigest& digest, const Lattice& pieces, bool by_operators,
                               std::span<const Interval> spans);

}  // namespace dprof::analyzer
