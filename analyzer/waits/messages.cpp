// SPDX-License-Identifier: Apache-2.0
#include "analyzer/waits/messages.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analyzer/waits/wait.h"

namespace dprof::analyzer {
namespace {

using schema::Function;

// One side of a message.
struct Side {
  size_t digest = 0;
  size_t record = 0;
  std::optional<int> peer;  // global rank; nullopt = unknown
  bool taken = false;
};

// Messages of one size to one rank. If the rank is unknown: sends only.
struct MessageKey {
  size_t group;
  std::optional<int> to;
  std::optional<int64_t> bytes;
  auto operator<=>(const MessageKey&) const = default;
};

struct Inbox {
  std::map<int, std::vector<Side>> sends;  // by sender, in the order of its calls
  std::vector<Side> receives;              // in the order of the calls
};

class MessageMatcher {
 public:
  MessageMatcher(std::span<const RankDigest> digests, const Alignment& alignment,
                 Matching& matching)
      : digests_(digests), alignment_(alignment), matching_(matching) {}

  void run() {
    learn_numbers();
    collect();
    for (auto& [key, inbox] : inboxes_) {
      if (key.to) pair_up(key, inbox);
      keep_rest(key, inbox);
    }
    sort_and_index();
  }

 private:
  [[nodiscard]] CollectiveRecord record(const Side& side) const {
    return digests_[side.digest].collectives[side.record];
  }

  // Maps numbers within a communicator to ranks, from the ranks' own records.
  void learn_numbers() {
    others_numbered_.assign(matching_.groups.size(), false);
    for (size_t d = 0; d < digests_.size(); ++d) {
      const std::vector<CommunicatorInfo>& known = digests_[d].communicators;
      for (size_t c = 0; c < known.size(); ++c) {
        if (!known[c].own_number) continue;
        const size_t group = matching_.group_of[d][c];
        rank_of_number_[{group, *known[c].own_number}] = digests_[d].rank;
        if (*known[c].own_number != digests_[d].rank) others_numbered_[group] = true;
      }
    }
  }

  // The peer is recorded by its number in the communicator. For a rank without a trace this is the
  // rank itself, unless members are recorded or another rank shows that numbers differ.
  [[nodiscard]] std::optional<int> peer_of(size_t group, const CollectiveRecord& record) const {
    if (!record.peer || *record.peer < 0 || *record.peer > INT32_MAX) return std::nullopt;
    const auto known = rank_of_number_.find({group, *record.peer});
    if (known != rank_of_number_.end()) return known->second;
    const Group& members = matching_.groups[group];
    if (!members.members_inferred) {
      const auto number = static_cast<size_t>(*record.peer);
      return number < members.members.size() ? std::optional(members.members[number])
                                             : std::nullopt;
    }
    if (others_numbered_[group]) return std::nullopt;
    return static_cast<int>(*record.peer);
  }

  void collect() {
    for (size_t d = 0; d < digests_.size(); ++d) {
      const CollectiveRecords& records = digests_[d].collectives;
      for (size_t i = 0; i < records.size(); ++i) {
        if (!is_point_to_point(records[i].function)) continue;
        const size_t group = matching_.group_of[d][records[i].communicator];
        const std::optional<int> peer = peer_of(group, records[i]);
        const int own = digests_[d].rank;
        if (records[i].function == Function::kSend) {
          inboxes_[{group, peer, records[i].bytes}].sends[own].push_back({d, i, peer});
        } else {
          inboxes_[{group, own, records[i].bytes}].receives.push_back({d, i, peer});
        }
      }
    }
  }

  [[nodiscard]] bool can_be(const Side& send, const Side& receive) const {
    const std::optional<TraceNs> begin = record(send).arrival();
    const std::optional<TraceNs> end = record(receive).end;
    if (!begin || !end || *begin <= *end) return true;
    const auto bound = alignment_.bound_between(send.digest, *begin, receive.digest, *end);
    return !bound || (*begin - *end).ns <= *bound;
  }

  void pair_up(const MessageKey& key, Inbox& inbox) {
    std::map<int, size_t> next;                    // by sender: its first unpaired send
    std::set<std::pair<TraceNs, int>> first_left;  // of each sender, by its begin
    const auto begin_of = [&](int from) {
      const std::vector<Side>& sends = inbox.sends.at(from);
      return record(sends[next[from]]).arrival().value_or(TraceNs{INT64_MAX});
    };
    for (const auto& [from, sends] : inbox.sends) first_left.emplace(begin_of(from), from);
    for (Side& receive : inbox.receives) {
      if (first_left.empty()) return;
      const int from = receive.peer.value_or(first_left.begin()->second);
      const auto sends = inbox.sends.find(from);
      if (sends == inbox.sends.end() || next[from] == sends->second.size()) continue;
      Side& send = sends->second[next[from]];
      if (!can_be(send, receive)) continue;
      first_left.erase({begin_of(from), from});
      add(key.group, send, receive);
      if (++next[from] < sends->second.size()) first_left.emplace(begin_of(from), from);
    }
  }

  static Member member_of(const Side& side) {
    return {static_cast<uint32_t>(side.digest), static_cast<uint32_t>(side.record)};
  }

  void add(size_t group, Side& send, Side& receive) {
    send.taken = receive.taken = true;
    Message message{.group = group,
                    .send = member_of(send),
                    .receive = member_of(receive),
                    .from = digests_[send.digest].rank,
                    .to = digests_[receive.digest].rank,
                    .bytes = record(send).bytes,
                    .transfer_ns = {},
                    .bound_ns = {}};
    divide(message, digests_, alignment_);
    matching_.messages.push_back(std::move(message));
  }

  void keep_rest(const MessageKey& key, const Inbox& inbox) {
    const auto keep = [&](const Side& one, std::optional<int> from,
                          std::optional<Member> Message::*side) {
      if (one.taken) return;
      Message message{.group = key.group,
                      .send = {},
                      .receive = {},
                      .from = from,
                      .to = key.to,
                      .bytes = key.bytes,
                      .transfer_ns = {},
                      .bound_ns = {}};
      message.*side = member_of(one);
      matching_.messages.push_back(std::move(message));
    };
    for (const auto& [from, sends] : inbox.sends) {
      for (const Side& send : sends) keep(send, from, &Message::send);
    }
    for (const Side& receive : inbox.receives) keep(receive, receive.peer, &Message::receive);
  }

  void sort_and_index() {
    std::vector<Message>& messages = matching_.messages;
    const auto place = [&](const Message& m) {
      const Member& first = m.send ? *m.send : *m.receive;
      const CollectiveRecord& at = digests_[first.digest].collectives[first.record];
      return std::tuple(at.arrival().value_or(TraceNs{INT64_MAX}), first.digest, first.record);
    };
    std::ranges::stable_sort(messages, {}, place);
    matching_.message_of.resize(digests_.size());
    for (uint32_t m = 0; m < messages.size(); ++m) {
      for (const std::optional<Member>& side : {messages[m].send, messages[m].receive}) {
        if (!side) continue;
        std::vector<uint32_t>& of_records = matching_.message_of[side->digest];
        if (of_records.empty())
          of_records.assign(digests_[side->digest].collectives.size(), kNoInstance);
        of_records[side->record] = m;
      }
    }
  }

  std::span<const RankDigest> digests_;
  const Alignment& alignment_;
  Matching& matching_;
  std::map<std::pair<size_t, int64_t>, int> rank_of_number_;  // by group and number
  std::vector<bool> others_numbered_;  // by group: some number differs from its rank
  std::map<MessageKey, Inbox> inboxes_;
};

}  // namespace

void match_messages(std::span<const RankDigest> digests, const Alignment& alignment,
                    Matching& matching) {
  MessageMatcher(digests, alignment, matching).run();
}

}  // namespace dprof::analyzer
