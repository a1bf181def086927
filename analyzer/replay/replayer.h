// SPDX-License-Identifier: Apache-2.0
// The run prepared for replay: unchanged, and with ranks that work as others do. The costs of
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

// From this error on replays are refused; between the two limits they are accepted with a warning
// (docs/analysis/replay.md).
inline constexpr double kRefusedError = 0.05;
inline constexpr double kDoubtfulError = 0.02;
// They are also refused if lags without a cause make up that share of a step.
inline constexpr double kMostUnexplained = 0.2;
// The error of the gains on generated runs, as a share of the gain: part of every bound.
inline constexpr double kGainError = 0.05;

// The ranks whose segments are replaced by the median of other ranks'.
struct Replacement {
  std::optional<size_t> rank;  // one rank
  bool all = false;            // every rank: by the median of all
  // Entries whose median is used; empty = all others that make the same calls.
  std::vector<size_t> peers = {};
};

// Own work to be removed from a rank: an entry for each of its pieces, in the order of
// Replayer::own_work(). Negative = work is added.
struct Relief {
  size_t entry = 0;  // of Steps::ranks
  std::vector<int64_t> less_ns = {};
};

// Optional information beyond the digests.
struct ReplayHints {
  std::span<const IntervalSet> starved;  // by digest: where its device waited for a launch
  std::vector<std::string> hosts;        // by digest; "" = unknown
};

// Collectives of all ranks or of groups, messages, and each rank's own work between its calls. On
// ranks with GPUs it is the devices' time, and a collective is called when its kernel begins: the
// host is not waited for. A rank that meets no other rank is independent.
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
                                        const Matching& matching, std::span<const Lattice> pieces,
                                        const ReplayHints& hints = {});
  ~Replayer();
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;

  // Positions in Steps::steps: all steady ones, in order. Results below have an entry for each.
  [[nodiscard]] const std::vector<size_t>& steps() const;
  [[nodiscard]] const std::vector<int64_t>& recorded() const;  // replayed, unchanged
  // The gain of each step. A rank takes, segment by segment, the median of its peers: of the given
  // ones, else of all that make the same calls in that step. A segment without a peer stays.
  [[nodiscard]] std::vector<int64_t> gain_of(const Replacement& replacement) const;

  // A rank's own work between its calls, in order of time; and the gain of each step if some ranks
  // had less of it. Each rank has at most one relief.
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
