// SPDX-License-Identifier: Apache-2.0
// Collectives and messages over all their ranks, as the timeline draws them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer {

// One rank's part of a collective.
struct CollectiveMember {
  int rank = 0;
  int64_t row = 0;  // id in that rank's `collective` table
  std::optional<TraceNs> enqueue;
  std::optional<TraceNs> start;
  std::optional<TraceNs> end;
  int64_t wait_ns = 0;  // part of end - start before the last member arrived
};

// One collective over all its ranks.
struct MatchedCollective {
  std::string communicator;
  schema::Function function{};
  int64_t sequence = 0;
  std::optional<int64_t> bytes;
  bool complete = false;  // every member is recorded and has finished
  int64_t transfer_ns = 0;
  std::optional<int> last_arriver;
  std::vector<CollectiveMember> members;  // by rank
};

// A message from one rank to another.
struct MatchedMessage {
  std::string communicator;
  std::optional<int> from;  // nullopt = unknown
  std::optional<int> to;
  std::optional<int64_t> bytes;
  std::optional<int64_t> transfer_ns;       // nullopt: not finished, or times not comparable
  std::optional<CollectiveMember> send;     // nullopt = that side was not recorded
  std::optional<CollectiveMember> receive;  // its wait_ns: waiting for the sender
};

}  // namespace dprof::analyzer
