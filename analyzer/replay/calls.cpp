// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/calls.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/paged_memory.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using schema::Function;

constexpr TaskId kNoTask = UINT32_MAX;
// A kernel that begins this soon after the previous one on its stream was waiting for it.
constexpr int64_t kBackToBack = 20'000;

class CallTasks {
 public:
  CallTasks(std::span<const RankDigest> digests, const Steps& steps, const Matching& matching,
            TaskGraph& graph)
      : digests_(digests), steps_(steps), matching_(matching), graph_(graph) {
    entry_of_.assign(digests.size(), kNobody);
    for (size_t r = 0; r < steps.ranks.size(); ++r) entry_of_[steps.ranks[r]] = r;
    hub_of_instance_.assign(matching.instances.size(), kNoTask);
    hub_of_message_.assign(matching.messages.size(), kNoTask);
    meetings_.resize(matching.instances.size());
    for (const Instance& instance : matching.instances) {
      if (!instance.comparable) continue;
      const auto [shortest, is_new] =
          shortest_.try_emplace(kind_of(instance), instance.transfer_ns);
      if (!is_new) shortest->second = std::min(shortest->second, instance.transfer_ns);
    }
  }

  std::vector<std::vector<ReplayedCall>> run(std::span<const Interval> spans, int64_t& meetings) {
    std::vector<std::vector<ReplayedCall>> all(steps_.ranks.size());
    {
      const ReadPagedInOrder in_order;
      for (size_t r = 0; r < all.size(); ++r) all[r] = calls_within(r, spans[r]);
    }
    for (size_t r = 0; r < all.size(); ++r) add_calls(r, spans[r], all[r]);
    for (size_t r = 0; r < all.size(); ++r) {
      for (ReplayedCall& call : all[r]) connect(steps_.ranks[r], call);
    }
    for (const auto* hubs : {&hub_of_instance_, &hub_of_message_}) {
      meetings += std::ranges::count_if(*hubs, [](TaskId hub) { return hub != kNoTask; });
    }
    return all;
  }

 private:
  [[nodiscard]] bool among(const Member& member) const {
    return entry_of_[member.digest] != kNobody;
  }

  // Whether it is shared with another replayed rank and known precisely enough.
  [[nodiscard]] bool counts(size_t d, size_t record) {
    if (const size_t m = matching_.message_at(d, record); m != kNoInstance) {
      const Message& message = matching_.messages[m];
      return message.send && message.receive && message.transfer_ns && among(*message.send) &&
             among(*message.receive);
    }
    const size_t i = matching_.instance_of[d][record];
    return i != kNoInstance && meeting_of(i).counts;
  }

  std::vector<ReplayedCall> calls_within(size_t entry, Interval span) const {
    const RankDigest& digest = digests_[steps_.ranks[entry]];
    std::vector<ReplayedCall> calls;
    for (size_t i = 0; i < digest.collectives.size(); ++i) {
      const CollectiveRecord& record = digest.collectives[i];
      const std::optional<TraceNs> at = line_position(digest, record);
      if (!at || !record.start || !record.end || *at < span.begin || *at >= span.end) continue;
      calls.push_back({.record = static_cast<uint32_t>(i),
                       .at = *at,
                       .begin = *record.start,
                       .end = *record.end});
    }
    return calls;
  }

  void add_calls(size_t entry, Interval span, std::vector<ReplayedCall>& calls) {
    const size_t d = steps_.ranks[entry];
    const RankDigest& digest = digests_[d];
    std::erase_if(calls, [&](const ReplayedCall& call) { return !counts(d, call.record); });
    std::ranges::stable_sort(calls, {}, &ReplayedCall::at);
    std::map<Queue, const ReplayedCall*> latest;
    for (ReplayedCall& call : calls) {
      call.start = graph_.add({});
      call.body = graph_.add({.duration_ns = own_transfer(d, call.record)});
      call.likeness = likeness_of(d, call.record);
      if (digest.gpu.empty() && !digest.operations) note_meeting(d, call);
      const ReplayedCall*& former = latest[queue_of(d, call.record)];
      if (former != nullptr && former->end <= call.begin) {
        graph_.after(call.start, former->body);
        call.queue_free = former->end;
        call.queued = !digest.gpu.empty() && (call.begin - former->end).ns < kBackToBack;
        const std::optional<TraceNs>& ready = digest.collectives[call.record].device_ready;
        if (call.queued && ready && *ready >= span.begin) {
          call.at = *ready;
          call.placed = true;
        }
      }
      former = &call;
    }
  }

  // Calls that wait for the previous one in the same queue: collectives of one communicator, and
  // its messages from one rank to another; those of different pairs are independent.
  using Queue = std::tuple<size_t, int, int>;  // group, from, to; -1 = a collective
  [[nodiscard]] Queue queue_of(size_t d, size_t i) const {
    const size_t group = matching_.group_of[d][digests_[d].collectives[i].communicator];
    const size_t m = matching_.message_at(d, i);
    if (m == kNoInstance) return {group, -1, -1};
    const Message& message = matching_.messages[m];
    return {group, message.from.value_or(-1), message.to.value_or(-1)};
  }

  [[nodiscard]] const Member* member_of(const Instance& instance, size_t d, size_t record) const {
    auto own = std::ranges::lower_bound(instance.members, d, {}, &Member::digest);
    while (own != instance.members.end() && own->digest == d && own->record != record) ++own;
    return own == instance.members.end() || own->digest != d ? nullptr : &*own;
  }

  struct Meeting {
    bool known = false;
    bool counts = false;  // its times are known, and several of its members are replayed
    // When the last member arrived; nullopt: the function does not wait for it, or no common clock.
    CompactOptional<TraceNs> met;
  };

  // Found when it is first needed: often only the last steps are replayed.
  const Meeting& meeting_of(size_t i) {
    Meeting& meeting = meetings_[i];
    if (meeting.known) return meeting;
    meeting.known = true;
    const Instance& instance = matching_.instances[i];
    const auto members =
        std::ranges::count_if(instance.members, [&](const Member& m) { return among(m); });
    meeting.counts = instance.comparable && members > 1;
    if (!is_synchronising(instance.function) || !instance.spread_ns) return meeting;
    for (const Member& member : instance.members) {
      const std::optional<TraceNs>& came = digests_[member.digest].collectives[member.record].start;
      if (came) meeting.met = std::max(meeting.met.value_or(*came), *came);
    }
    return meeting;
  }

  void note_meeting(size_t d, ReplayedCall& call) {
    const size_t i = matching_.instance_of[d][call.record];
    if (i == kNoInstance) return;
    call.met = meeting_of(i).met;
    if (!call.met) return;
    call.over_from = *call.met + DurationNs{shortest_.at(kind_of(matching_.instances[i]))};
  }

  using Kind = std::tuple<size_t, Function, std::optional<int64_t>>;  // group, function, bytes
  static Kind kind_of(const Instance& i) { return {i.group, i.function, i.bytes}; }

  // The part of the rank's duration that was not waiting.
  [[nodiscard]] int64_t own_transfer(size_t d, size_t i) const {
    const CollectiveRecord& record = digests_[d].collectives[i];
    const int64_t stay = (*record.end - *record.start).ns;
    if (const size_t m = matching_.message_at(d, i); m != kNoInstance) {
      const Message& message = matching_.messages[m];
      return stay - (record.function == Function::kSend ? message.send : message.receive)->wait_ns;
    }
    const Member* own = member_of(matching_.instances[matching_.instance_of[d][i]], d, i);
    return own == nullptr ? stay : stay - own->wait_ns;
  }

  [[nodiscard]] uint64_t likeness_of(size_t d, size_t i) const {
    const CollectiveRecord& record = digests_[d].collectives[i];
    const Group& group = matching_.groups[matching_.group_of[d][record.communicator]];
    uint64_t hash = likeness_with(1, static_cast<uint64_t>(record.function));
    hash = likeness_with(hash, static_cast<uint64_t>(record.bytes.value_or(-1)));
    return likeness_with(hash, group.members.size());
  }

  TaskId hub(TaskId& of) {
    if (of == kNoTask) of = graph_.add({});
    return of;
  }

  void connect(size_t d, ReplayedCall& call) {
    graph_.after(call.body, call.start);
    if (const size_t m = matching_.message_at(d, call.record); m != kNoInstance) {
      connect_message(m, d, call);
      return;
    }
    const size_t i = matching_.instance_of[d][call.record];
    const Instance& instance = matching_.instances[i];
    const Role role = role_of(instance, d);
    call.meet = hub(hub_of_instance_[i]);
    if (role.gives) graph_.after(call.meet, call.start);
    if (role.waits) graph_.after(call.body, call.meet);
  }

  // A send that ended before the receiver arrived did not wait for it.
  void connect_message(size_t m, size_t d, ReplayedCall& call) {
    const Message& message = matching_.messages[m];
    call.meet = hub(hub_of_message_[m]);
    const bool sends = message.send->digest == d && message.send->record == call.record;
    const CollectiveRecord& send = digests_[message.send->digest].collectives[message.send->record];
    const CollectiveRecord& receive =
        digests_[message.receive->digest].collectives[message.receive->record];
    const bool eager = send.end && receive.start && *send.end <= *receive.start;
    graph_.after(call.meet, call.start);
    if (!sends || !eager) graph_.after(call.body, call.meet);
  }

  // Whether the others wait for a member, and it for them.
  struct Role {
    bool gives = true;
    bool waits = true;
  };
  [[nodiscard]] Role role_of(const Instance& instance, size_t d) const {
    if (is_synchronising(instance.function) || instance.guessed) return {};
    const Group& group = matching_.groups[instance.group];
    const Member& any = instance.members.front();
    const std::optional<int64_t> root = digests_[any.digest].collectives[any.record].root;
    if (!root || *root < 0 || static_cast<size_t>(*root) >= group.members.size()) return {};
    const bool is_root = group.members[static_cast<size_t>(*root)] == digests_[d].rank;
    const bool to_root =
        instance.function == Function::kReduce || instance.function == Function::kGather;
    return {.gives = is_root != to_root, .waits = is_root == to_root};
  }

  std::span<const RankDigest> digests_;
  const Steps& steps_;
  const Matching& matching_;
  TaskGraph& graph_;
  std::vector<size_t> entry_of_;      // by digest
  std::vector<Meeting> meetings_;     // by instance
  std::map<Kind, int64_t> shortest_;  // transfer
  std::vector<TaskId> hub_of_instance_;
  std::vector<TaskId> hub_of_message_;
};

using CallPlace = std::tuple<size_t, uint64_t, uint32_t>;  // step, program, number

// The first moment in [from, to] preceded by that much own work; `to` if there is none.
TraceNs moment_of(const OwnClock& clock, TraceNs from, TraceNs to, int64_t own_ns) {
  int64_t low = from.ns;
  int64_t high = to.ns;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (clock.at({middle}) >= own_ns) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return {low};
}

// Visits each call with the previous call of its step, in call order.
template <typename Visit>
void for_each_pair(std::vector<ReplayedCall>& calls, Visit&& visit) {
  std::ranges::sort(calls, {}, &ReplayedCall::record);
  for (size_t c = 1; c < calls.size(); ++c) {
    if (calls[c].step == calls[c - 1].step) visit(calls[c - 1], calls[c]);
  }
}

}  // namespace

std::optional<TraceNs> line_position(const RankDigest& digest, const CollectiveRecord& record) {
  if (digest.gpu.empty()) return record.arrival();
  return record.start;
}

void find_device_readiness(RankDigest& digest) {
  const std::vector<Launch>& launches = digest.gpu.launches;
  if (digest.gpu.empty() || launches.empty()) return;
  std::vector<TraceNs> communication;
  for (const CollectiveRecord& record : digest.collectives) {
    if (record.start) communication.push_back(*record.start);
  }
  std::ranges::sort(communication);
  digest.collectives.edit_all([&](CollectiveRecord& record) {
    if (!record.enqueue || !record.start) return;
    auto next = std::ranges::upper_bound(launches, *record.enqueue, {}, &Launch::launch);
    while (next != launches.end() && std::ranges::binary_search(communication, next->start)) ++next;
    if (next != launches.end() && next->start < *record.start) record.device_ready = next->start;
  });
}

std::vector<std::vector<ReplayedCall>> replayed_calls(std::span<const RankDigest> digests,
                                                      const Steps& steps, const Matching& matching,
                                                      std::span<const Interval> spans,
                                                      TaskGraph& graph, int64_t& meetings) {
  return CallTasks(digests, steps, matching, graph).run(spans, meetings);
}

Programs number_calls(std::vector<std::vector<ReplayedCall>>& calls,
                      const std::vector<std::vector<TraceNs>>& borders) {
  Programs programs;
  for (size_t r = 0; r < calls.size(); ++r) {
    const size_t steps = borders[r].size() - 1;
    std::vector<uint64_t>& program = programs.emplace_back(steps, 1);
    std::vector<uint32_t> next(steps, 0);
    std::ranges::sort(calls[r], {}, &ReplayedCall::record);
    for (ReplayedCall& call : calls[r]) {
      const auto after = std::ranges::upper_bound(borders[r], call.at);
      call.step = static_cast<uint32_t>(
          std::min(static_cast<size_t>(after - borders[r].begin()) - 1, steps - 1));
      call.number = next[call.step]++;
      program[call.step] = likeness_with(program[call.step], call.likeness);
    }
    std::ranges::stable_sort(calls[r], {}, &ReplayedCall::at);
  }
  return programs;
}

void place_queued_calls(std::vector<std::vector<ReplayedCall>>& calls, const Programs& programs,
                        std::span<const OwnClock> clocks) {
  const auto any_queued = [](const std::vector<ReplayedCall>& of_rank) {
    return std::ranges::any_of(of_rank, &ReplayedCall::queued);
  };
  if (std::ranges::none_of(calls, any_queued)) return;
  std::map<CallPlace, std::vector<int64_t>> unhindered;  // own work since the previous call
  for (size_t r = 0; r < calls.size(); ++r) {
    for_each_pair(calls[r], [&](const ReplayedCall& before, const ReplayedCall& call) {
      if (before.queued || call.queued) return;
      unhindered[{call.step, programs[r][call.step], call.number}].push_back(
          clocks[r].at(call.at) - clocks[r].at(before.at));
    });
  }
  for (size_t r = 0; r < calls.size(); ++r) {
    for_each_pair(calls[r], [&](const ReplayedCall& before, ReplayedCall& call) {
      if (call.placed) return;
      const auto known = unhindered.find({call.step, programs[r][call.step], call.number});
      if (!call.queued || known == unhindered.end() || before.at >= call.at) return;
      const int64_t own = clocks[r].at(before.at) + std::max<int64_t>(0, median_ns(known->second));
      call.at = moment_of(clocks[r], before.at, call.at, own);
    });
    std::ranges::stable_sort(calls[r], {}, &ReplayedCall::at);
  }
}

}  // namespace dprof::analyzer
