// SPDX-License-Identifier: Apache-2.0
// A rank's actions as a string of small numbers: equal actions have equal numbers.
#pragma once

#include <span>
#include <vector>

#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

struct Tokens {
  std::vector<uint32_t> kinds;  // dense, from 0
  std::vector<TraceNs> times;   // ascending
  std::vector<size_t> origin;   // positions in the source list
};

// By communicator, function, bytes and element type, in order of the calls. Calls without a known
// time are left out.
[[nodiscard]] Tokens tokens_of(const CollectiveRecords& collectives);
// By name.
[[nodiscard]] Tokens tokens_of(std::span<const HostToken> tokens);

}  // namespace dprof::analyzer
