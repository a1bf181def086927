// SPDX-License-Identifier: Apache-2.0
// Messages and waits per pair of ranks: who sends to whom, and who waits for whom. The bytes that a
// collective moves between two ranks depend on its algorithm and are not recorded, so collectives
// have waits here, but no bytes.
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
  int64_t bytes = 0;         // of messages with known size
  int64_t without_size = 0;  // messages of unknown size
  int64_t timed = 0;         // messages with a transfer time and a size
  int64_t timed_bytes = 0;
  int64_t timed_ns = 0;  // from when both sides had arrived

  // Bytes per second during transfer; nullopt = no timed message.
  [[nodiscard]] std::optional<double> bandwidth() const;
};

// The time `pair.rank` waited for `pair.peer`: as the last of a collective, or as the other side of
// a message.
struct PairWait {
  RankPair pair;
  int64_t times = 0;
  int64_t ns = 0;
  int64_t longest_ns = 0;
};

// Communicators of one name; there are several if the ranks are divided into groups.
struct CommunicatorMatrix {
  std::string communicator;
  std::vector<PairTraffic> traffic;  // by pair; only pairs with traffic
  std::vector<PairWait> waits;       // likewise
  int64_t unknown_peer = 0;          // messages with one unknown rank
  int64_t not_compared = 0;          // collectives whose last rank is unknown
};

// By name. O(n log n) in members of collectives and messages.
[[nodiscard]] std::vector<CommunicatorMatrix> rank_matrices(
    std::span<const MatchedCollective> collectives, std::span<const MatchedMessage> messages);

}  // namespace dprof::analyzer
