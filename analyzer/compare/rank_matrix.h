// SPDX-License-Identifier: Apache-2.0
// Messages and waits per pair of ranks: who sends to whom, and who waits for whom. What a
// collective moves between two of its ranks depends on its algorithm and is not recorded, so
// collectives have waits here, but no bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/breakdown/matched.h"

namespace dprof::analyzer {

// Global ranks.
struct RankPair {
  int rank = 0;
  int peer = 0;
  auto operator<=>(const RankPair&) const = default;
};

// Messages from `pair.rank` to `pair.peer`.
struct PairTraffic {
  RankPair pair;
  int64_t messages = 0;
  int64_t bytes = 0;         // of those whose size is known
  int64_t without_size = 0;  // of the messages
  int64_t timed = 0;         // messages with a transfer time and a size
  int64_t timed_bytes = 0;
  int64_t timed_ns = 0;  // from when both sides were there

  // Bytes per second while transferring; nullopt = none was timed.
  [[nodiscard]] std::optional<double> bandwidth() const;
};

// What `pair.rank` waited until `pair.peer` came: as the last of a collective, or as the other side
// of a message.
struct PairWait {
  RankPair pair;
  int64_t times = 0;
  int64_t ns = 0;
  int64_t longest_ns = 0;
};

// Communicators of one name, which may be several where the ranks are divided into groups.
struct CommunicatorMatrix {
  std::string communicator;
  std::vector<PairTraffic> traffic;  // by pair; pairs without any are left out
  std::vector<PairWait> waits;       // likewise
  int64_t unknown_peer = 0;          // messages of which one rank is not known
  int64_t not_compared = 0;          // collectives of which it is not known who came last
};

// By name. O(n log n) in collectives' members and messages.
[[nodiscard]] std::vector<CommunicatorMatrix> rank_matrices(
    std::span<const MatchedCollective> collectives, std::span<const MatchedMessage> messages);

}  // namespace dprof::analyzer
