// SPDX-License-Identifier: Apache-2.0
// The run made ready to be replayed: as it was, and with ranks that work as others do. Costs of
// stragglers come from here.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/breakdown/sums.h"
#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/replay/result.h"
#include "analyzer/replay/run_graph.h"
#include "analyzer/replay/shared_links.h"
#include "analyzer/steps/result.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

// From here on replays are not believed; between the two they are, with a warning
// (docs/analysis/replay.md).
inline constexpr double kRefusedError = 0.05;
inline constexpr double kDoubtfulError = 0.02;
// Nor are they where lags without a cause are that much of a step.
inline constexpr double kMostUnexplained = 0.2;
// What the gains of generated runs are off by, of the gain: part of every bound.
inline constexpr double kGainError = 0.05;

// Whose segments are replaced by the median of other ranks'.
struct Replacement {
  std::optional<size_t> rank;  // one rank
  bool all = false;            // every rank: by the median of all
  // Entries whose median counts; empty = all others that do the same calls.
  std::vector<size_t> peers = {};
};

// Own work that a rank would not have to do: an entry for each piece of it, in the order of
// Replayer::own_work(). Negative = it would do more.
struct Relief {
  size_t entry = 0;  // of Steps::ranks
  std::vector<int64_t> less_ns = {};
};

// What is known beside the digests; each may be empty.
struct ReplayHints {
  std::span<const IntervalSet> starved;  // by digest: where its device waited for a launch
  std::vector<std::string> hosts;        // by digest; "" = unknown
};

// Collectives of all ranks or of groups, messages, and what each rank does by itself between its
// calls of them. Where ranks have GPUs it is their devices' time, and a collective is called when
// its kernel begins: the host is not waited for. Meets nobody = a rank of its own.
//
// Threading  immutable; share by const reference.
// Units      ns.
// Cost       made in O(calls + pieces of the lattice); about 150 bytes per call. A replay is
//            O(calls).
class Replayer {
 public:
  // `pieces`: the lattice of each entry of Steps::ranks. nullptr: no rank meets another in the
  // steady steps.
  static std::unique_ptr<Replayer> make(std::span<const RankDigest> digests, const Steps& steps,
                                        const Matching& matching,
                                        std::span<const std::span<const LatticePiece>> pieces,
                                        const ReplayHints& hints = {});
  ~Replayer();
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;

  // Positions in Steps::steps: all steady ones, in order. What follows has an entry for each.
  [[nodiscard]] const std::vector<size_t>& steps() const;
  [[nodiscard]] const std::vector<int64_t>& recorded() const;  // replayed, unchanged
  // What each step would gain. A rank takes, segment by segment, the median of its peers: of those
  // given, else of all that do the same calls in that step. A segment without a peer stays.
  [[nodiscard]] std::vector<int64_t> gain_of(const Replacement& replacement) const;

  // What a rank does by itself between its calls, in order of time; and what each step would gain
  // if some ranks had less of it. Relief of one rank is given once.
  [[nodiscard]] std::span<const OwnTask> own_work(size_t entry) const;
  [[nodiscard]] std::vector<int64_t> gain_of(std::span<const Relief> reliefs) const;

  // identity_error, accepted, steps, unexplained.
  [[nodiscard]] const Replay& quality() const;

  [[nodiscard]] const RunGraph& run() const;
  [[nodiscard]] const SharedLinks* links() const;  // nullptr: no transfers shared one

 private:
  struct Impl;
  explicit Replayer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dprof::analyzer
