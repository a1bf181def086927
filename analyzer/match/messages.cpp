// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/messages.h"

#include <algorithm>
#include <tuple>

namespace dprof::analyzer {
namespace {

using schema::Function;

// One side of a message. The ranks are the global ones.
struct Side {
  size_t digest = 0;
  size_t record = 0;
  bool taken = false;
};

struct Key {
  size_t group;
  std::optional<int> from;
  std::optional<int> to;
  std::optional<int64_t> bytes;
  auto operator<=>(const Key&) const = default;
};

struct Queues {
  std::vector<Side> sends;
  std::vector<Side> receives;
};

class MessageMatcher {
 public:
  MessageMatcher(std::span<const RankDigest> digests, bool aligned, Matching& matching)
      : digests_(digests), aligned_(aligned), matching_(matching) {}

  void run() {
    collect();
    for (auto& [key, queues] : queues_) {
      if (key.from && key.to) pair_in_order(key, queues);
    }
    for (auto& [key, queues] : queues_) {
      if (!key.from) pair_with_any(key, queues.receives);
    }
    for (const auto& [key, queues] : queues_) keep_rest(key, queues);
    sort_and_index();
  }

 private:
  [[nodiscard]] const CollectiveRecord& record(const Side& side) const {
    return digests_[side.digest].collectives[side.record];
  }

  // The peer is recorded by its number in the communicator.
  [[nodiscard]] std::optional<int> peer_of(size_t group, const CollectiveRecord& record) const {
    const std::vector<int>& members = matching_.groups[group].members;
    if (!record.peer || *record.peer < 0 || static_cast<size_t>(*record.peer) >= members.size())
      return std::nullopt;
    return members[static_cast<size_t>(*record.peer)];
  }

  void collect() {
    for (size_t d = 0; d < digests_.size(); ++d) {
      const std::vector<CollectiveRecord>& records = digests_[d].collectives;
      for (size_t i = 0; i < records.size(); ++i) {
        if (!is_point_to_point(records[i].function)) continue;
        const size_t group = matching_.group_of[d][records[i].communicator];
        const std::optional<int> peer = peer_of(group, records[i]);
        const int own = digests_[d].rank;
        if (records[i].function == Function::kSend) {
          queues_[{group, own, peer, records[i].bytes}].sends.push_back({d, i});
        } else {
          queues_[{group, peer, own, records[i].bytes}].receives.push_back({d, i});
        }
      }
    }
  }

  [[nodiscard]] bool can_be(const Side& send, const Side& receive) const {
    const std::optional<TraceNs> begin = record(send).arrival();
    const std::optional<TraceNs> end = record(receive).end;
    return !aligned_ || !begin || !end || *begin <= *end;
  }

  void pair_in_order(const Key& key, Queues& queues) {
    size_t next = 0;
    for (Side& receive : queues.receives) {
      if (next == queues.sends.size()) return;
      if (can_be(queues.sends[next], receive)) add(key.group, queues.sends[next++], receive);
    }
  }

  // Sends to that rank which no receive that names its peer has taken.
  void pair_with_any(const Key& key, std::vector<Side>& receives) {
    std::vector<Side*> left;
    for (auto& [other, queues] : queues_) {
      if (other.group != key.group || other.to != key.to || other.bytes != key.bytes) continue;
      for (Side& send : queues.sends) {
        if (!send.taken) left.push_back(&send);
      }
    }
    std::ranges::stable_sort(left, {}, [&](const Side* send) {
      return record(*send).arrival().value_or(TraceNs{INT64_MAX});
    });
    std::ranges::stable_sort(receives, {}, [&](const Side& receive) {
      return record(receive).end.value_or(TraceNs{INT64_MAX});
    });
    size_t next = 0;
    for (Side& receive : receives) {
      if (next == left.size()) return;
      if (can_be(*left[next], receive)) add(key.group, *left[next++], receive);
    }
  }

  void add(size_t group, Side& send, Side& receive) {
    send.taken = receive.taken = true;
    Message message{.group = group,
                    .send = Member{send.digest, send.record},
                    .receive = Member{receive.digest, receive.record},
                    .from = digests_[send.digest].rank,
                    .to = digests_[receive.digest].rank,
                    .bytes = record(send).bytes,
                    .transfer_ns = {}};
    divide(message, record(send), record(receive));
    matching_.messages.push_back(std::move(message));
  }

  // Nothing can be moved before both have come.
  void divide(Message& message, const CollectiveRecord& send,
              const CollectiveRecord& receive) const {
    if (!aligned_ || !send.start || !receive.start || !receive.end) return;
    const TraceNs both = std::max(*send.start, *receive.start);
    message.receive->wait_ns = (std::min(both, *receive.end) - *receive.start).ns;
    if (send.end) message.send->wait_ns = (std::min(both, *send.end) - *send.start).ns;
    message.transfer_ns = std::max<int64_t>(0, (*receive.end - both).ns);
  }

  void keep_rest(const Key& key, const Queues& queues) {
    const auto keep = [&](const std::vector<Side>& sides, std::optional<Member> Message::*side) {
      for (const Side& one : sides) {
        if (one.taken) continue;
        Message message{.group = key.group,
                        .send = {},
                        .receive = {},
                        .from = key.from,
                        .to = key.to,
                        .bytes = key.bytes,
                        .transfer_ns = {}};
        message.*side = Member{one.digest, one.record};
        matching_.messages.push_back(std::move(message));
      }
    };
    keep(queues.sends, &Message::send);
    keep(queues.receives, &Message::receive);
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
    for (size_t d = 0; d < digests_.size(); ++d)
      matching_.message_of[d].assign(digests_[d].collectives.size(), kNoInstance);
    for (size_t m = 0; m < messages.size(); ++m) {
      for (const std::optional<Member>& side : {messages[m].send, messages[m].receive}) {
        if (side) matching_.message_of[side->digest][side->record] = m;
      }
    }
  }

  std::span<const RankDigest> digests_;
  bool aligned_;
  Matching& matching_;
  std::map<Key, Queues> queues_;
};

}  // namespace

bool is_point_to_point(Function function) {
  return function == Function::kSend || function == Function::kRecv;
}

void match_messages(std::span<const RankDigest> digests, bool aligned, Matching& matching) {
  MessageMatcher(digests, aligned, matching).run();
}

}  // namespace dprof::analyzer
