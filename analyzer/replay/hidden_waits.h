// SPDX-License-Identifier: Apache-2.0
// Finds a training thread's waits for a collective that look like computation because another one
// is in progress; and a device's waits for its host that look like waits for a collective.
#pragma once

#include <span>
#include <vector>

#include "analyzer/breakdown/lattice.h"
#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

// The rank's pieces with such waits as kExposedWait. Beside a collective a phase counts as
// computation. Where operators were recorded, a stretch without any that ends as soon as one of the
// rank's collectives does is a wait for that one. Ranks with GPUs stay as they are.
// O(pieces + operators + calls log calls).
[[nodiscard]] std::vector<LatticePiece> with_hidden_waits(const RankDigest& digest,
                                                          std::span<const LatticePiece> pieces);

// Where a device computed nothing beside a collective, and not because of it: what it did next had
// not been launched yet. The host launched it while the collective was under way, and none ended in
// between: it did not wait for one itself. Needs the digest's launches. O(pieces log launches).
[[nodiscard]] IntervalSet launch_waits_of(const RankDigest& digest,
                                          std::span<const LatticePiece> pieces);

// The pieces with these times as kLaunch.
[[nodiscard]] std::vector<LatticePiece> with_launch_waits(std::span<const LatticePiece> pieces,
                                                          const IntervalSet& waits);

}  // namespace dprof::analyzer
