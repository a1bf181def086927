// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/shared_links.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <tuple>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

// Share of the spread of transfers of a kind that must remain, or be added, to count as evidence.
constexpr double kClearlyLess = 0.8;
constexpr double kClearlyMore = 1.25;
constexpr size_t kFewestShared = 8;        // transfers that shared a link
constexpr double kShared = 1.02;           // times the duration alone
constexpr size_t kMostTransfers = 50'000;  // beyond, an answer would take too long
// Rounds until transfers and their shares agree; with many transfers fewer.
constexpr size_t kMostRounds = 64;
constexpr size_t kMostTransferRounds = 1'000'000;
constexpr double kSettledNs = 1'000;

// One transfer during the sweep over the links.
struct OnLinks {
  const std::vector<uint32_t>* links = nullptr;
  double begin = 0;
  double work = 0;  // remaining, in ns without sharing
  double end = 0;   // in: when work is asked for; out: when an end is
};

// Visits all begins and ends in order of time.
class LinkSweep {
 public:
  LinkSweep(std::vector<OnLinks>& all, size_t links, bool ends_known)
      : all_(all), ends_known_(ends_known), state_(all.size()), active_(links) {}

  void run() {
    std::vector<uint32_t> order(all_.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [this](uint32_t i) { return all_[i].begin; });
    for (const uint32_t next : order) {
      end_until(all_[next].begin);
      begin(next);
    }
    end_until(std::numeric_limits<double>::infinity());
  }

 private:
  struct State {
    double rate = 0;
    double since = 0;
    uint32_t version = 0;
    bool active = false;
  };
  struct End {
    double at = 0;
    uint32_t transfer = 0;
    uint32_t version = 0;
    bool operator>(const End& other) const {
      return std::tie(at, transfer) > std::tie(other.at, other.transfer);
    }
  };

  void begin(uint32_t i) {
    state_[i].since = all_[i].begin;
    state_[i].active = true;
    for (const uint32_t link : *all_[i].links) active_[link].push_back(i);
    if (ends_known_) {
      all_[i].work = 0;
      ends_.push({all_[i].end, i, 0});
    }
    settle(i, all_[i].begin);
  }

  void end_until(double at) {
    while (!ends_.empty() && ends_.top().at <= at) {
      const End end = ends_.top();
      ends_.pop();
      State& state = state_[end.transfer];
      if (!state.active || state.version != end.version) continue;
      state.active = false;
      OnLinks& one = all_[end.transfer];
      if (ends_known_) {
        one.work += (end.at - state.since) * state.rate;
      } else {
        one.end = end.at;
      }
      for (const uint32_t link : *one.links) std::erase(active_[link], end.transfer);
      settle(end.transfer, end.at);
    }
  }

  // Updates the shares of all transfers on a link of that transfer.
  void settle(uint32_t of, double at) {
    for (const uint32_t link : *all_[of].links) {
      for (const uint32_t i : active_[link]) share_again(i, at);
    }
  }

  void share_again(uint32_t i, double at) {
    size_t most = 1;
    for (const uint32_t link : *all_[i].links) most = std::max(most, active_[link].size());
    State& state = state_[i];
    const double rate = 1 / static_cast<double>(most);
    if (rate == state.rate) return;
    const double done = (at - state.since) * state.rate;
    state.rate = rate;
    state.since = at;
    if (ends_known_) {
      all_[i].work += done;
      return;
    }
    all_[i].work = std::max(0.0, all_[i].work - done);
    ends_.push({at + all_[i].work / rate, i, ++state.version});
  }

  std::vector<OnLinks>& all_;
  bool ends_known_;
  std::vector<State> state_;
  std::vector<std::vector<uint32_t>> active_;  // by link
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace

std::optional<SharedLinks> SharedLinks::of(const RunGraph& run, std::span<const RankDigest> digests,
                                           std::span<const size_t> ranks,
                                           std::span<const std::string> hosts) {
  if (hosts.size() != ranks.size() || std::ranges::count(hosts, std::string()) != 0)
    return std::nullopt;
  if (std::cmp_greater(run.meetings, kMostTransfers)) return std::nullopt;
  std::map<std::string_view, uint32_t> numbers;
  for (const std::string& host : hosts)
    numbers.try_emplace(host, static_cast<uint32_t>(numbers.size()));
  SharedLinks shared;
  const auto hosts_of_run = static_cast<uint32_t>(numbers.size());
  shared.links_ = size_t{2} * hosts_of_run;
  const std::vector<int64_t>& recorded = run.graph.durations();

  std::map<TaskId, size_t> of_meeting;
  std::vector<std::vector<uint32_t>> links;  // by transfer
  std::vector<std::pair<schema::Function, int64_t>> whats;
  for (const CallTask& call : run.calls) {
    const auto [known, is_new] = of_meeting.try_emplace(call.meet, shared.transfers_.size());
    if (is_new) {
      shared.transfers_.push_back({.carrier = call.body, .parts = {}});
      links.emplace_back();
      const CollectiveRecord& record = digests[ranks[call.entry]].collectives[call.record];
      const bool message =
          record.function == schema::Function::kSend || record.function == schema::Function::kRecv;
      const schema::Function function = record.function;
      whats.emplace_back(message ? schema::Function::kSend : function, record.bytes.value_or(-1));
    }
    Transfer& one = shared.transfers_[known->second];
    one.parts.push_back(call.body);
    if (recorded[call.body] > recorded[one.carrier]) one.carrier = call.body;
    const uint32_t host = numbers.at(hosts[call.entry]);
    std::vector<uint32_t>& over = links[known->second];
    if (std::ranges::count(over, host) == 0) over.push_back(host);
  }
  std::map<std::vector<uint32_t>, uint32_t> sets;
  // Function, bytes, links, members.
  std::map<std::tuple<schema::Function, int64_t, uint32_t, size_t>, size_t> kinds;
  for (size_t i = 0; i < links.size(); ++i) {
    std::ranges::sort(links[i]);
    if (links[i].size() == 1) links[i].front() += hosts_of_run;
    const auto set = sets.try_emplace(links[i], static_cast<uint32_t>(sets.size())).first;
    shared.transfers_[i].links = set->second;
    shared.transfers_[i].kind = kinds
                                    .try_emplace({whats[i].first, whats[i].second, set->second,
                                                  shared.transfers_[i].parts.size()},
                                                 kinds.size())
                                    .first->second;
  }
  shared.link_sets_.resize(sets.size());
  for (const auto& [set, number] : sets) shared.link_sets_[number] = set;
  shared.kinds_ = kinds.size();

  shared.reckon(recorded, run.graph.simulate(recorded, run.graph.lags()));
  const bool any = std::ranges::any_of(
      shared.transfers_, [](const Transfer& one) { return one.taken_ns > kShared * one.alone_ns; });
  if (!any) return std::nullopt;
  shared.evidence_ = shared.weigh();
  return shared;
}

void SharedLinks::reckon(std::span<const int64_t> durations, std::span<const int64_t> ends) {
  std::vector<OnLinks> all;
  all.reserve(transfers_.size());
  for (const Transfer& one : transfers_) {
    const auto end = static_cast<double>(ends[one.carrier]);
    all.push_back({.links = &link_sets_[one.links],
                   .begin = end - static_cast<double>(durations[one.carrier]),
                   .end = end});
  }
  LinkSweep(all, links_, true).run();
  for (size_t i = 0; i < all.size(); ++i) {
    transfers_[i].alone_ns = all[i].work;
    transfers_[i].taken_ns = all[i].end - all[i].begin;
  }
}

SharedLinks::Evidence SharedLinks::weigh() const {
  struct Lengths {
    std::vector<double> alone;
    std::vector<double> taken;
    size_t shared = 0;
  };
  std::vector<Lengths> of_kind(kinds_);
  for (const Transfer& one : transfers_) {
    if (one.alone_ns <= 0) continue;
    Lengths& lengths = of_kind[one.kind];
    lengths.alone.push_back(std::log(one.alone_ns));
    lengths.taken.push_back(std::log(one.taken_ns));
    lengths.shared += one.taken_ns > kShared * one.alone_ns ? 1 : 0;
  }
  const auto spread = [](const std::vector<double>& values) {
    const double middle = median(values);
    double sum = 0;
    for (const double value : values) sum += std::abs(value - middle);
    return sum;
  };
  double alone = 0;
  double taken = 0;
  size_t shared = 0;
  for (const Lengths& lengths : of_kind) {
    if (lengths.shared == 0) continue;
    shared += lengths.shared;
    alone += spread(lengths.alone);
    taken += spread(lengths.taken);
  }
  if (shared < kFewestShared) return Evidence::kNone;
  if (alone < kClearlyLess * taken) return Evidence::kFor;
  return alone > kClearlyMore * taken ? Evidence::kAgainst : Evidence::kNone;
}

std::vector<int64_t> SharedLinks::simulate(const TaskGraph& graph,
                                           std::span<const int64_t> durations,
                                           std::span<const int64_t> lags) const {
  std::vector<int64_t> now(durations.begin(), durations.end());
  std::vector<int64_t> ends = graph.simulate(now, lags);
  std::vector<OnLinks> all(transfers_.size());
  const size_t rounds =
      std::clamp<size_t>(kMostTransferRounds / std::max<size_t>(1, all.size()), 1, kMostRounds);
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < all.size(); ++i) {
      const Transfer& one = transfers_[i];
      const auto was = static_cast<double>(graph.durations()[one.carrier]);
      const auto asked = static_cast<double>(durations[one.carrier]);
      all[i] = {.links = &link_sets_[one.links],
                .begin = static_cast<double>(ends[one.carrier] - now[one.carrier]),
                .work = was > 0 ? one.alone_ns * asked / was : asked};
    }
    std::vector<double> works;
    works.reserve(all.size());
    for (const OnLinks& one : all) works.push_back(one.work);
    LinkSweep(all, links_, false).run();
    double most = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const Transfer& one = transfers_[i];
      if (works[i] <= 0 || one.taken_ns <= 0) continue;
      const double stretch = (all[i].end - all[i].begin) / works[i] / (one.taken_ns / one.alone_ns);
      const double carried = static_cast<double>(durations[one.carrier]) * stretch;
      const double moved = std::abs(carried - static_cast<double>(now[one.carrier]));
      if (moved < 1) continue;  // only rounding
      most = std::max(most, moved);
      for (const TaskId part : one.parts)
        now[part] = std::llround(static_cast<double>(durations[part]) * stretch);
    }
    if (most == 0) break;
    ends = graph.simulate(now, lags);
    if (most < kSettledNs) break;
  }
  return ends;
}

std::vector<int64_t> simulate(const TaskGraph& graph, const SharedLinks* links,
                              std::span<const int64_t> durations, std::span<const int64_t> lags,
                              bool shared) {
  if (links != nullptr && (shared || links->evidence() == SharedLinks::Evidence::kFor))
    return links->simulate(graph, durations, lags);
  return graph.simulate(durations, lags);
}

}  // namespace dprof::analyzer
