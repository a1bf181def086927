// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/evidence.h"

#include <algorithm>

namespace dprof::analyzer {
namespace {

constexpr size_t kMostRows = 20;

class Gatherer {
 public:
  Gatherer(const EvidenceInput& input, schema::Marker phase) : in_(input), phase_(phase) {}

  void add_phase(size_t entry, const std::vector<size_t>& when) {
    Evidence one{.rank = digest(entry).rank, .table = "host_range", .rows = {}};
    Interval whole{{INT64_MAX}, {INT64_MIN}};
    const auto widen = [&](Interval span) {
      whole.begin = std::min(whole.begin, span.begin);
      whole.end = std::max(whole.end, span.end);
    };
    const std::vector<PhaseRange>& phases = digest(entry).phases;
    for (const size_t step : when) {
      const Interval window = in_.steps.steps[in_.work.steps[step]].windows[entry];
      bool found = false;
      auto next = std::ranges::lower_bound(phases, window.begin, {},
                                           [](const PhaseRange& p) { return p.span.begin; });
      for (; next != phases.end() && next->span.begin < window.end; ++next) {
        if (phase_ == schema::Marker::kNone || next->marker != phase_ || next->row == 0) continue;
        if (one.rows.size() < kMostRows) one.rows.push_back(next->row);
        widen(next->span);
        found = true;
      }
      if (!found) widen(window);
    }
    if (one.rows.empty()) one.table = "step";
    one.start_ns = whole.begin.ns;
    one.end_ns = whole.end.ns;
    evidence.push_back(std::move(one));
  }

  // The collective of that step in which another rank waited longest.
  void add_waiting(size_t culprit, size_t step) {
    const int64_t index = in_.steps.steps[in_.work.steps[step]].index;
    const Member* longest = nullptr;
    for (const Instance& instance : in_.matching.instances) {
      if (instance.step != index || !instance.comparable) continue;
      for (const Member& member : instance.members) {
        if (member.digest == in_.steps.ranks[culprit]) continue;
        if (longest == nullptr || member.wait_ns > longest->wait_ns) longest = &member;
      }
    }
    if (longest == nullptr) return;
    const RankDigest& victim = in_.digests[longest->digest];
    const CollectiveRecord& record = victim.collectives[longest->record];
    if (!record.start || !record.end) return;
    evidence.push_back({.rank = victim.rank,
                        .table = "collective",
                        .rows = {record.row},
                        .start_ns = record.start->ns,
                        .end_ns = record.end->ns});
  }

  std::vector<Evidence> evidence;

 private:
  [[nodiscard]] const RankDigest& digest(size_t entry) const {
    return in_.digests[in_.steps.ranks[entry]];
  }

  const EvidenceInput& in_;
  schema::Marker phase_;
};

}  // namespace

std::vector<Evidence> evidence_of(const EvidenceInput& input, const Suspect& suspect,
                                  schema::Marker phase) {
  if (suspect.when.empty()) return {};
  std::vector<size_t> by_excess = suspect.when;
  std::ranges::sort(by_excess, {}, [&](size_t s) { return suspect.excess_ns[s]; });
  const size_t typical = by_excess[by_excess.size() / 2];
  const size_t entry =
      suspect.rank ? *suspect.rank : std::ranges::find(suspect.turns, typical, &Turn::step)->rank;
  Gatherer gatherer(input, phase);
  gatherer.add_phase(entry, {typical});
  gatherer.add_waiting(entry, typical);
  if (suspect.rank) {
    std::vector<size_t> most_expensive(by_excess.rbegin(), by_excess.rend());
    most_expensive.resize(std::min(most_expensive.size(), kMostRows));
    std::ranges::sort(most_expensive);
    gatherer.add_phase(entry, most_expensive);
  }
  return std::move(gatherer.evidence);
}

}  // namespace dprof::analyzer
