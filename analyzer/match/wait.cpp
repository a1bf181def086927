// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/wait.h"

#include <algorithm>
#include <map>

namespace dprof::analyzer {
namespace {

using schema::Function;

const CollectiveRecord& record_of(std::span<const RankDigest> digests, const Member& member) {
  return digests[member.digest].collectives[member.record];
}

int64_t stay_of(const CollectiveRecord& record) { return (*record.end - *record.start).ns; }

void divide_by_shortest_stay(Instance& instance, std::span<const RankDigest> digests) {
  size_t shortest = 0;
  for (size_t i = 1; i < instance.members.size(); ++i) {
    if (stay_of(record_of(digests, instance.members[i])) <
        stay_of(record_of(digests, instance.members[shortest])))
      shortest = i;
  }
  instance.transfer_ns = stay_of(record_of(digests, instance.members[shortest]));
  instance.last_arriver = shortest;
  for (Member& member : instance.members)
    member.wait_ns = stay_of(record_of(digests, member)) - instance.transfer_ns;
}

// Position of the root among the members that are there.
std::optional<size_t> root_of(const Instance& instance, std::span<const RankDigest> digests,
                              const Group& group) {
  const std::optional<int64_t> root = record_of(digests, instance.members.front()).root;
  if (!root || *root < 0 || static_cast<size_t>(*root) >= group.members.size()) return std::nullopt;
  const int rank = group.members[static_cast<size_t>(*root)];
  for (size_t i = 0; i < instance.members.size(); ++i) {
    if (digests[instance.members[i].digest].rank == rank) return i;
  }
  return std::nullopt;
}

// The root's data cannot come before the root does.
void divide_from_root(Instance& instance, std::span<const RankDigest> digests, size_t root) {
  const TraceNs root_start = *record_of(digests, instance.members[root]).start;
  for (size_t i = 0; i < instance.members.size(); ++i) {
    Member& member = instance.members[i];
    const CollectiveRecord& record = record_of(digests, member);
    if (i != root)
      member.wait_ns = std::clamp<int64_t>((root_start - *record.start).ns, 0, stay_of(record));
    instance.transfer_ns = std::max(instance.transfer_ns, stay_of(record) - member.wait_ns);
    if (member.wait_ns > 0) instance.last_arriver = root;
  }
}

// The root cannot finish before the last member has come.
void divide_to_root(Instance& instance, std::span<const RankDigest> digests, size_t root) {
  size_t last = root;
  for (size_t i = 0; i < instance.members.size(); ++i) {
    if (*record_of(digests, instance.members[i]).start >
        *record_of(digests, instance.members[last]).start)
      last = i;
  }
  Member& at_root = instance.members[root];
  const CollectiveRecord& record = record_of(digests, at_root);
  const TraceNs last_start = *record_of(digests, instance.members[last]).start;
  at_root.wait_ns = std::clamp<int64_t>((last_start - *record.start).ns, 0, stay_of(record));
  instance.transfer_ns = stay_of(record) - at_root.wait_ns;
  instance.last_arriver = last;
}

}  // namespace

bool is_synchronising(Function function) {
  return function == Function::kAllReduce || function == Function::kAllGather ||
         function == Function::kReduceScatter || function == Function::kAllToAll ||
         function == Function::kBarrier;
}

void divide(Instance& instance, std::span<const RankDigest> digests, const Group& group,
            bool aligned) {
  if (is_synchronising(instance.function)) return divide_by_shortest_stay(instance, digests);
  const std::optional<size_t> root =
      aligned ? root_of(instance, digests, group) : std::optional<size_t>();
  if (!root) {
    divide_by_shortest_stay(instance, digests);
    instance.last_arriver.reset();  // a guess too many
    return;
  }
  if (instance.function == Function::kReduce || instance.function == Function::kGather)
    return divide_to_root(instance, digests, *root);
  divide_from_root(instance, digests, *root);
}

std::vector<CommSpan> comm_spans(std::span<const RankDigest> digests, const Matching& matching,
                                 size_t digest) {
  using Key = std::tuple<size_t, Function, std::optional<int64_t>>;
  const RankDigest& rank = digests[digest];
  std::map<Key, int64_t> best;
  const auto key_of = [](const CollectiveRecord& r) {
    return Key{r.communicator, r.function, r.bytes};
  };
  const auto transfer_of = [&](size_t i) {
    const size_t instance = matching.instance_of[digest][i];
    return instance != kNoInstance && matching.instances[instance].comparable
               ? matching.instances[instance].transfer_ns
               : stay_of(rank.collectives[i]);
  };
  for (size_t i = 0; i < rank.collectives.size(); ++i) {
    const CollectiveRecord& record = rank.collectives[i];
    if (!record.start || !record.end) continue;
    const auto [entry, is_new] = best.try_emplace(key_of(record), transfer_of(i));
    entry->second = std::min(entry->second, transfer_of(i));
  }
  std::vector<CommSpan> spans;
  for (size_t i = 0; i < rank.collectives.size(); ++i) {
    const CollectiveRecord& record = rank.collectives[i];
    if (!record.start) continue;
    if (!record.end) {
      spans.push_back({{*record.start, rank.span.end}, {INT64_MAX}});
      continue;
    }
    const size_t instance = matching.instance_of[digest][i];
    TraceNs arrive = std::max(*record.start, *record.end + DurationNs{-best.at(key_of(record))});
    if (instance != kNoInstance && matching.instances[instance].comparable) {
      for (const Member& member : matching.instances[instance].members) {
        if (member.digest == digest) arrive = *record.start + DurationNs{member.wait_ns};
      }
    }
    if (const size_t m = matching.message_of[digest][i]; m != kNoInstance) {
      const Message& message = matching.messages[m];
      const Member& own = record.function == Function::kSend ? *message.send : *message.receive;
      if (message.transfer_ns) arrive = *record.start + DurationNs{own.wait_ns};
    }
    spans.push_back({{*record.start, *record.end}, arrive});
  }
  std::ranges::sort(spans, {}, [](const CommSpan& s) { return s.span.begin; });
  return spans;
}

}  // namespace dprof::analyzer
