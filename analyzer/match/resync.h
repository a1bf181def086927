// SPDX-License-Identifier: Apache-2.0
// Finds where the ranks of a communicator stop doing the same, and from where on their calls can be
// paired again.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/match/instances.h"

namespace dprof::analyzer {

struct Resync {
  std::optional<Divergence> first;
  // Per rank of the calls: from this number on its calls could not be paired again. By lane.
  struct Untrusted {
    schema::Function lane{};
    int64_t from = 0;
  };
  std::vector<Untrusted> untrusted;
  int64_t renumbered = 0;  // calls that got another number
};

// Looks at each rank's calls from its first conflict on: if, moved by up to ±64 calls, clearly more
// of its next 64 are what the others call, then it made a call more, or one less (or one was not
// recorded), and its later calls get the numbers of the others. If nothing agrees, its later calls
// are not to be trusted. Renumbers `calls`: the drafts are then to be made anew.
// O(ranks with conflicts × (calls + 64²) per place where they begin).
Resync resynchronise(GroupCalls& calls, const std::vector<Draft>& drafts,
                     std::span<const RankDigest> digests);

// The divergence in a sentence.
[[nodiscard]] std::string words_of(const Divergence& divergence, const std::string& group);

// "0, 1, 4-7 and 12 more"
[[nodiscard]] std::string words_of_ranks(const std::vector<int>& ranks);

}  // namespace dprof::analyzer
