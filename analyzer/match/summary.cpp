// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using schema::Function;

// Sizes as nccl-tests counts them: what `bytes` of one rank's input means for n ranks.
double moved_bytes(Function function, int64_t bytes, size_t n) {
  const auto input = static_cast<double>(bytes);
  if (function == Function::kAllGather || function == Function::kGather)
    return input * static_cast<double>(n);
  return input;
}

double bus_factor(Function function, size_t ranks) {
  const auto n = static_cast<double>(ranks);
  switch (function) {
    case Function::kAllReduce:
      return 2 * (n - 1) / n;
    case Function::kReduceScatter:
    case Function::kAllGather:
    case Function::kAllToAll:
    case Function::kGather:
    case Function::kScatter:
      return (n - 1) / n;
    default:
      return 1;
  }
}

struct Kind {
  std::string communicator;
  Function function;
  std::optional<int64_t> bytes;
  size_t group;
  auto operator<=>(const Kind&) const = default;
};

struct Samples {
  std::vector<int64_t> transfers;
  std::vector<int64_t> waits;
  std::map<int, int64_t> last;  // by rank
};

CollectiveSummary summary_of(const Kind& kind, const Samples& samples, size_t members) {
  CollectiveSummary summary{.communicator = kind.communicator,
                            .function = kind.function,
                            .bytes = kind.bytes,
                            .n = static_cast<int64_t>(samples.transfers.size()),
                            .transfer_ns = median_ns(samples.transfers),
                            .wait_ns = median_ns(samples.waits),
                            .algbw = {},
                            .busbw = {},
                            .last_arriver = {}};
  if (kind.bytes && *kind.bytes > 0 && summary.transfer_ns > 0 && members > 0) {
    const double seconds =
        static_cast<double>(summary.transfer_ns) / static_cast<double>(kNsPerSecond);
    summary.algbw = moved_bytes(kind.function, *kind.bytes, members) / seconds;
    summary.busbw = *summary.algbw * bus_factor(kind.function, members);
  }
  const auto often =
      std::ranges::max_element(samples.last, {}, [](const auto& entry) { return entry.second; });
  if (often != samples.last.end()) {
    summary.last_arriver = LastArriver{
        often->first, static_cast<double>(often->second) / static_cast<double>(summary.n)};
  }
  return summary;
}

}  // namespace

std::vector<CollectiveSummary> summarise(std::span<const RankDigest> digests,
                                         const Matching& matching) {
  std::map<Kind, Samples> kinds;
  for (const Instance& instance : matching.instances) {
    if (!instance.comparable) continue;
    Samples& samples = kinds[{matching.groups[instance.group].name, instance.function,
                              instance.bytes, instance.group}];
    samples.transfers.push_back(instance.transfer_ns);
    int64_t longest = 0;
    for (const Member& member : instance.members) longest = std::max(longest, member.wait_ns);
    samples.waits.push_back(longest);
    if (instance.last_arriver)
      ++samples.last[digests[instance.members[*instance.last_arriver].digest].rank];
  }
  std::vector<CollectiveSummary> summaries;
  for (const auto& [kind, samples] : kinds)
    summaries.push_back(summary_of(kind, samples, matching.groups[kind.group].members.size()));
  return summaries;
}

std::vector<MatchedCollective> matched_collectives(std::span<const RankDigest> digests,
                                                   const Matching& matching) {
  std::vector<MatchedCollective> all;
  all.reserve(matching.instances.size());
  for (const Instance& instance : matching.instances) {
    MatchedCollective one{.communicator = matching.groups[instance.group].name,
                          .function = instance.function,
                          .sequence = instance.sequence,
                          .bytes = instance.bytes,
                          .complete = instance.state == MatchState::kMatched,
                          .transfer_ns = instance.transfer_ns,
                          .last_arriver = {},
                          .members = {}};
    for (const Member& member : instance.members) {
      const CollectiveRecord& record = digests[member.digest].collectives[member.record];
      one.members.push_back({.rank = digests[member.digest].rank,
                             .row = record.row,
                             .enqueue = record.enqueue,
                             .start = record.start,
                             .end = record.end,
                             .wait_ns = member.wait_ns});
    }
    if (instance.comparable && instance.last_arriver)
      one.last_arriver = one.members[*instance.last_arriver].rank;
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<Diagnostic> match_diagnostics(std::span<const RankDigest> digests,
                                          const Matching& matching) {
  std::vector<Diagnostic> diagnostics;
  const auto count = [&](MatchState state) { return matching.count[static_cast<size_t>(state)]; };
  const int64_t unmatched =
      static_cast<int64_t>(matching.instances.size()) - count(MatchState::kMatched);
  if (matching.instances.empty()) {
    diagnostics.push_back(make_diagnostic(
        "no_collectives", fmt::format("0 collectives in {} traces", digests.size())));
  }
  if (unmatched > 0) {
    diagnostics.push_back(make_diagnostic(
        "unmatched_collectives",
        fmt::format(
            "of {} collectives {} are cut off, {} miss a rank, {} differ between ranks, {} never "
            "finished",
            matching.instances.size(), count(MatchState::kTruncated), count(MatchState::kMissing),
            count(MatchState::kMismatch), count(MatchState::kInFlight)),
        unmatched));
  }
  if (matching.point_to_point > 0) {
    diagnostics.push_back(make_diagnostic(
        "not_computed",
        fmt::format(
            "{} sends and receives are not matched with each other; their time counts as transfer",
            matching.point_to_point),
        matching.point_to_point));
  }
  for (const RankDigest& digest : digests) {
    if (!digest.sequences_inferred) continue;
    diagnostics.push_back(make_diagnostic(
        "unmatched_collectives",
        fmt::format("rank {}: some collectives have no sequence number; they are matched by order",
                    digest.rank)));
  }
  return diagnostics;
}

}  // namespace dprof::analyzer
