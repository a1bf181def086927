// SPDX-License-Identifier: Apache-2.0
// Each rank's progress in each communicator, and the calls that it was in when its trace ended.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/match/match.h"

namespace dprof::analyzer {

// Of a member towards one collective (docs/analysis/hangs.md).
enum class MemberState : uint8_t {
  kNotCalled,  // it has not come to it
  kQueued,     // called, and behind other work
  kRunning,    // it is in it
  kDone,       // finished; also: called, and its record was lost
  kNoData,     // no trace
};
[[nodiscard]] std::string_view word_of(MemberState state);

// A collective or message that a rank called and did not finish.
struct OpenCall {
  size_t record = 0;               // position in the digest's collectives
  std::optional<size_t> instance;  // of a collective
  std::optional<size_t> message;
};

// Threading  immutable.
// Cost       O(records) to make.
class CollectiveProgress {
 public:
  CollectiveProgress(std::span<const RankDigest> digests, const Matching& matching);

  // In order of call. Calls whose end was lost are not among them: a later one of the communicator
  // (of a message: to or from the same peer) is finished.
  [[nodiscard]] std::span<const OpenCall> open(size_t digest) const { return open_[digest]; }

  // What the rank stands in: the calls that have begun. Where it was not recorded when calls began:
  // the first of them.
  [[nodiscard]] std::span<const OpenCall> fronts(size_t digest) const { return fronts_[digest]; }

  [[nodiscard]] std::optional<size_t> digest_of(int rank) const;
  [[nodiscard]] std::span<const RankDigest> digests() const { return digests_; }

  // Of one member towards a collective.
  [[nodiscard]] MemberState state_of(const Instance& instance, int rank) const;
  // Of one side (a rank) towards a message.
  [[nodiscard]] MemberState state_of(const Message& message, int rank) const;

 private:
  static constexpr size_t kFunctions = 16;  // room for more than there are
  struct Reached {
    int64_t called = INT64_MIN;  // last position
    int64_t done = INT64_MIN;
    std::array<int64_t, kFunctions> of_function;  // last sequence that was called
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
  std::vector<bool> begun_;                      // by instance: on some rank, as was recorded
};

}  // namespace dprof::analyzer
