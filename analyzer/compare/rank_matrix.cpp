// SPDX-License-Identifier: Apache-2.0
#include "analyzer/compare/rank_matrix.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace dprof::analyzer {
namespace {

// One communicator's pairs while they are added up.
class Sums {
 public:
  void add(const MatchedCollective& collective) {
    if (!collective.last_arriver) {
      ++unknown_last_;
      return;
    }
    for (const CollectiveMember& member : collective.members) {
      if (member.rank != *collective.last_arriver)
        wait({member.rank, *collective.last_arriver}, member.wait_ns);
    }
  }

  void add(const MatchedMessage& message) {
    if (!message.from || !message.to) {
      ++unknown_peer_;
      return;
    }
    const RankPair pair{*message.from, *message.to};
    PairTraffic& traffic = traffic_[pair];
    ++traffic.messages;
    traffic.bytes += message.bytes.value_or(0);
    if (!message.bytes) ++traffic.without_size;
    if (!message.transfer_ns) return;
    if (message.bytes) {
      ++traffic.timed;
      traffic.timed_bytes += *message.bytes;
      traffic.timed_ns += *message.transfer_ns;
    }
    if (message.receive) wait({pair.peer, pair.rank}, message.receive->wait_ns);
    if (message.send) wait(pair, message.send->wait_ns);
  }

  [[nodiscard]] CommunicatorMatrix matrix(std::string_view name) && {
    CommunicatorMatrix matrix{.communicator = std::string(name),
                              .traffic = {},
                              .waits = {},
                              .unknown_peer = unknown_peer_,
                              .not_compared = unknown_last_};
    for (auto& [pair, traffic] : traffic_) {
      traffic.pair = pair;
      matrix.traffic.push_back(traffic);
    }
    for (auto& [pair, waits] : waits_) {
      waits.pair = pair;
      matrix.waits.push_back(waits);
    }
    return matrix;
  }

 private:
  void wait(RankPair pair, int64_t ns) {
    if (ns <= 0) return;
    PairWait& waits = waits_[pair];
    ++waits.times;
    waits.ns += ns;
    waits.longest_ns = std::max(waits.longest_ns, ns);
  }

  std::map<RankPair, PairTraffic> traffic_;
  std::map<RankPair, PairWait> waits_;
  int64_t unknown_peer_ = 0;
  int64_t unknown_last_ = 0;
};

}  // namespace

std::optional<double> PairTraffic::bandwidth() const {
  if (timed_ns <= 0) return std::nullopt;
  return static_cast<double>(timed_bytes) / static_cast<double>(timed_ns) * 1e9;
}

std::vector<CommunicatorMatrix> rank_matrices(std::span<const MatchedCollective> collectives,
                                              std::span<const MatchedMessage> messages) {
  std::map<std::string_view, Sums> sums;
  for (const MatchedCollective& collective : collectives)
    sums[collective.communicator].add(collective);
  for (const MatchedMessage& message : messages) sums[message.communicator].add(message);
  std::vector<CommunicatorMatrix> matrices;
  for (auto& [name, of] : sums) matrices.push_back(std::move(of).matrix(name));
  return matrices;
}

}  // namespace dprof::analyzer
