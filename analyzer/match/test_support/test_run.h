// SPDX-License-Identifier: Apache-2.0
// For tests: builds the digests of a run call by call, without traces.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/digest/test_support/edit_records.h"
#include "analyzer/match/match.h"
#include "analyzer/run/run.h"

namespace dprof::analyzer {

// The numbering of a communicator's calls in the records.
enum class Numbers : uint8_t { kNccl, kC10d, kNone };

// Ranks that call collectives of communicators, each with its own current time. Nothing is
// simulated: a test states what each rank recorded.
class TestRun {
 public:
  static constexpr int64_t kMs = 1'000'000;

  explicit TestRun(int ranks) {
    for (int r = 0; r < ranks; ++r) {
      RankDigest digest;
      digest.rank = r;
      digest.span = {{0}, {0}};
      digests.push_back(std::move(digest));
      TraceFile trace;
      trace.rank = r;
      trace.ended = "complete";
      traces.push_back(std::move(trace));
      now_.push_back(0);
    }
  }

  // All given ranks know it under the same index. The other ranks get a communicator of their own
  // in its place, so that indexes agree.
  size_t group(const std::vector<int>& members, Numbers numbers = Numbers::kC10d) {
    const size_t index = numbers_.size();
    numbers_.push_back(numbers);
    const auto hash = static_cast<int64_t>(1000 + index);
    for (RankDigest& digest : digests) {
      CommunicatorInfo info;
      info.backend = numbers == Numbers::kNccl ? schema::Backend::kNccl : schema::Backend::kGloo;
      info.name = "group" + std::to_string(index);
      for (const int member : members) {
        if (member != digest.rank) continue;
        info.hash = hash;
        info.members = members;
        info.size = static_cast<int64_t>(members.size());
      }
      if (info.hash == 0)
        info.hash = 1'000'000 + static_cast<int64_t>(index) * 10'000 + digest.rank;
      digest.communicators.push_back(std::move(info));
    }
    counts_.emplace_back(digests.size());
    return index;
  }

  struct What {
    schema::Function function = schema::Function::kAllReduce;
    int64_t bytes = 1000;
    std::optional<int64_t> root = {};
  };

  // A call that ends; with `ended` false it only begins.
  CollectiveRecords::Edited call(int rank, size_t group, What what, bool ended = true) {
    Count& count = counts_[group][static_cast<size_t>(rank)];
    CollectiveRecord record;
    record.communicator = static_cast<uint32_t>(group);
    record.function = what.function;
    record.bytes = what.bytes;
    record.root = what.root;
    record.numbered = numbers_[group] == Numbers::kNccl;
    record.sequence = count.of_function[static_cast<size_t>(what.function)]++;
    if (numbers_[group] == Numbers::kC10d) record.group_sequence = count.all++;
    int64_t& now = now_[static_cast<size_t>(rank)];
    record.enqueue = TraceNs{now};
    record.start = TraceNs{now + 1000};
    now += kMs;
    if (ended) record.end = TraceNs{now};
    return add(rank, record);
  }

  CollectiveRecords::Edited message(int rank, size_t group, bool sends, int peer,
                                    bool ended = true) {
    CollectiveRecord record;
    record.communicator = static_cast<uint32_t>(group);
    record.function = sends ? schema::Function::kSend : schema::Function::kRecv;
    record.bytes = 64;
    record.peer = peer;
    int64_t& now = now_[static_cast<size_t>(rank)];
    record.enqueue = record.start = TraceNs{now};
    now += kMs;
    if (ended) record.end = TraceNs{now};
    return add(rank, record);
  }

  // Every member makes the call.
  void everybody(size_t group, const std::vector<int>& ranks, What what) {
    for (const int rank : ranks) call(rank, group, what);
  }

  // Nothing happens for `ns` before the traces end.
  void stand_still(int64_t ns) {
    for (RankDigest& digest : digests) {
      digest.last_sign = {digest.span.end.ns + ns};
    }
  }

  std::vector<RankDigest> digests;
  std::vector<TraceFile> traces;

 private:
  struct Count {
    int64_t of_function[16] = {};
    int64_t all = 0;
  };

  CollectiveRecords::Edited add(int rank, CollectiveRecord record) {
    RankDigest& digest = digests[static_cast<size_t>(rank)];
    record.row = static_cast<int64_t>(digest.collectives.size()) + 1;
    digest.span.end = {std::max(digest.span.end.ns, now_[static_cast<size_t>(rank)])};
    digest.last_sign = digest.span.end;
    digest.collectives.push_back(record);
    return edit_last(digest.collectives);
  }

  std::vector<Numbers> numbers_;
  std::vector<std::vector<Count>> counts_;
  std::vector<int64_t> now_;
};

inline std::vector<int> all(int ranks) {
  std::vector<int> members;
  for (int r = 0; r < ranks; ++r) members.push_back(r);
  return members;
}

inline std::vector<MatchState> states_of(const Matching& matching) {
  std::vector<MatchState> states;
  for (const Instance& instance : matching.instances) states.push_back(instance.state);
  return states;
}

}  // namespace dprof::analyzer
