// SPDX-License-Identifier: Apache-2.0
#include "analyzer/waits/wait.h"

#include <algorithm>

#include "analyzer/match/match.h"
#include "base/interval.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using schema::Function;

// Up to this part of the transfer a spread of the ends is ignored: the transfer is then off by half
// of the spread.
constexpr int64_t kSmallSpreadParts = 20;

CollectiveRecord record_of(std::span<const RankDigest> digests, const Member& member) {
  return digests[member.digest].collectives[member.record];
}

class Divider {
 public:
  Divider(Instance& instance, std::span<const RankDigest> digests, const Alignment& alignment)
      : instance_(instance), alignment_(alignment) {
    stays_.reserve(instance.members.size());
    for (const Member& member : instance.members) {
      const CollectiveRecord& record = record_of(digests, member);
      stays_.push_back({*record.start, *record.end});
    }
  }

  void divide_synchronising() {
    const size_t last = last_by([](const Interval& stay) { return stay.begin; });
    const std::optional<int64_t> bound = bound_from(last);
    const int64_t shortest = length(shortest_stay());
    if (bound) instance_.spread_ns = spread();
    if (bound && !is_small(*instance_.spread_ns, shortest) && *instance_.spread_ns > *bound &&
        is_possible(last, *bound)) {
      by_starts(last, *bound);
    } else {
      by_shortest_stay();
    }
    name_last_arriver(last, bound);
  }

  // The root's data cannot arrive before the root does.
  void divide_from_root(size_t root, int64_t bound) {
    for (size_t i = 0; i < stays_.size(); ++i) {
      Member& member = instance_.members[i];
      if (i != root) member.wait_ns = wait_until(stays_[root].begin, i);
      instance_.transfer_ns = std::max(instance_.transfer_ns, length(i) - member.wait_ns);
      if (member.wait_ns > bound) instance_.last_arriver = root;
    }
    note_clocks(bound);
  }

  // The root cannot finish before the last member has arrived.
  void divide_to_root(size_t root, int64_t bound) {
    const size_t last = last_by([](const Interval& stay) { return stay.begin; });
    Member& at_root = instance_.members[root];
    at_root.wait_ns = wait_until(stays_[last].begin, root);
    instance_.transfer_ns = length(root) - at_root.wait_ns;
    if (last == root || at_root.wait_ns > bound) instance_.last_arriver = last;
    note_clocks(bound);
  }

  void guess() {
    by_shortest_stay();
    instance_.guessed = true;
  }

  // The largest bound of a difference between this member and another; nullopt = unknown.
  [[nodiscard]] std::optional<int64_t> bound_from(size_t from) const {
    int64_t largest = 0;
    for (size_t i = 0; i < stays_.size(); ++i) {
      if (i == from) continue;
      const std::optional<int64_t> bound = bound_between(from, i);
      if (!bound) return std::nullopt;
      largest = std::max(largest, *bound);
    }
    return largest;
  }

 private:
  [[nodiscard]] int64_t length(size_t i) const { return stays_[i].length().ns; }

  [[nodiscard]] std::optional<int64_t> bound_between(size_t a, size_t b) const {
    return alignment_.bound_between(instance_.members[a].digest, stays_[a].begin,
                                    instance_.members[b].digest, stays_[b].begin);
  }

  template <typename Key>
  [[nodiscard]] size_t last_by(Key key) const {
    return static_cast<size_t>(std::ranges::max_element(stays_, {}, key) - stays_.begin());
  }

  [[nodiscard]] size_t shortest_stay() const {
    return static_cast<size_t>(std::ranges::min_element(stays_, {}, &Interval::length) -
                               stays_.begin());
  }

  [[nodiscard]] int64_t spread() const {
    const auto [first, last] = std::ranges::minmax_element(stays_, {}, &Interval::end);
    return (last->end - first->end).ns;
  }

  static bool is_small(int64_t spread, int64_t transfer) {
    return spread <= transfer / kSmallSpreadParts;
  }

  // No member ends before all have begun. If this is violated by more than the clocks' bound, the
  // clocks or the records are wrong.
  [[nodiscard]] bool is_possible(size_t last, int64_t bound) const {
    return std::ranges::all_of(
        stays_, [&](const Interval& stay) { return (stays_[last].begin - stay.end).ns <= bound; });
  }

  [[nodiscard]] int64_t wait_until(TraceNs arrival, size_t i) const {
    return std::clamp<int64_t>((arrival - stays_[i].begin).ns, 0, length(i));
  }

  void by_shortest_stay() {
    const size_t shortest = shortest_stay();
    instance_.transfer_ns = length(shortest);
    for (size_t i = 0; i < stays_.size(); ++i)
      instance_.members[i].wait_ns = length(i) - instance_.transfer_ns;
  }

  // Members end one after the other: the transfer is that of the middle one.
  void by_starts(size_t last, int64_t bound) {
    std::vector<int64_t> transfers;
    transfers.reserve(stays_.size());
    for (size_t i = 0; i < stays_.size(); ++i) {
      instance_.members[i].wait_ns = wait_until(stays_[last].begin, i);
      transfers.push_back(length(i) - instance_.members[i].wait_ns);
    }
    instance_.transfer_ns = median_ns(std::move(transfers));
    note_clocks(bound);
  }

  void note_clocks(int64_t bound) {
    instance_.spread_ns = spread();
    instance_.bound_ns = bound;
  }

  // Only a rank that came later than every other by more than the possible error.
  void name_last_arriver(size_t last, const std::optional<int64_t>& bound) {
    if (bound && leads(last, *bound, [](const Interval& stay) { return stay.begin.ns; })) {
      instance_.last_arriver = last;
      return;
    }
    if (bound == 0) return;  // one clock: the starts are the best evidence
    const size_t shortest = shortest_stay();
    if (leads(shortest, instance_.spread_ns.value_or(0),
              [](const Interval& stay) { return -stay.length().ns; }))
      instance_.last_arriver = shortest;
  }

  template <typename Key>
  [[nodiscard]] bool leads(size_t leader, int64_t margin, Key key) const {
    for (size_t i = 0; i < stays_.size(); ++i) {
      if (i != leader && key(stays_[leader]) - key(stays_[i]) <= margin) return false;
    }
    return true;
  }

  Instance& instance_;
  const Alignment& alignment_;
  std::vector<Interval> stays_;  // by member
};

// Position of the root among the recorded members.
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

}  // namespace

void divide(Instance& instance, std::span<const RankDigest> digests, const Group& group,
            const Alignment& alignment) {
  Divider divider(instance, digests, alignment);
  if (is_synchronising(instance.function)) return divider.divide_synchronising();
  const std::optional<size_t> root = root_of(instance, digests, group);
  const std::optional<int64_t> bound = root ? divider.bound_from(*root) : std::optional<int64_t>();
  if (!bound) return divider.guess();
  if (instance.function == Function::kReduce || instance.function == Function::kGather)
    return divider.divide_to_root(*root, *bound);
  divider.divide_from_root(*root, *bound);
}

void divide(Message& message, std::span<const RankDigest> digests, const Alignment& alignment) {
  const CollectiveRecord& send = record_of(digests, *message.send);
  const CollectiveRecord& receive = record_of(digests, *message.receive);
  if (!send.start || !receive.start || !receive.end) return;
  message.bound_ns = alignment.bound_between(message.send->digest, *send.start,
                                             message.receive->digest, *receive.start);
  if (!message.bound_ns) return;
  const TraceNs both = std::max(*send.start, *receive.start);
  message.receive->wait_ns = (std::min(both, *receive.end) - *receive.start).ns;
  if (send.end)
    message.send->wait_ns = std::max<int64_t>(0, (std::min(both, *send.end) - *send.start).ns);
  message.transfer_ns = std::max<int64_t>(0, (*receive.end - both).ns);
}

}  // namespace dprof::analyzer
