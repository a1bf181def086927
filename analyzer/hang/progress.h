// SPDX-License-Identifier: Apache-2.0
// Each rank's progress in each communicator, and its unfinished calls at the end of its trace.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/match/match.h"

namespace dprof::analyzer {

// A member's state in one collective (docs/analysis/hangs.md).
enum class MemberState : uint8_t {
  kNotCalled,  // has not reached it
  kQueued,     // called, but behind other work
  kRunning,    // in it
  kDone,       // finished; also: called, and its record was lost
  kNoData,     // no trace
};
[[nodiscard]] std::string_view word_of(MemberState state);

// A collective or message that a rank called but did not finish.
struct OpenCall {
  size_t record = 0;               // position in the digest's collectives
  std::optional<size_t> instance;  // only for a collective
  std::optional<size_t> message;
};

// Threading  immutable.
// Cost       O(records) to make.
class CollectiveProgress {
 public:
  CollectiveProgress(std::span<const RankDigest> digests, const Matching& matching);

  // In order of call. Calls whose end was lost are excluded: a later call of the communicator (for
  // a message: to or from the same peer) is finished.
  [[nodiscard]] std::span<const OpenCall> open(size_t digest) const { return open_[digest]; }

  // The calls in which the rank is: those that have begun or, if begins were not recorded, the
  // first of them.
  [[nodiscard]] std::span<const OpenCall> fronts(size_t digest) const { return fronts_[digest]; }

  [[nodiscard]] std::optional<size_t> digest_of(int rank) const;
  [[nodiscard]] std::span<const RankDigest> digests() const { return digests_; }

  // A member's state in a collective.
  [[nodiscard]] MemberState state_of(const Instance& instance, int rank) const;
  // One side's (a rank's) state in a message.
  [[nodiscard]] MemberState state_of(const Message& message, int rank) const;

 private:
  static constexpr size_t kFunctions = 16;  // with room to spare
  struct Reached {
    int64_t called = INT64_MIN;  // last position
    int64_t done = INT64_MIN;
    std::array<int64_t, kFunctions> of_function;  // last sequence called
  };

  void find_reached();
  [[nodiscard]] bool has_passed(const Reached& reached, const Instance& instance) const;
  void find_open(size_t digest);
  void find_fronts(size_t digest);
  [[nodiscard]] MemberState state_of_record(size_t digest, size_t record) const;

  std::span<const RankDigest> digests_;
  const Matching& matching_;
  std::vector<std::vector<Reached>> reached_;  // [digest][its communicator]
  std::vector<std::vector<OpenCall>> open_;
  std::vector<std::vector<OpenCall>> fronts_;
  std::vector<std::pair<int, size_t>> by_rank_;  // sorted
  std::vector<bool> begun_;                      // by instance: begun on some rank, as recorded
};

}  // namespace dprof::analyzer
