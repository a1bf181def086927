// SPDX-License-Identifier: Apache-2.0
// Finds where the ranks of a communicator stop making the same calls, and from where their calls
// can be paired again.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/match/instances.h"

namespace dprof::analyzer {

struct Resync {
  std::optional<Divergence> first;
  // Per rank: the number from which its calls could not be paired again. By lane.
  struct Untrusted {
    schema::Function lane{};
    int64_t from = 0;
  };
  std::vector<Untrusted> untrusted;
  int64_t renumbered = 0;  // calls that got another number
};

// Looks at each rank's calls from its first conflict on. If shifting them by up to ±64 calls makes
// clearly more of the next 64 agree with the others, the rank made extra calls or fewer (or one was
// not recorded), and its later calls get the others' numbers. If no shift agrees, its later calls
// are not trusted. Renumbers `calls`: the drafts must then be rebuilt. O(ranks with conflicts ×
// (calls + 64²) per place where they begin).
Resync resynchronise(GroupCalls& calls, const std::vector<Draft>& drafts,
                     std::span<const RankDigest> digests);

// The divergence as a sentence.
[[nodiscard]] std::string words_of(const Divergence& divergence, const std::string& group);

// "0, 1, 4-7 and 12 more"
[[nodiscard]] std::string words_of_ranks(const std::vector<int>& ranks);

}  // namespace dprof::analyzer
