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
#include "base/compact_optional.h"
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

// A run can have millions: its fields are small.
struct Instance {
  using Number = CompactOptional<int64_t>;

  uint32_t group = 0;
  SmallEnum<schema::Function> function;
  MatchState state = MatchState::kMatched;
  // All members with a trace have finished it: its durations can be compared.
  bool comparable = false;
  bool guessed = false;  // a directional function without a common clock
  int64_t sequence = 0;
  Number bytes;
  int64_t transfer_ns = 0;                        // where comparable
  Number spread_ns;                               // of the members' ends; nullopt = no common clock
  Number bound_ns;                                // of the waits, where clocks decided them
  int64_t position = 0;                           // in call order of its group
  Number step;                                    // index; nullopt = outside any step, or unknown
  CompactOptional<size_t, int32_t> last_arriver;  // position in members
  CompactOptional<int64_t, int32_t> bucket;       // of DDP
  std::vector<Member> members;                    // by digest
};
static_assert(sizeof(Instance) == 96);

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
  std::vector<std::vector<uint32_t>> message_of;   // [digest][record]; empty: no messages
  std::vector<std::vector<uint32_t>> group_of;     // [digest][its communicator]
  std::array<int64_t, kMatchStates> count{};
  std::vector<Divergence> divergences;  // the first of each communicator that has one
  std::vector<Diagnostic> remarks;      // as text: divergences, numbers that had to be replaced

  // Index of the record's message; kNoInstance: it is in none.
  [[nodiscard]] uint32_t message_at(size_t digest, size_t record) const {
    if (digest >= message_of.size() || record >= message_of[digest].size()) return kNoInstance;
    return message_of[digest][record];
  }
};

}  // namespace dprof::analyzer
