// SPDX-License-Identifier: Apache-2.0
// Finds a training thread's waits for a collective that look like computation because another
// collective is in progress, and a device's waits for its host that look like waits for a
// collective.
#pragma once

#include "analyzer/breakdown/lattice.h"
#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

// Returns the rank's pieces with such waits as kExposedWait. During a collective a phase counts as
// computation. Where operators were recorded, an interval without any that ends together with one
// of the rank's collectives is a wait for that collective. Ranks with GPUs are unchanged. O(pieces
// + operators + calls log calls).
[[nodiscard]] Lattice with_hidden_waits(const RankDigest& digest, const Lattice& pieces);

// Intervals in which a device idled during a collective, but not because of it: its next work had
// not been launched yet. The host launched it while the collective was in progress, and no
// collective ended in between, so the host did not wait for one itself. Needs the digest's
// launches. O(pieces log launches).
[[nodiscard]] IntervalSet launch_waits_of(const RankDigest& digest, const Lattice& pieces);

// The pieces with these times as kLaunch.
[[nodiscard]] Lattice with_launch_waits(const Lattice& pieces, const IntervalSet& waits);

}  // namespace dprof::analyzer
