// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hang/progress.h"

#include <algorithm>
#include <map>

#include "analyzer/match/tokens.h"

namespace dprof::analyzer {
namespace {

bool has_ended(const CollectiveRecord& record) { return record.end || is_finished(record); }

const Member* member_of(const Instance& instance, size_t digest) {
  const auto found = std::ranges::lower_bound(instance.members, digest, {}, &Member::digest);
  return found != instance.members.end() && found->digest == digest ? &*found : nullptr;
}

}  // namespace

std::string_view word_of(MemberState state) {
  constexpr std::string_view kWords[] = {"not_called", "queued", "running", "done", "no_data"};
  return kWords[static_cast<size_t>(state)];
}

CollectiveProgress::CollectiveProgress(std::span<const RankDigest> digests,
                                       const Matching& matching)
    : digests_(digests), matching_(matching) {
  for (size_t d = 0; d < digests.size(); ++d) by_rank_.emplace_back(digests[d].rank, d);
  std::ranges::sort(by_rank_);
  open_.resize(digests.size());
  fronts_.resize(digests.size());
  find_reached();
  for (size_t d = 0; d < digests.size(); ++d) {
    find_open(d);
    find_fronts(d);
  }
}

std::optional<size_t> CollectiveProgress::digest_of(int rank) const {
  const auto found = std::ranges::lower_bound(by_rank_, std::pair(rank, size_t{0}));
  if (found == by_rank_.end() || found->first != rank) return std::nullopt;
  return found->second;
}

void CollectiveProgress::find_reached() {
  reached_.resize(digests_.size());
  begun_.resize(matching_.instances.size());
  for (size_t d = 0; d < digests_.size(); ++d) {
    const CollectiveRecords& records = digests_[d].collectives;
    Reached nothing;
    nothing.of_function.fill(INT64_MIN);
    reached_[d].resize(digests_[d].communicators.size(), nothing);
    for (size_t i = 0; i < records.size(); ++i) {
      const size_t instance = matching_.instance_of[d][i];
      if (instance == kNoInstance) continue;
      const int64_t position = matching_.instances[instance].position;
      if (records[i].start) begun_[instance] = true;
      Reached& reached = reached_[d][records[i].communicator];
      reached.called = std::max(reached.called, position);
      int64_t& last = reached.of_function[static_cast<size_t>(records[i].function) % kFunctions];
      last = std::max(last, matching_.instances[instance].sequence);
      if (has_ended(records[i])) reached.done = std::max(reached.done, position);
    }
  }
}

void CollectiveProgress::find_open(size_t digest) {
  const CollectiveRecords& records = digests_[digest].collectives;
  // The last finished message of each kind.
  using Kind = std::tuple<size_t, schema::Function, std::optional<int64_t>>;
  std::map<Kind, size_t> last_done;
  const auto kind_of = [](const CollectiveRecord& record) {
    return Kind{record.communicator, record.function, record.peer};
  };
  for (size_t i = 0; i < records.size(); ++i) {
    if (is_point_to_point(records[i].function) && has_ended(records[i]))
      last_done[kind_of(records[i])] = i;
  }
  for (size_t i = 0; i < records.size(); ++i) {
    const CollectiveRecord& record = records[i];
    if (has_ended(record) || !record.arrival()) continue;
    OpenCall call{.record = i, .instance = {}, .message = {}};
    if (is_point_to_point(record.function)) {
      const auto done = last_done.find(kind_of(record));
      if (done != last_done.end() && done->second > i) continue;
      if (const size_t message = matching_.message_at(digest, i); message != kNoInstance)
        call.message = message;
    } else {
      const size_t instance = matching_.instance_of[digest][i];
      if (instance == kNoInstance) continue;
      if (matching_.instances[instance].position < reached_[digest][record.communicator].done)
        continue;
      call.instance = instance;
    }
    open_[digest].push_back(call);
  }
}

void CollectiveProgress::find_fronts(size_t digest) {
  const CollectiveRecords& records = digests_[digest].collectives;
  for (const OpenCall& call : open_[digest]) {
    if (records[call.record].start) fronts_[digest].push_back(call);
  }
  if (fronts_[digest].empty() && !open_[digest].empty())
    fronts_[digest].push_back(open_[digest].front());
}

MemberState CollectiveProgress::state_of_record(size_t digest, size_t record) const {
  const auto is_it = [&](const OpenCall& call) { return call.record == record; };
  if (std::ranges::none_of(open_[digest], is_it)) return MemberState::kDone;
  const bool in_front = std::ranges::any_of(fronts_[digest], is_it);
  return in_front ? MemberState::kRunning : MemberState::kQueued;
}

MemberState CollectiveProgress::state_of(const Instance& instance, int rank) const {
  const std::optional<size_t> digest = digest_of(rank);
  if (!digest) return MemberState::kNoData;
  if (const Member* member = member_of(instance, *digest)) {
    const MemberState state = state_of_record(*digest, member->record);
    // Others are recorded as begun, but not this one: it waits for other work of its own.
    const bool begun_elsewhere = state == MemberState::kRunning &&
                                 !digests_[*digest].collectives[member->record].start &&
                                 begun_[matching_.instance_of[*digest][member->record]];
    return begun_elsewhere ? MemberState::kQueued : state;
  }
  // It passed it: its record was lost. A rank can have several entries for a communicator.
  for (size_t c = 0; c < reached_[*digest].size(); ++c) {
    if (matching_.group_of[*digest][c] == instance.group &&
        has_passed(reached_[*digest][c], instance))
      return MemberState::kDone;
  }
  return MemberState::kNotCalled;
}

// If each function is counted separately, the order between functions is known only from other
// ranks' calls: a later call of another function proves nothing until it is finished.
bool CollectiveProgress::has_passed(const Reached& reached, const Instance& instance) const {
  if (!matching_.groups[instance.group].by_function) return reached.called > instance.position;
  return reached.done > instance.position ||
         reached.of_function[static_cast<size_t>(instance.function) % kFunctions] >
             instance.sequence;
}

MemberState CollectiveProgress::state_of(const Message& message, int rank) const {
  const std::optional<size_t> digest = digest_of(rank);
  if (!digest) return MemberState::kNoData;
  for (const std::optional<Member>& side : {message.send, message.receive}) {
    if (side && side->digest == *digest) return state_of_record(*digest, side->record);
  }
  return MemberState::kNotCalled;
}

}  // namespace dprof::analyzer
