// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/pair_map.h"

#include <algorithm>
#include <map>
#include <set>

#include "gui/view/figures/collective_groups.h"

namespace dprof::view {
namespace {

using analyzer::CommunicatorMatrix;
using analyzer::PairTraffic;
using analyzer::PairWait;
using analyzer::RankPair;

bool shows(const PairChoice& choice, std::string_view communicator) {
  return choice.communicator.empty() || choice.communicator == communicator ||
         choice.communicator == family_of(communicator);
}

// Traffic and waits of the chosen communicators, summed.
struct Sums {
  std::map<RankPair, PairTraffic> traffic;
  std::map<RankPair, PairWait> waits;

  void add(const CommunicatorMatrix& matrix) {
    for (const PairTraffic& one : matrix.traffic) {
      PairTraffic& sum = traffic[one.pair];
      sum.messages += one.messages;
      sum.bytes += one.bytes;
      sum.without_size += one.without_size;
      sum.timed += one.timed;
      sum.timed_bytes += one.timed_bytes;
      sum.timed_ns += one.timed_ns;
    }
    for (const PairWait& one : matrix.waits) {
      PairWait& sum = waits[one.pair];
      sum.times += one.times;
      sum.ns += one.ns;
    }
  }
};

// nullopt = unknown for this pair.
std::optional<double> pair_figure(const PairTraffic& traffic, PairMeasure measure) {
  switch (measure) {
    case PairMeasure::kBytes:
      if (traffic.without_size == traffic.messages) return std::nullopt;
      return static_cast<double>(traffic.bytes);
    case PairMeasure::kTransfer:
      if (traffic.timed == 0) return std::nullopt;
      return static_cast<double>(traffic.timed_ns);
    case PairMeasure::kBandwidth:
      return traffic.bandwidth();
    case PairMeasure::kMessages:
      return static_cast<double>(traffic.messages);
    case PairMeasure::kWait:
      break;
  }
  return std::nullopt;
}

// Messages missing from a pair's figure.
int64_t left_out(const PairTraffic& traffic, PairMeasure measure) {
  if (measure == PairMeasure::kBytes) return traffic.without_size;
  if (measure == PairMeasure::kMessages) return 0;
  return traffic.messages - traffic.timed;
}

void fill_cells(const Sums& sums, PairMeasure measure, PairMap& map) {
  if (measure == PairMeasure::kWait) {
    for (const auto& [pair, waits] : sums.waits)
      map.cells.push_back({pair, static_cast<double>(waits.ns), waits.times});
    return;
  }
  for (const auto& [pair, traffic] : sums.traffic) {
    map.without_figure += left_out(traffic, measure);
    if (const auto figure = pair_figure(traffic, measure))
      map.cells.push_back({pair, *figure, traffic.messages});
  }
}

}  // namespace

std::optional<size_t> PairMap::index_of(int rank) const {
  const auto at = std::ranges::lower_bound(ranks, rank);
  if (at == ranks.end() || *at != rank) return std::nullopt;
  return static_cast<size_t>(at - ranks.begin());
}

PairMap pair_map(const Model& model, const PairChoice& choice) {
  PairMap map;
  Sums sums;
  std::set<int> ranks;
  for (const RankModel& rank : model.ranks) ranks.insert(rank.rank);
  for (const CommunicatorMatrix& matrix : model.matrices) {
    if (!shows(choice, matrix.communicator)) continue;
    sums.add(matrix);
    map.not_compared += matrix.not_compared;
    map.unknown_peer += matrix.unknown_peer;
  }
  fill_cells(sums, choice.measure, map);
  for (const PairCell& cell : map.cells) {
    ranks.insert(cell.pair.rank);
    ranks.insert(cell.pair.peer);
  }
  map.ranks.assign(ranks.begin(), ranks.end());
  std::ranges::stable_sort(map.cells, std::greater{}, &PairCell::value);
  return map;
}

std::vector<PairFlow> flows_of(const PairMap& map) {
  std::map<int, PairFlow> by_peer;
  for (const PairCell& cell : map.cells) {  // the highest first
    PairFlow& flow = by_peer[cell.pair.peer];
    if (flow.ranks == 0) flow = {.peer = cell.pair.peer, .most = cell.pair};
    ++flow.ranks;
    flow.value += cell.value;
    flow.count += cell.count;
  }
  std::vector<PairFlow> flows;
  for (const auto& [peer, flow] : by_peer) flows.push_back(flow);
  std::ranges::stable_sort(flows, std::greater{}, &PairFlow::value);
  return flows;
}

PairExample example_of(const Model& model, const PairChoice& choice, RankPair pair) {
  PairExample example;
  int64_t most = 0;
  const auto consider = [&](int64_t ns, PairExample of) {
    if (ns <= most) return;
    most = ns;
    example = of;
  };
  const bool waits = choice.measure == PairMeasure::kWait;
  for (uint32_t c = 0; waits && c < model.collectives.size(); ++c) {
    const analyzer::MatchedCollective& one = model.collectives[c];
    if (one.last_arriver != pair.peer || !shows(choice, one.communicator)) continue;
    for (const analyzer::CollectiveMember& member : one.members) {
      if (member.rank == pair.rank) consider(member.wait_ns, {.collective = c, .message = {}});
    }
  }
  for (uint32_t m = 0; m < model.messages.size(); ++m) {
    const analyzer::MatchedMessage& one = model.messages[m];
    if (!shows(choice, one.communicator)) continue;
    const PairExample here{.collective = {}, .message = m};
    if (!waits) {
      if (one.from == pair.rank && one.to == pair.peer)
        consider(one.transfer_ns.value_or(0) + 1, here);
    } else if (one.from == pair.rank && one.to == pair.peer && one.send) {
      consider(one.send->wait_ns, here);
    } else if (one.to == pair.rank && one.from == pair.peer && one.receive) {
      consider(one.receive->wait_ns, here);
    }
  }
  return example;
}

}  // namespace dprof::view
