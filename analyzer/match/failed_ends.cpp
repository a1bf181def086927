// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/failed_ends.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dprof::analyzer {
namespace {

// dprof recorded the process to its end without loss: a call missing from the trace did not happen.
bool is_whole(const RankDigest& digest, const TraceFile& trace) {
  return digest.recorder_cpu_ns && digest.losses.empty() && !digest.paused_at_end &&
         (!trace.exit_status.empty() || trace.exit_declared) &&
         (trace.ended == "complete" || trace.ended == "process_killed");
}

// Or the number of members seen equals the recorded size.
bool all_members_are_known(const Group& group) {
  return !group.members_inferred || std::cmp_equal(group.members.size(), group.size);
}

// The last call of each rank in each of its groups.
class LastCalls {
 public:
  explicit LastCalls(const Matching& matching) : last_(matching.groups.size()) {
    for (const Instance& instance : matching.instances) {
      for (const Member& member : instance.members) {
        int64_t& last = last_[instance.group].try_emplace(member.digest, INT64_MIN).first->second;
        last = std::max(last, instance.position);
      }
    }
  }
  // INT64_MIN: no call.
  [[nodiscard]] int64_t of(size_t digest, size_t group) const {
    const auto found = last_[group].find(digest);
    return found == last_[group].end() ? INT64_MIN : found->second;
  }

 private:
  std::vector<std::unordered_map<size_t, int64_t>> last_;  // by group, then digest
};

}  // namespace

bool take_ends_of_failed(std::span<RankDigest> digests, std::span<const TraceFile> traces,
                         const Matching& matching) {
  if (std::ranges::none_of(traces, failed)) return false;
  const LastCalls last(matching);
  const auto never_came = [&](const Instance& instance, size_t digest) {
    return is_whole(digests[digest], traces[digest]) &&
           last.of(digest, instance.group) != INT64_MIN &&
           last.of(digest, instance.group) < instance.position;
  };
  bool any = false;
  for (const Instance& instance : matching.instances) {
    if (!is_synchronising(instance.function) || instance.state != MatchState::kTruncated) continue;
    const Group& group = matching.groups[instance.group];
    if (!all_members_are_known(group) ||
        std::ranges::none_of(group.digests, [&](size_t d) { return never_came(instance, d); }))
      continue;
    for (const Member& member : instance.members) {
      CollectiveRecords::Edited record = digests[member.digest].collectives.edit(member.record);
      const bool last_of_it = last.of(member.digest, instance.group) == instance.position;
      if (!last_of_it || !failed(traces[member.digest])) continue;
      if (record.state == schema::CollectiveState::kUnobserved) {
        record.state = schema::CollectiveState::kEnqueued;  // it cannot have been completed
        any = true;
      }
      if (!record.end) continue;
      record.failed = record.end;
      record.end.reset();
      record.state = schema::CollectiveState::kFailed;
      any = true;
    }
  }
  return any;
}

}  // namespace dprof::analyzer
