// SPDX-License-Identifier: Apache-2.0
// The ranks' records, matched into collectives and messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/vocabulary/diagnostic.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer {

inline constexpr size_t kNobody = SIZE_MAX;  // in place of the index of a digest

enum class MatchState : uint8_t {
  kMatched,    // every member is present and has finished
  kTruncated,  // outside what all members recorded: one trace begins later or ends earlier
  kMissing,    // inside it, but a member has no record
  kMismatch,   // the members do different things
  kInFlight,   // a member had not finished when its trace ended
};
inline constexpr size_t kMatchStates = 5;

// A communicator of the run, the same on all its ranks. One that was recreated is a different one,
// even under the same name or id.
struct Group {
  uint64_t identity = 0;  // hash of (hash or name, sorted members, ordinal, creation)
  int64_t hash = 0;
  int64_t ordinal = 0;
  std::string name;
  std::vector<int> members;       // global ranks, by number within the communicator
  bool members_inferred = false;  // from the ranks seen
  int64_t size = 0;               // as recorded; 0 = unknown
  std::vector<size_t> digests;    // those that know it, in order
  bool by_function = false;       // its collectives are numbered per function
};

struct Member {
  uint32_t digest = 0;  // position of the rank's digest
  uint32_t record = 0;  // position in its collectives
  int64_t wait_ns = 0;
};

struct Instance {
  size_t group = 0;
  schema::Function function{};
  int64_t sequence = 0;
  std::optional<int64_t> bytes;
  MatchState state = MatchState::kMatched;
  // All members with a trace have finished it: its durations can be compared.
  bool comparable = false;
  int64_t transfer_ns = 0;             // where comparable
  bool guessed = false;                // a directional function without a common clock
  std::optional<int64_t> spread_ns;    // of the members' ends; nullopt = no common clock
  std::optional<int64_t> bound_ns;     // of the waits, where clocks decided them
  std::optional<size_t> last_arriver;  // position in members
  std::vector<Member> members;         // by digest
  int64_t position = 0;                // in call order of its group
  std::optional<int64_t> step;         // index; nullopt = outside any step, or unknown
  std::optional<int64_t> bucket;       // of DDP
};

// The place at which the ranks of a communicator stop making the same calls.
struct Divergence {
  struct Side {
    std::vector<int> ranks;
    std::vector<std::string> next;  // their next calls from there: 5 at most
  };
  size_t group = 0;
  int64_t sequence = 0;
  bool tie = false;         // no side has a majority
  std::vector<Side> sides;  // the largest first
};

// A send and the receive that took it; only one of them if the other was not recorded.
struct Message {
  size_t group = 0;
  std::optional<Member> send;
  std::optional<Member> receive;
  std::optional<int> from;  // global ranks; nullopt = unknown
  std::optional<int> to;
  std::optional<int64_t> bytes;
  std::optional<int64_t> transfer_ns;  // nullopt: not finished, or times cannot be compared
  std::optional<int64_t> bound_ns;     // of transfer and waits
};

// Instead of an index: the record is in no instance, or in no message.
inline constexpr uint32_t kNoInstance = UINT32_MAX;

struct Matching {
  std::vector<Group> groups;
  std::vector<Instance> instances;                 // by first arrival
  std::vector<std::vector<uint32_t>> instance_of;  // [digest][record]; kNoInstance: send and recv
  std::vector<Message> messages;                   // in order of their begin
  std::vector<std::vector<uint32_t>> message_of;   // [digest][record]; kNoInstance: collectives
  std::vector<std::vector<uint32_t>> group_of;     // [digest][its communicator]
  std::array<int64_t, kMatchStates> count{};
  std::vector<Divergence> divergences;  // the first of each communicator that has one
  std::vector<Diagnostic> remarks;      // as text: divergences, numbers that had to be replaced
};

}  // namespace dprof::analyzer
