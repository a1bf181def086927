// SPDX-License-Identifier: Apache-2.0
// Links, routes and servers; and communication failures that end a run.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/rules/families.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
using schema::Marker;

constexpr double kLowEfficiency = 0.6;
constexpr double kGoodEfficiency = 0.8;
constexpr double kLikeSize = 0.8;
constexpr int64_t kLargeBytes = int64_t{1} << 20;  // limited by bandwidth, not latency
constexpr int64_t kFewestTransfers = 20;
constexpr int64_t kGlooBytes = 64 << 10;  // per step: more than metrics and objects
constexpr size_t kFewCompleted = 2;       // completed by a job whose second iteration fails
constexpr size_t kMostWords = 5;

constexpr std::string_view kForAllRanks =
    "move the barrier out of the code that only some ranks run: all of them must call it";

std::string title_of_hang(const Hang& h) {
  const std::string what =
      fmt::format("{} {}of {}", word_of(h.function),
                  h.sequence ? fmt::format("#{} ", *h.sequence) : std::string(), h.communicator);
  if (h.state == "dead")
    return fmt::format("{} died; the others waited for it in {}", list_of(h.culprits), what);
  if (h.state == "mismatch")
    return fmt::format("{} called {} differently from the others", list_of(h.culprits), what);
  if (h.culprits.empty()) return fmt::format("all members entered {} and none finished it", what);
  return fmt::format("{} never entered {}", list_of(h.culprits), what);
}

std::string advice_of_hang(const Hang& h) {
  if (h.state == "dead")
    return "find out how that process ended: exit status, last ranges, system log";
  if (h.state == "mismatch")
    return "make all ranks call the same collectives, in the same order and with the same sizes";
  if (h.culprits.empty()) return "check the network or transport between these ranks";
  if (h.function == Function::kBarrier) return std::string(kForAllRanks);
  return {};
}

std::optional<Measured> stuck(const RuleInput& input) {
  if (!input.report.hang) return {};
  const Hang& h = *input.report.hang;
  Measured measured{.ranks = h.culprits.empty() ? h.waiting : h.culprits,
                    .figures = {{"hang", title_of_hang(h)}, {"waiting", list_of(h.waiting)}},
                    .evidence = std::vector<Evidence>(),
                    .advice = advice_of_hang(h)};
  if (!h.reason.empty()) measured.decided_by = {h.reason};
  for (const HungRank& rank : h.ranks) {
    if (!rank.last.empty() && measured.decided_by.size() < kMostWords)
      measured.decided_by.push_back(
          fmt::format("rank {} ({}) {}", rank.rank, rank.state, rank.last));
  }
  for (const int rank : h.waiting) {
    const RankDigest* digest = digest_of(input, rank);
    if (digest == nullptr || digest->collectives.empty() ||
        measured.evidence->size() >= kEvidenceRanks)
      continue;
    const CollectiveRecord& last = digest->collectives.back();
    const TraceNs at = last.arrival().value_or(digest->span.end);
    measured.evidence->push_back(
        evidence(rank, "collective", {last.row}, {at, last.end.value_or(digest->last_sign)}));
  }
  return measured;
}

constexpr Rule kStuck = {
    .judged = {.cause = "synchronisation", .confidence = 0.9, .severity = kCritical},
    .title = "{hang}",
    .detail = "{waiting} waited in it when the run ended",
    .refuted_by = {
        "records of the waiting ranks leaving that collective, which these traces lack"}};

// No rank is in a call any more, because a timeout ended the job; but the ranks had diverged.
std::optional<Measured> parted(const RuleInput& input) {
  if (input.report.hang || input.matching == nullptr || input.matching->divergences.empty() ||
      std::ranges::none_of(input.traces, failed))
    return {};
  const Divergence& d = input.matching->divergences.front();
  Measured measured;
  std::string words;
  for (const Divergence::Side& side : d.sides) {
    const std::string next = side.next.empty() ? "nothing more" : side.next.front();
    if (next.starts_with(word_of(Function::kBarrier))) measured.advice = kForAllRanks;
    words += fmt::format("{}{} calls {}", words.empty() ? "" : ", ", list_of(side.ranks), next);
  }
  // The smaller sides; all of them if none is larger.
  for (size_t s = d.tie ? 0 : 1; s < d.sides.size(); ++s)
    measured.ranks.insert(measured.ranks.end(), d.sides[s].ranks.begin(), d.sides[s].ranks.end());
  measured.figures = {
      {"call", d.sequence}, {"group", input.matching->groups[d.group].name}, {"sides", words}};
  return measured;
}

constexpr Rule kParted = {
    .judged = {.cause = "synchronisation", .confidence = 0.8, .severity = kCritical},
    .title = "the ranks diverged at call #{call} of {group}: {sides}",
    .detail = "the job then ended with an error",
    .decided_by = {"calls before #{call} agree on all ranks; from there on {sides}"},
    .refuted_by = {"lost records of calls on one of the ranks"}};

// The exposed part of a collective's transfers; 1 if unknown.
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
  return steady_instances(input, [&](const Instance& i) {
    return i.function == summary.function && i.bytes == summary.bytes &&
           group_of(input, i).name == summary.communicator;
  });
}

// A host common to all slow groups.
Measured slow_host(const SlowHost& host) {
  return {.cost_ns = host.excess_ns,
          .ranks = host.ranks,
          .figures = {
              {"host", host.host},
              {"groups", host.groups},
              {"times", fmt::format("{:.2f}", host.ratio)},
              {"since", host.onset_step ? fmt::format("; since step {}", *host.onset_step) : ""}}};
}

constexpr Rule kSlowHost = {
    .judged = {.cause = "network", .confidence = 0.7},
    .title = "the links of host {host} are slow: {cost}",
    .detail =
        "transfers of {groups} slow groups take {times} times as long as in comparable groups, {ranks}; "
        "the cost is the excess on the rank with the largest one, {upper bound}{since}",
    .decided_by =
        {"{groups} slow groups contain this host, and no smaller set of hosts explains them",
         "median ratio of their transfers to those of comparable groups: {times}"},
    .refuted_by = {"a bandwidth test between this host and others that is as fast as theirs"}};

// Slow groups that no host explains: the cause is within them.
Measured slow_within(const RuleInput& input, const SlowLinks& links) {
  const SlowGroupInfo& slowest = *std::ranges::max_element(links.groups, {}, &SlowGroupInfo::ratio);
  double exposed = 0;  // of the group with the largest excess
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
  return {.cost_ns = static_cast<int64_t>(exposed),
          .ranks = ranks,
          .figures = {{"slowest", slowest.communicator},
                      {"times", fmt::format("{:.2f}", slowest.ratio)},
                      {"windows", slowest.windows},
                      {"groups", links.groups.size()}}};
}

constexpr Rule kSlowWithin = {
    .judged = {.cause = "network", .confidence = 0.5},
    .title = "communication within {ranks} is slower than elsewhere: {cost}",
    .detail =
        "{slowest}: transfers take {times} times as long as in comparable groups, in {windows} windows; "
        "the traces do not show which of its links is slow; {upper bound}",
    .decided_by = {"{groups} slow groups among those of the same function and size"},
    .refuted_by = {"a bandwidth test between these hosts that is as fast as the others"}};

// Within one communicator: when transfers became slower, but not where.
std::optional<Measured> slower_since(const RuleInput& input, const SlowTransfers& onset) {
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
  return Measured{.cost_ns = cost,
                  .figures = {{"times", fmt::format("{:.2f}", onset.ratio)},
                              {"step", onset.step},
                              {"function", std::string(word_of(onset.function))},
                              {"group", onset.communicator}},
                  .evidence = evidence_of(input, instances_like(input, *summary))};
}

constexpr Rule kSlowerSince = {
    .judged = {.cause = "network", .confidence = 0.5, .at_least = kInfoShare},
    .title = "transfers take {times} times as long since step {step}: {cost}",
    .detail =
        "{function} of {group}; all ranks are in that group, so the traces do not show which link is slow; {upper bound}",
    .decided_by = {"the same transfers before and after step {step}"},
    .refuted_by = {"other work on the machine since that step"}};

std::vector<Finding> slow_group(const RuleInput& input) {
  std::vector<Finding> findings;
  if (!input.report.slow_links) return findings;
  const auto add = [&](const Rule& rule, std::optional<Measured> measured) {
    std::ranges::move(found(input, rule, std::move(measured)), std::back_inserter(findings));
  };
  const SlowLinks& links = *input.report.slow_links;
  for (const SlowHost& host : links.hosts) add(kSlowHost, slow_host(host));
  if (findings.empty() && !links.groups.empty()) add(kSlowWithin, slow_within(input, links));
  if (!findings.empty()) return findings;
  for (const SlowTransfers& onset : links.onsets) add(kSlowerSince, slower_since(input, onset));
  return findings;
}

// The rank at one end of every message; nullopt = there is none, or only a pair of ranks.
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

bool has_mark(const RuleInput& input, std::string_view name) {
  return input.report.phases &&
         std::ranges::count(*input.report.phases, name, &PhaseSummary::name) > 0;
}

// By group: whether it communicates by Gloo although a rank of it has a GPU.
std::vector<bool> gloo_groups_on_gpu(const RuleInput& input) {
  if (input.matching == nullptr) return {};
  std::vector<bool> found(input.matching->groups.size());
  for (size_t d = 0; d < input.digests.size(); ++d) {
    const RankDigest& digest = input.digests[d];
    for (size_t c = 0; c < digest.communicators.size() && !digest.gpu.empty(); ++c) {
      if (digest.communicators[c].backend == schema::Backend::kGloo)
        found[input.matching->group_of[d][c]] = true;
    }
  }
  return found;
}

// Gloo collectives among ranks that use a GPU.
std::optional<Measured> gloo_on_gpu(const RuleInput& input) {
  const std::vector<bool> on_gpu = gloo_groups_on_gpu(input);
  const std::vector<const Instance*> gloo = steady_instances(input, [&](const Instance& i) {
    return !i.members.empty() && i.function != Function::kBarrier && on_gpu[i.group];
  });
  const RankShare share = largest_share(input, gloo);
  const int64_t steps = steady_steps(input);
  if (gloo.empty() || steps <= 0 || share.bytes / steps < kGlooBytes) return {};
  const int64_t copies = median_of(times_of(input, Category::kCopy));
  return Measured{.cost_ns = share.transfer_ns / steps + copies,
                  .figures = {{"bytes", format_bytes(share.bytes / steps)},
                              {"transfer", ms(share.transfer_ns / steps)},
                              {"copies", ms(copies)},
                              {"collectives", gloo.size()},
                              {"steps", steps}},
                  .evidence = evidence_of(input, gloo)};
}

// What the rank does in a step, and what is sent to and from it; nullopt: not known. No worker can
// queue behind the others for longer than the server is busy with them.
std::optional<int64_t> busy_of(const RuleInput& input, int rank) {
  if (!input.report.breakdown) return std::nullopt;
  const auto& ranks = input.report.breakdown->per_rank;
  const auto one = std::ranges::find(ranks, rank, &RankBreakdown::rank);
  if (one == ranks.end()) return std::nullopt;
  const auto of = [&](Category category) {
    return one->category_ns[static_cast<size_t>(category)];
  };
  return (one->wall_ns - of(Category::kExposedWait) - of(Category::kIdle)) / steady_steps(input);
}

// "of which 2/3 is queueing behind the other workers"
std::string queueing_words(size_t workers, bool busy_for_less, bool culprits, int64_t busy_ns) {
  const std::string share = fmt::format("{}/{}", workers - 1, workers);
  if (busy_for_less) {
    return fmt::format("but the server is busy for {} only, {} of that with the other workers",
                       ms(busy_ns), share);
  }
  return fmt::format("{} {} is queueing behind the other workers",
                     culprits ? "and of the rest" : "of which", share);
}

std::optional<Measured> server_bottleneck(const RuleInput& input) {
  if (input.matching == nullptr || !input.report.overlap || steady_steps(input) <= 0) return {};
  const std::vector<Message>& messages = input.matching->messages;
  const std::optional<int> hub = hub_of(messages);
  const bool said = has_mark(input, "pull") || has_mark(input, "push");
  const RankDigest* server = hub ? digest_of(input, *hub) : nullptr;
  // The middle stage of a pipeline also computes.
  if (!hub || (server != nullptr && has_phase(*server, Marker::kForward) && !said)) return {};
  std::vector<int> workers;
  std::vector<int64_t> waits;
  for (const RankOverlap& rank : input.report.overlap->per_rank) {
    if (rank.rank == *hub) continue;
    workers.push_back(rank.rank);
    waits.push_back((rank.exposed_transfer_ns + rank.exposed_wait_ns) / steady_steps(input));
  }
  if (workers.size() < 2) return {};
  const int64_t wait = median_ns(waits);
  const int64_t for_culprits = std::min(wait, waiting_for_culprits(input));
  const auto n = static_cast<double>(workers.size());
  int64_t bytes = 0;
  for (const Message& message : messages) bytes += message.bytes.value_or(0);
  const int64_t queue = wait - for_culprits;
  const int64_t busy = busy_of(input, *hub).value_or(queue);
  const auto cost = static_cast<double>(std::min(queue, busy)) * (1 - 1 / n);
  const bool idle = busy < queue;
  const std::string queueing = queueing_words(workers.size(), idle, for_culprits != 0, busy);
  Measured measured{.cost_ns = static_cast<int64_t>(cost),
                    .ranks = {*hub},
                    .figures = {{"hub", *hub},
                                {"workers", workers.size()},
                                {"bytes", format_bytes(bytes)},
                                {"wait", ms(wait)},
                                {"culprits", words_on_culprits(for_culprits)},
                                {"queueing", queueing},
                                {"messages", messages.size()}},
                    .evidence = std::vector<Evidence>()};
  const RankDigest* worker = digest_of(input, workers.front());
  const std::optional<Interval> span =
      worker != nullptr ? steady_span(input, *worker) : std::nullopt;
  if (!span) return measured;
  std::vector<int64_t> rows;
  for (const CollectiveRecord& record : worker->collectives) {
    const bool message = record.function == Function::kSend || record.function == Function::kRecv;
    if (message && record.arrival() && *record.arrival() >= span->begin) rows.push_back(record.row);
  }
  measured.evidence->push_back(evidence(worker->rank, "collective", std::move(rows), *span));
  return measured;
}

// Similar transfers elsewhere in this run are fast: a median below its own best alone only shows
// fluctuation.
bool others_are_fast(const std::vector<CollectiveSummary>& all, const CollectiveSummary& slow) {
  return std::ranges::any_of(all, [&](const CollectiveSummary& c) {
    const auto bytes = static_cast<double>(c.bytes.value_or(0));
    const auto own = static_cast<double>(slow.bytes.value_or(0));
    return &c != &slow && c.function == slow.function && bytes >= own * kLikeSize &&
           bytes <= own / kLikeSize && c.efficiency.value_or(0) >= kGoodEfficiency;
  });
}

// The time that a step loses in transfers slower than similar ones; 0 if they are not slower.
double lost_to_bandwidth(const RuleInput& input, const CollectiveSummary& c) {
  if (c.n < kFewestTransfers || c.bytes.value_or(0) < kLargeBytes || !c.efficiency ||
      *c.efficiency >= kLowEfficiency || c.per_step.value_or(0) <= 0 ||
      !others_are_fast(*input.report.collectives, c)) {
    return 0;
  }
  return *c.per_step * static_cast<double>(c.transfer_ns) * (1 - *c.efficiency) *
         exposed_share(input, c);
}

std::optional<Measured> low_bandwidth(const RuleInput& input) {
  if (!input.report.collectives || steady_steps(input) <= 0) return {};
  std::map<const CollectiveSummary*, double> lost;
  for (const CollectiveSummary& c : *input.report.collectives) {
    if (const double ns = lost_to_bandwidth(input, c); ns > 0) lost[&c] = ns;
  }
  if (lost.empty()) return {};
  double cost_ns = 0;  // of the rank with the largest loss
  for (const auto& collectives : collectives_by_rank(input)) {
    double own_ns = 0;
    for (const CollectiveSummary* c : collectives) {
      if (const auto entry = lost.find(c); entry != lost.end()) own_ns += entry->second;
    }
    cost_ns = std::max(cost_ns, own_ns);
  }
  const CollectiveSummary* worst =
      std::ranges::max_element(lost, {}, [](const auto& entry) { return entry.second; })->first;
  return Measured{.cost_ns = static_cast<int64_t>(cost_ns),
                  .figures = {{"efficiency", format_share(*worst->efficiency)},
                              {"function", std::string(word_of(worst->function))},
                              {"group", worst->communicator},
                              {"bytes", format_bytes(*worst->bytes)},
                              {"rate", fmt::format("{:.2f} GB/s", worst->busbw.value_or(0) / 1e9)},
                              {"transfers", worst->n}},
                  .evidence = evidence_of(input, instances_like(input, *worst))};
}

bool reduces_gradients(const RankDigest& digest) {
  return std::ranges::any_of(digest.collectives, [&](const CollectiveRecord& record) {
    return reduces(record.function) && record.arrival() &&
           phase_at(digest, *record.arrival()) == Marker::kBackward;
  });
}

// The Reducer raises an error in the next forward: the trace shows a job that ended with an error
// after a backward whose gradients were never reduced.
std::optional<Measured> unfinished_reduction(const RuleInput& input) {
  Measured measured{.figures = {{"steps", kFewCompleted}}, .evidence = std::vector<Evidence>()};
  if (input.digests.size() < 2) return {};
  for (size_t d = 0; d < input.digests.size(); ++d) {
    const RankDigest& digest = input.digests[d];
    const bool met = std::ranges::any_of(digest.collectives, [](const CollectiveRecord& record) {
      return record.function == Function::kBroadcast || record.function == Function::kAllGather;
    });
    const auto backward = std::ranges::find(digest.phases, Marker::kBackward, &PhaseRange::marker);
    if (d >= input.traces.size() || !failed(input.traces[d]) ||
        digest.steps.size() > kFewCompleted || !met || backward == digest.phases.end() ||
        reduces_gradients(digest))
      return {};
    measured.ranks.push_back(digest.rank);
    if (d < kEvidenceRanks)
      measured.evidence->push_back(
          evidence(digest.rank, "host_range", {backward->row}, backward->span));
  }
  return measured;
}

}  // namespace

constexpr Rule kHang = {
    .name = "comm.hang",
    .ids = "M8",
    .finds = "a collective began and never finished, and the run ended in it",
    .costs = "fatal: the run hung",
    .guard = "every collective that began has finished, or all ranks ended together",
    .suppressed_by = "run.failed, input.shards-uneven, comm.unfinished-reduction",
    .advice =
        "check what that rank did last: code that only some ranks run, uneven data, an endless loop",
    .detect = [](const RuleInput& input) {
      return input.report.hang ? found(input, kStuck, stuck(input))
                               : found(input, kParted, parted(input));
    }};

constexpr Rule kUnfinishedReduction = {
    .name = "comm.unfinished-reduction",
    .ids = "M18",
    .finds =
        "DDP was set up, a backward ran without an all-reduce, and all ranks ended with an error within two steps",
    .costs = "fatal: training ends",
    .guard = "a rank ended cleanly, or reduced gradients in a backward",
    .advice =
        "set find_unused_parameters=True, or remove the parameters that the loss does not use",
    .judged = {.cause = "synchronisation", .confidence = 0.7, .severity = kCritical},
    .title = "training failed after a backward whose gradients were never reduced",
    .detail =
        "DistributedDataParallel was set up, a backward ran, and no bucket was completed: a parameter got no gradient",
    .decided_by =
        {"every rank ran DDP's start-up collectives, and a backward without an all-reduce",
         "every rank ended with an error after at most {steps} steps"},
    .refuted_by = {"an error message that does not mention an unfinished reduction"},
    .measure = unfinished_reduction};

constexpr Rule kGlooOnGpu = {
    .name = "comm.gloo-on-gpu",
    .ids = "M12",
    .finds = "ranks that use a GPU move at least 64 KiB per step through the gloo backend",
    .costs = "upper bound: the transfers and the copies to and from the host",
    .guard = "ranks without a GPU; small collectives of objects and metrics",
    .advice =
        "use init_process_group(backend=\"nccl\") for tensors on GPUs, "
        "and a second group with backend gloo for tensors on the host",
    .judged = {.cause = "network", .confidence = 0.6},
    .title = "GPU tensors are sent through Gloo: {cost}",
    .detail =
        "{bytes} per step go through the host, {transfer} for transfers and {copies} for copies; {upper bound}",
    .decided_by = {"{collectives} gloo collectives in {steps} steps of ranks that use a GPU"},
    .refuted_by = {"tensors that are on the host on purpose"},
    .measure = gloo_on_gpu};

constexpr Rule kSlowGroup = {
    .name = "comm.slow-group",
    .finds = "a group's transfers take 1.10 times those of comparable groups in at least 3 windows",
    .costs = "upper bound: exposed transfer beyond the speed of the comparable groups",
    .guard = "no comparable groups; a single slow group is narrowed down to its members only",
    .advice =
        "test the links of these hosts (iperf, nccl-tests), check for retransmits and link flaps; if they are faulty, remove the host from the job",
    .detect = slow_group};

constexpr Rule kServerBottleneck = {
    .name = "comm.server-bottleneck",
    .ids = "M17",
    .finds =
        "every message of the run is sent or received by one rank that does not compute, with at least two workers",
    .costs =
        "upper bound: the workers' exposed communication without that for named culprits, at most what the server is busy; less one worker's share",
    .guard = "pipelines; collectives that carry the gradients; below {at least} of the step",
    .advice =
        "use an all-reduce, which uses the links of all ranks (DistributedDataParallel); "
        "or split the parameters over several servers",
    .judged = {.cause = "network", .confidence = 0.6, .at_least = kInfoShare},
    .title = "rank {hub} serves {workers} workers through one link: {cost}",
    .detail =
        "every message of the run starts or ends there ({bytes} in total); "
        "the median worker spends {wait} per step on communication{culprits}, {queueing}; {upper bound}",
    .decided_by = {"all {messages} messages have rank {hub} at one end"},
    .refuted_by = {"a run with half as many workers whose steps take just as long"},
    .measure = server_bottleneck};

constexpr Rule kLowBandwidth = {
    .name = "comm.low-bandwidth",
    .finds =
        "collectives of 1 MiB or more reach less than 60 % of the best bandwidth that this run shows for their function and size",
    .costs = "upper bound: the part of their exposed transfers beyond that bandwidth",
    .guard =
        "fewer than 20 of them; no other group reaches 80 % with similar transfers, "
        "which makes it fluctuation; waiting for members does not count",
    .suppressed_by = "comm.gloo-on-gpu, comm.slow-group, comm.contention, balance.straggler",
    .advice =
        "check the path: network interface and NUMA node, GPUDirect, NVLink, NCCL's transport "
        "(NCCL_DEBUG=INFO); with Gloo, the interface (GLOO_SOCKET_IFNAME)",
    .judged = {.cause = "network", .confidence = 0.4, .at_least = kInfoShare},
    .title = "large collectives reach only {efficiency} of the bandwidth seen in this run: {cost}",
    .detail = "{function} of {group} with {bytes}: median bus bandwidth {rate}; {upper bound}",
    .decided_by =
        {"median against the 95th percentile of all {transfers} transfers of that function and size, waiting excluded"},
    .refuted_by = {"a bandwidth test of that network that is no faster",
                   "fast transfers that moved less data than recorded"},
    .measure = low_bandwidth};

}  // namespace dprof::analyzer
