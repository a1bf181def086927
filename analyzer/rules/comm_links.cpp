// SPDX-License-Identifier: Apache-2.0
// Links, routes and servers; and what ends a run.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/rules/comm.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer::comm {
namespace {

using schema::Function;
using schema::Marker;

constexpr double kHangConfidence = 0.9;
constexpr double kLowEfficiency = 0.6;
constexpr double kGoodEfficiency = 0.8;
constexpr double kLikeSize = 0.8;
constexpr int64_t kLargeBytes = int64_t{1} << 20;  // of which bandwidth decides, not latency
constexpr int64_t kFewestTransfers = 20;
constexpr int64_t kGlooBytes = 64 << 10;  // per step: more than metrics and objects
constexpr size_t kFewCompleted = 2;       // completed by a job whose second iteration fails
constexpr size_t kMostWords = 5;

std::string title_of_hang(const Hang& h) {
  const std::string what =
      fmt::format("{} {}of {}", word_of(h.function),
                  h.sequence ? fmt::format("#{} ", *h.sequence) : std::string(), h.communicator);
  if (h.state == "dead")
    return fmt::format("{} died; the others waited for it in {}", list_of(h.culprits), what);
  if (h.state == "mismatch")
    return fmt::format("{} called {} differently from the others", list_of(h.culprits), what);
  if (h.culprits.empty()) return fmt::format("all members began {} and none finished it", what);
  return fmt::format("{} never came to {}", list_of(h.culprits), what);
}

std::string advice_of_hang(const Hang& h) {
  if (h.state == "dead")
    return "see how that process ended: its exit status, its last ranges, the system's log";
  if (h.state == "mismatch")
    return "make all ranks call the same collectives, in the same order and size";
  if (h.culprits.empty()) return "look at the network or transport between these ranks";
  if (h.function == Function::kBarrier)
    return "a barrier is for all ranks: take it out of the code that only some of them run";
  return {};
}

// Part of a collective's transfers that no computation hid; 1 where that is not known.
double exposed_share(const RuleInput& input, const CollectiveSummary& summary) {
  if (!input.report.overlap) return 1;
  for (const CollectiveOverlap& c : input.report.overlap->per_collective) {
    if (c.communicator != summary.communicator || c.function != summary.function ||
        c.bytes != summary.bytes) {
      continue;
    }
    const auto all = static_cast<double>(c.hidden_ns + c.exposed_transfer_ns);
    return all <= 0 ? 1 : static_cast<double>(c.exposed_transfer_ns) / all;
  }
  return 1;
}

std::vector<const Instance*> instances_like(const RuleInput& input,
                                            const CollectiveSummary& summary) {
  std::vector<const Instance*> instances = steady_instances(input);
  std::erase_if(instances, [&](const Instance* i) {
    return i->function != summary.function || i->bytes != summary.bytes ||
           group_of(input, *i).name != summary.communicator;
  });
  return instances;
}

// A host that all slow groups have in common.
Finding slow_host(const RuleInput& input, const SlowHost& host) {
  Finding finding = priced(input, host.excess_ns, 0.7, "network");
  finding.ranks = host.ranks;
  finding.title =
      fmt::format("the links of host {} are slow: {}", host.host, per_step(input, host.excess_ns));
  finding.detail = fmt::format(
      "transfers of {} slow groups take {:.2f} times as long as in comparable groups, {}; "
      "the cost is what the rank that has most of them spends beyond the usual, {}",
      host.groups, host.ratio, list_of(host.ranks), kUpperBound);
  if (host.onset_step) finding.detail += fmt::format("; since step {}", *host.onset_step);
  finding.decided_by = {
      fmt::format("{} slow groups contain this host, and no smaller set of hosts explains them",
                  host.groups),
      fmt::format("median ratio of their transfers to those of comparable groups: {:.2f}",
                  host.ratio)};
  finding.refuted_by = {"a bandwidth test between this host and others that is as fast as theirs"};
  finding.evidence = steps_evidence(input, host.ranks);
  return finding;
}

// Slow groups without a host that explains them: somewhere within.
Finding slow_within(const RuleInput& input, const SlowLinks& links) {
  const SlowGroupInfo& slowest = *std::ranges::max_element(links.groups, {}, &SlowGroupInfo::ratio);
  double exposed = 0;  // of the group that has most, beyond the usual
  std::vector<int> ranks;
  for (const SlowGroupInfo& group : links.groups) {
    for (const int rank : group.ranks) {
      if (std::ranges::count(ranks, rank) == 0) ranks.push_back(rank);
    }
    if (!input.report.overlap || steady_steps(input) <= 0) continue;
    double own = 0;
    for (const CollectiveOverlap& c : input.report.overlap->per_collective) {
      if (c.communicator == group.communicator) own += static_cast<double>(c.exposed_transfer_ns);
    }
    const auto parts = static_cast<double>(steady_steps(input)) *
                       static_cast<double>(std::max<size_t>(1, group.ranks.size()));
    exposed = std::max(exposed, own / parts * (1 - 1 / group.ratio));
  }
  std::ranges::sort(ranks);
  const auto cost = static_cast<int64_t>(exposed);
  Finding finding = priced(input, cost, 0.5, "network");
  finding.ranks = ranks;
  finding.title = fmt::format("communication within {} is slower than elsewhere: {}",
                              list_of(ranks), per_step(input, cost));
  finding.detail = fmt::format(
      "{}: transfers take {:.2f} times as long as in comparable groups, in {} windows; "
      "which of its links it is nobody can say; {}",
      slowest.communicator, slowest.ratio, slowest.windows, kUpperBound);
  finding.decided_by = {
      fmt::format("{} slow groups among those of the same function and size", links.groups.size())};
  finding.refuted_by = {"a bandwidth test between these hosts that is as fast as the others"};
  finding.evidence = steps_evidence(input, ranks);
  return finding;
}

// Within one communicator: when transfers became slower, but not where.
std::optional<Finding> slower_since(const RuleInput& input, const SlowTransfers& onset) {
  if (!input.report.collectives) return std::nullopt;
  const auto summary =
      std::ranges::find_if(*input.report.collectives, [&](const CollectiveSummary& c) {
        return c.communicator == onset.communicator && c.function == onset.function &&
               c.bytes == onset.bytes;
      });
  if (summary == input.report.collectives->end()) return std::nullopt;
  const auto cost =
      static_cast<int64_t>(static_cast<double>(onset.excess_ns) * summary->per_step.value_or(0) *
                           exposed_share(input, *summary));
  if (share_of(input, cost) < kInfoShare) return std::nullopt;
  Finding finding = priced(input, cost, 0.5, "network");
  finding.title = fmt::format("transfers became {:.2f} times as long at step {}: {}", onset.ratio,
                              onset.step, per_step(input, cost));
  finding.detail = fmt::format(
      "{} of {}; on which link the traces do not say, as all ranks are in that group; {}",
      word_of(onset.function), onset.communicator, kUpperBound);
  finding.decided_by = {fmt::format("the same transfers before and after step {}", onset.step)};
  finding.refuted_by = {"other work that shared the machine from that step on"};
  finding.evidence = evidence_of(input, instances_like(input, *summary));
  return finding;
}

// The rank that every message has at one end; nullopt = there is none, or only a pair of ranks.
std::optional<int> hub_of(std::span<const Message> messages) {
  std::map<int, size_t> touched;
  for (const Message& message : messages) {
    if (!message.from || !message.to) return std::nullopt;
    ++touched[*message.from];
    ++touched[*message.to];
  }
  if (touched.size() < 3) return std::nullopt;
  for (const auto& [rank, count] : touched) {
    if (count == messages.size()) return rank;
  }
  return std::nullopt;
}

bool has_phase(const RankDigest& digest, Marker marker) {
  return std::ranges::count(digest.phases, marker, &PhaseRange::marker) > 0;
}

bool has_mark(const RuleInput& input, std::string_view name) {
  return input.report.phases &&
         std::ranges::count(*input.report.phases, name, &PhaseSummary::name) > 0;
}

// By itself, or by the launcher because another rank had.
bool failed(const RuleInput& input, size_t digest) {
  if (digest >= input.traces.size()) return false;
  const std::string& status = input.traces[digest].exit_status;
  return !status.empty() && status != "exit:0";
}

bool reduces_gradients(const RankDigest& digest) {
  return std::ranges::any_of(digest.collectives, [&](const CollectiveRecord& record) {
    const bool reduces =
        record.function == Function::kAllReduce || record.function == Function::kReduceScatter;
    return reduces && record.arrival() && phase_at(digest, *record.arrival()) == Marker::kBackward;
  });
}

// Somewhere else in this run transfers like these are fast: a median below one's own best alone
// tells of fluctuation.
bool others_are_fast(const std::vector<CollectiveSummary>& all, const CollectiveSummary& slow) {
  return std::ranges::any_of(all, [&](const CollectiveSummary& c) {
    const auto bytes = static_cast<double>(c.bytes.value_or(0));
    const auto own = static_cast<double>(slow.bytes.value_or(0));
    return &c != &slow && c.function == slow.function && bytes >= own * kLikeSize &&
           bytes <= own / kLikeSize && c.efficiency.value_or(0) >= kGoodEfficiency;
  });
}

}  // namespace

// Nobody stands in a call any more, since a timeout ended the job; but the ranks had ceased to do
// the same.
std::vector<Finding> parted(const RuleInput& input) {
  if (input.matching == nullptr || input.matching->divergences.empty()) return {};
  bool any = false;
  for (size_t d = 0; d < input.digests.size(); ++d) any = any || failed(input, d);
  if (!any) return {};
  const Divergence& d = input.matching->divergences.front();
  Finding finding = unpriced(FindingSeverity::kCritical, 0.8, "synchronisation");
  std::string words;
  bool barrier = false;
  for (const Divergence::Side& side : d.sides) {
    const std::string next = side.next.empty() ? "nothing more" : side.next.front();
    barrier = barrier || next.starts_with(word_of(Function::kBarrier));
    words += fmt::format("{}{} calls {}", words.empty() ? "" : ", ", list_of(side.ranks), next);
  }
  // The smaller sides; all of them where none is larger.
  for (size_t s = d.tie ? 0 : 1; s < d.sides.size(); ++s)
    finding.ranks.insert(finding.ranks.end(), d.sides[s].ranks.begin(), d.sides[s].ranks.end());
  finding.title = fmt::format("the ranks ceased to do the same at call #{} of {}: {}", d.sequence,
                              input.matching->groups[d.group].name, words);
  finding.detail = "and the job ended with an error";
  if (barrier)
    finding.advice =
        "a barrier is for all ranks: take it out of the code that only some of them run";
  finding.decided_by = {
      fmt::format("calls before #{} agree on all ranks, from there on: {}", d.sequence, words)};
  finding.refuted_by = {"records of calls that were lost on one of them"};
  finding.evidence = steps_evidence(input, finding.ranks);
  return {std::move(finding)};
}

std::vector<Finding> hang(const RuleInput& input) {
  if (!input.report.hang) return parted(input);
  const Hang& h = *input.report.hang;
  Finding finding = unpriced(FindingSeverity::kCritical, kHangConfidence, "synchronisation");
  finding.ranks = h.culprits.empty() ? h.waiting : h.culprits;
  finding.title = title_of_hang(h);
  finding.advice = advice_of_hang(h);
  finding.detail = fmt::format("{} waited in it when the run ended", list_of(h.waiting));
  if (!h.reason.empty()) finding.decided_by = {h.reason};
  for (const HungRank& rank : h.ranks) {
    if (finding.decided_by.size() >= kMostWords) break;
    if (!rank.last.empty())
      finding.decided_by.push_back(
          fmt::format("rank {} ({}) {}", rank.rank, rank.state, rank.last));
  }
  finding.refuted_by = {
      "records of the waiting ranks leaving that collective, which these traces do not have"};
  for (const int rank : h.waiting) {
    const RankDigest* digest = digest_of(input, rank);
    if (digest == nullptr || digest->collectives.empty() || finding.evidence.size() >= 4) continue;
    const CollectiveRecord& last = digest->collectives.back();
    const TraceNs at = last.arrival().value_or(digest->span.end);
    finding.evidence.push_back(
        evidence(rank, "collective", {last.row}, {at, last.end.value_or(digest->last_sign)}));
  }
  return {std::move(finding)};
}

std::vector<Finding> low_bandwidth(const RuleInput& input) {
  if (!input.report.collectives || steady_steps(input) <= 0) return {};
  double cost_ns = 0;
  const CollectiveSummary* worst = nullptr;
  double worst_ns = 0;
  for (const CollectiveSummary& c : *input.report.collectives) {
    if (c.n < kFewestTransfers || c.bytes.value_or(0) < kLargeBytes || !c.efficiency ||
        *c.efficiency >= kLowEfficiency || c.per_step.value_or(0) <= 0 ||
        !others_are_fast(*input.report.collectives, c)) {
      continue;
    }
    const double lost = *c.per_step * static_cast<double>(c.transfer_ns) * (1 - *c.efficiency) *
                        exposed_share(input, c);
    cost_ns += lost;
    if (worst == nullptr || lost > worst_ns) worst = &c;
    worst_ns = std::max(worst_ns, lost);
  }
  const auto cost = static_cast<int64_t>(cost_ns);
  if (worst == nullptr || share_of(input, cost) < kInfoShare) return {};
  Finding finding = priced(input, cost, 0.4, "network");
  finding.title =
      fmt::format("large collectives reach {} of the bandwidth that this run has seen: {}",
                  format_share(*worst->efficiency), per_step(input, cost));
  finding.detail =
      fmt::format("{} of {} with {}: {:.2f} GB/s over the bus in the median; {}",
                  word_of(worst->function), worst->communicator, format_bytes(*worst->bytes),
                  worst->busbw.value_or(0) / 1e9, kUpperBound);
  finding.decided_by = {fmt::format(
      "median against the 95th percentile of all transfers of that function and size, over {} of them, without any waiting",
      worst->n)};
  finding.refuted_by = {"a bandwidth test of that network which reaches no more",
                        "fast transfers that moved less than they say"};
  finding.evidence = evidence_of(input, instances_like(input, *worst));
  return {std::move(finding)};
}

std::vector<Finding> slow_group(const RuleInput& input) {
  if (!input.report.slow_links) return {};
  const SlowLinks& links = *input.report.slow_links;
  std::vector<Finding> findings;
  for (const SlowHost& host : links.hosts) findings.push_back(slow_host(input, host));
  if (findings.empty() && !links.groups.empty()) findings.push_back(slow_within(input, links));
  if (!findings.empty()) return findings;
  for (const SlowTransfers& onset : links.onsets) {
    if (std::optional<Finding> finding = slower_since(input, onset))
      findings.push_back(*std::move(finding));
  }
  return findings;
}

std::vector<Finding> gloo_on_gpu(const RuleInput& input) {
  std::vector<const Instance*> gloo;
  int64_t bytes = 0;
  int64_t transfer = 0;
  for (const Instance* i : steady_instances(input)) {
    if (i->members.empty() || i->function == Function::kBarrier) continue;
    const Member& first = i->members.front();
    const RankDigest& digest = input.digests[first.digest];
    const CollectiveRecord& record = record_of(input, first);
    if (digest.gpu.empty() || digest.communicators.size() <= record.communicator ||
        digest.communicators[record.communicator].backend != schema::Backend::kGloo) {
      continue;
    }
    gloo.push_back(i);
    bytes += i->bytes.value_or(0);
    transfer += i->transfer_ns;
  }
  const int64_t steps = steady_steps(input);
  if (gloo.empty() || steps <= 0 || bytes / steps < kGlooBytes) return {};
  const int64_t copies = median_of(times_of(input, Category::kCopy));
  const int64_t cost = transfer / steps + copies;
  Finding finding = priced(input, cost, 0.6, "network");
  finding.title = fmt::format("Gloo carries tensors of GPUs: {}", per_step(input, cost));
  finding.detail =
      fmt::format("{} a step by way of the host, {} for transfers and {} for copies; {}",
                  format_bytes(bytes / steps), ms(transfer / steps), ms(copies), kUpperBound);
  finding.decided_by = {fmt::format(
      "{} collectives of back end gloo in {} steps of ranks that use a GPU", gloo.size(), steps)};
  finding.refuted_by = {"tensors that lie on the host on purpose"};
  finding.evidence = evidence_of(input, gloo);
  return {std::move(finding)};
}

std::vector<Finding> server_bottleneck(const RuleInput& input) {
  if (input.matching == nullptr || !input.report.overlap || steady_steps(input) <= 0) return {};
  const std::optional<int> hub = hub_of(input.matching->messages);
  const bool said = has_mark(input, "pull") || has_mark(input, "push");
  const RankDigest* server = hub ? digest_of(input, *hub) : nullptr;
  // The middle of a pipeline computes, too.
  if (!hub || (server != nullptr && has_phase(*server, Marker::kForward) && !said)) return {};
  std::vector<int> workers;
  std::vector<int64_t> waits;
  for (const RankOverlap& rank : input.report.overlap->per_rank) {
    if (rank.rank == *hub) continue;
    workers.push_back(rank.rank);
    waits.push_back((rank.exposed_transfer_ns + rank.exposed_wait_ns) / steady_steps(input));
  }
  if (workers.size() < 2) return {};
  const auto n = static_cast<double>(workers.size());
  const auto cost = static_cast<int64_t>(static_cast<double>(median_ns(waits)) * (1 - 1 / n));
  if (share_of(input, cost) < kInfoShare) return {};
  int64_t bytes = 0;
  for (const Message& message : input.matching->messages) bytes += message.bytes.value_or(0);
  Finding finding = priced(input, cost, 0.6, "network");
  finding.ranks = {*hub};
  finding.title = fmt::format("rank {} serves {} workers through one link: {}", *hub,
                              workers.size(), per_step(input, cost));
  finding.detail = fmt::format(
      "every message of the run begins or ends there ({} in all); "
      "the workers' communication is {} per step in the median, of which {} of {} is queueing behind the others; {}",
      format_bytes(bytes), ms(median_ns(waits)), workers.size() - 1, workers.size(), kUpperBound);
  finding.decided_by = {fmt::format("all {} messages have rank {} at one end",
                                    input.matching->messages.size(), *hub)};
  finding.refuted_by = {"a run with half of the workers whose steps are as long"};
  std::vector<int64_t> rows;
  Interval span{};
  if (const RankDigest* worker = digest_of(input, workers.front());
      worker != nullptr && steady_span(input, *worker)) {
    span = *steady_span(input, *worker);
    for (const CollectiveRecord& record : worker->collectives) {
      const bool message = record.function == Function::kSend || record.function == Function::kRecv;
      if (message && record.arrival() && *record.arrival() >= span.begin && rows.size() < 20)
        rows.push_back(record.row);
    }
    finding.evidence = {evidence(worker->rank, "collective", std::move(rows), span)};
  }
  return {std::move(finding)};
}

// The Reducer says so in the next forward, by an error: what is left is a job that ended with one,
// after a backward whose gradients were never reduced.
std::vector<Finding> unfinished_reduction(const RuleInput& input) {
  std::vector<int> ranks;
  for (size_t d = 0; d < input.digests.size(); ++d) {
    const RankDigest& digest = input.digests[d];
    const bool met = std::ranges::any_of(digest.collectives, [](const CollectiveRecord& record) {
      return record.function == Function::kBroadcast || record.function == Function::kAllGather;
    });
    if (failed(input, d) && digest.steps.size() <= kFewCompleted && met &&
        has_phase(digest, Marker::kBackward) && !reduces_gradients(digest)) {
      ranks.push_back(digest.rank);
    }
  }
  if (ranks.size() < 2 || ranks.size() < input.digests.size()) return {};
  Finding finding = unpriced(FindingSeverity::kCritical, 0.7, "synchronisation");
  finding.ranks = ranks;
  finding.title =
      "training ended with an error after a backward whose gradients were never reduced";
  finding.detail =
      "DistributedDataParallel was set up, a backward ran, and no bucket became complete: a parameter got no gradient";
  finding.decided_by = {
      "every rank had the collectives of DDP's start, and a backward without any all-reduce",
      fmt::format("every rank ended with an error after at most {} steps", kFewCompleted)};
  finding.refuted_by = {"the error's text, if it does not speak of an unfinished reduction"};
  for (const int rank : ranks) {
    const RankDigest* digest = digest_of(input, rank);
    if (finding.evidence.size() >= 4) break;
    const auto backward = std::ranges::find(digest->phases, Marker::kBackward, &PhaseRange::marker);
    finding.evidence.push_back(evidence(rank, "host_range", {backward->row}, backward->span));
  }
  return {std::move(finding)};
}

}  // namespace dprof::analyzer::comm
