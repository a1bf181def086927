// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzer/breakdown/bandwidth.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using schema::Function;

struct CollectiveKind {
  std::string communicator;
  Function function;
  std::optional<int64_t> bytes;
  size_t group;
  auto operator<=>(const CollectiveKind&) const = default;
};

struct Samples {
  std::vector<int64_t> transfers;
  std::vector<int64_t> waits;
  std::vector<int64_t> stays;  // means over the members
  std::vector<int64_t> spreads;
  std::vector<double> busbws;
  std::optional<double> size;  // of the first instance with a size
  std::optional<int64_t> bound_ns;
  std::map<int, int64_t> last;  // by rank
  StepCount in_steps;
};

// Collectives of which the same bandwidth can be expected: size classes are a quarter of an octave
// wide.
struct Comparable {
  Function function;
  size_t ranks;
  int64_t size_class;
  auto operator<=>(const Comparable&) const = default;
};

constexpr size_t kFewestOfClass = 5;

struct MessageFlow {
  std::string communicator;
  std::optional<int> from;
  std::optional<int> to;
  std::optional<int64_t> bytes;
  size_t group;
  auto operator<=>(const MessageFlow&) const = default;
};

struct MessageSamples {
  std::vector<int64_t> transfers;
  std::vector<int64_t> waits;
  std::vector<int64_t> send_waits;
  std::optional<int64_t> bound_ns;
  int64_t n = 0;
  int64_t unmatched_sends = 0;
  int64_t unmatched_receives = 0;
  StepCount in_steps;
};

CollectiveSummary summary_of(const CollectiveKind& kind, const Samples& samples, size_t members,
                             size_t steady) {
  CollectiveSummary summary{.communicator = kind.communicator,
                            .function = kind.function,
                            .bytes = kind.bytes,
                            .n = static_cast<int64_t>(samples.transfers.size()),
                            .transfer_ns = median_ns(samples.transfers),
                            .wait_ns = median_ns(samples.waits),
                            .algbw = {},
                            .busbw = {},
                            .last_arriver = {},
                            .per_step = samples.in_steps.median_of(steady),
                            .group = static_cast<int64_t>(kind.group)};
  summary.bound_ns = samples.bound_ns;
  if (!samples.spreads.empty()) summary.spread_ns = median_ns(samples.spreads);
  const double size = samples.size.value_or(0);
  if (const auto found = bandwidth_of(kind.function, size, members, summary.transfer_ns)) {
    summary.algbw = found->algbw;
    summary.busbw = found->busbw;
    const auto apparent = bandwidth_of(kind.function, size, members, median_ns(samples.stays));
    if (apparent) summary.apparent_busbw = apparent->busbw;
  }
  const auto often =
      std::ranges::max_element(samples.last, {}, [](const auto& entry) { return entry.second; });
  if (often != samples.last.end()) {
    summary.last_arriver = LastArriver{
        often->first, static_cast<double>(often->second) / static_cast<double>(summary.n)};
  }
  return summary;
}

CollectiveMember part_of(const Member& member, std::span<const RankDigest> digests) {
  const CollectiveRecord& record = digests[member.digest].collectives[member.record];
  return {.rank = digests[member.digest].rank,
          .row = record.row,
          .enqueue = record.enqueue,
          .start = record.start,
          .end = record.end,
          .wait_ns = member.wait_ns};
}

void raise(std::optional<int64_t>& largest, const std::optional<int64_t>& value) {
  if (value) largest = std::max(largest.value_or(0), *value);
}

void add_instance(Samples& samples, const Instance& instance, std::span<const RankDigest> digests,
                  size_t ranks) {
  samples.transfers.push_back(instance.transfer_ns);
  int64_t longest = 0;
  int64_t stays = 0;
  for (const Member& member : instance.members) {
    const CollectiveRecord& record = digests[member.digest].collectives[member.record];
    longest = std::max(longest, member.wait_ns);
    stays += (*record.end - *record.start).ns;
  }
  samples.waits.push_back(longest);
  samples.stays.push_back(stays / static_cast<int64_t>(instance.members.size()));
  if (instance.spread_ns) samples.spreads.push_back(*instance.spread_ns);
  raise(samples.bound_ns, instance.bound_ns);
  if (instance.last_arriver)
    ++samples.last[digests[instance.members[*instance.last_arriver].digest].rank];
  const std::optional<double> size = size_of(instance, digests, ranks);
  if (!size) return;
  if (!samples.size) samples.size = size;
  if (const auto found = bandwidth_of(instance.function, *size, ranks, instance.transfer_ns))
    samples.busbws.push_back(found->busbw);
}

size_t ranks_of(const Group& group) {
  return std::max(group.members.size(), static_cast<size_t>(std::max<int64_t>(0, group.size)));
}

std::optional<Comparable> comparable_of(const CollectiveKind& kind, const Samples& samples,
                                        size_t ranks) {
  if (!samples.size || *samples.size <= 0) return std::nullopt;
  return Comparable{kind.function, ranks,
                    static_cast<int64_t>(std::floor(4 * std::log2(*samples.size)))};
}

}  // namespace

std::vector<CollectiveSummary> summarise(std::span<const RankDigest> digests,
                                         const Matching& matching, const StepsByTime& steps) {
  std::map<CollectiveKind, Samples> kinds;
  for (const Instance& instance : matching.instances) {
    if (!instance.comparable) continue;
    Samples& samples = kinds[{matching.groups[instance.group].name, instance.function,
                              instance.bytes, instance.group}];
    add_instance(samples, instance, digests, ranks_of(matching.groups[instance.group]));
    samples.in_steps.add(steps.of(instance, digests));
  }
  std::map<Comparable, std::vector<double>> classes;
  for (const auto& [kind, samples] : kinds) {
    const auto entry = comparable_of(kind, samples, ranks_of(matching.groups[kind.group]));
    if (!entry) continue;
    std::vector<double>& all = classes[*entry];
    all.insert(all.end(), samples.busbws.begin(), samples.busbws.end());
  }
  std::map<Comparable, double> best;
  for (auto& [entry, busbws] : classes) {
    if (busbws.size() >= kFewestOfClass) best[entry] = quantile(std::move(busbws), 0.95);
  }
  std::vector<CollectiveSummary> summaries;
  for (const auto& [kind, samples] : kinds) {
    summaries.push_back(
        summary_of(kind, samples, ranks_of(matching.groups[kind.group]), steps.count()));
    const auto entry = comparable_of(kind, samples, ranks_of(matching.groups[kind.group]));
    if (!entry || !summaries.back().busbw) continue;
    if (const auto found = best.find(*entry); found != best.end())
      summaries.back().efficiency = *summaries.back().busbw / found->second;
  }
  return summaries;
}

std::vector<PointToPoint> summarise_messages(std::span<const RankDigest> digests,
                                             const Matching& matching, const StepsByTime& steps) {
  std::map<MessageFlow, MessageSamples> flows;
  for (const Message& message : matching.messages) {
    MessageSamples& samples = flows[{matching.groups[message.group].name, message.from, message.to,
                                     message.bytes, message.group}];
    samples.in_steps.add(steps.of(message, digests));
    if (message.send && message.receive) {
      ++samples.n;
    } else {
      ++(message.send ? samples.unmatched_sends : samples.unmatched_receives);
    }
    if (!message.transfer_ns) continue;
    samples.transfers.push_back(*message.transfer_ns);
    samples.waits.push_back(message.receive->wait_ns);
    samples.send_waits.push_back(message.send->wait_ns);
    raise(samples.bound_ns, message.bound_ns);
  }
  std::vector<PointToPoint> summaries;
  for (const auto& [flow, samples] : flows) {
    PointToPoint one{.communicator = flow.communicator,
                     .from = flow.from,
                     .to = flow.to,
                     .bytes = flow.bytes,
                     .n = samples.n,
                     .per_step = samples.in_steps.median_of(steps.count()),
                     .transfer_ns = {},
                     .wait_ns = {},
                     .unmatched_sends = samples.unmatched_sends,
                     .unmatched_receives = samples.unmatched_receives};
    if (!samples.transfers.empty()) {
      one.transfer_ns = median_ns(samples.transfers);
      one.wait_ns = median_ns(samples.waits);
      one.send_wait_ns = median_ns(samples.send_waits);
      one.bound_ns = samples.bound_ns;
    }
    summaries.push_back(std::move(one));
  }
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
    for (const Member& member : instance.members) one.members.push_back(part_of(member, digests));
    if (instance.comparable && instance.last_arriver)
      one.last_arriver = one.members[*instance.last_arriver].rank;
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<MatchedMessage> matched_messages(std::span<const RankDigest> digests,
                                             const Matching& matching) {
  std::vector<MatchedMessage> all;
  all.reserve(matching.messages.size());
  for (const Message& message : matching.messages) {
    MatchedMessage one{.communicator = matching.groups[message.group].name,
                       .from = message.from,
                       .to = message.to,
                       .bytes = message.bytes,
                       .transfer_ns = message.transfer_ns};
    if (message.send) one.send = part_of(*message.send, digests);
    if (message.receive) one.receive = part_of(*message.receive, digests);
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
  if (matching.instances.empty() && matching.messages.empty() && digests.size() > 1) {
    diagnostics.push_back(make_diagnostic(
        "no_collectives", fmt::format("no collective in {} traces", digests.size())));
  }
  if (unmatched > 0) {
    diagnostics.push_back(make_diagnostic(
        "unmatched_collectives",
        fmt::format(
            "of {} collectives {} are cut off, {} miss a rank, {} differ between ranks, {} never finished",
            matching.instances.size(), count(MatchState::kTruncated), count(MatchState::kMissing),
            count(MatchState::kMismatch), count(MatchState::kInFlight)),
        unmatched));
  }
  const auto guessed = std::ranges::count_if(
      matching.instances, [](const Instance& i) { return i.comparable && i.guessed; });
  if (guessed > 0) {
    diagnostics.push_back(make_diagnostic(
        "guessed_waits", fmt::format("{} broadcasts, reduces, gathers or scatters", guessed),
        guessed));
  }
  const auto sends = std::ranges::count_if(matching.messages,
                                           [](const Message& m) { return m.send && !m.receive; });
  const auto receives = std::ranges::count_if(
      matching.messages, [](const Message& m) { return m.receive && !m.send; });
  if (sends + receives > 0) {
    diagnostics.push_back(
        make_diagnostic("unmatched_messages",
                        fmt::format("of {} messages {} have no receive, {} no send",
                                    matching.messages.size(), sends, receives),
                        sends + receives));
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
