// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "analyzer/rules/rule.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kOthersShare = 0.5;  // of the exposed wait, explained by a culprit's cost
// Pauses that are listed individually: their least length, of the median step, their number, and
// the share of all waiting that they must make up together.
constexpr double kLongPause = 0.5;
constexpr size_t kFewPauses = 3;
constexpr double kMostOfWaiting = 0.5;

struct Advice {
  std::string_view cause;
  std::string_view what;
  std::string_view refuted_by;
};

// By the causes of docs/analysis/causes.md.
constexpr Advice kAdvice[] = {
    {"dataloader",
     "raise num_workers or prefetch_factor on that rank; if that does not help, check the storage it reads from",
     "a run with cached or synthetic input in which that rank is just as late"},
    {"checkpoint",
     "write checkpoints asynchronously (torch.distributed.checkpoint.async_save), or outside the step",
     "a run without checkpoints in which that rank is just as late"},
    {"rank0_work",
     "log less often, write asynchronously, or move that work off the training thread",
     "a run without that work in which that rank is just as late"},
    {"gc",
     "call gc.disable(), and gc.collect() at the same step on every rank; create fewer Python objects per step",
     "a run with the collector disabled in which that rank is just as late"},
    {"cpu_contention",
     "give each rank its own cores (--cpu-bind, taskset); then use fewer threads per rank "
     "(OMP_NUM_THREADS), and check what else runs on that host",
     "a run in which that rank has its cores to itself and is just as late"},
    {"host",
     "check what the training thread does between its ranges: "
     "logging, garbage collection, other processes on its core",
     "a Python profile of that rank that looks like the others'"},
    {"synchronisation",
     "find out what the training thread waits for: "
     "on a GPU keep values on the device (.item(), print and metrics wait for it; log every N steps); "
     "on the host look for a lock, a queue or a slower thread",
     "a run without these waits in which that rank is just as late"},
    {"allocator",
     "remove empty_cache() from the loop; set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; keep tensor shapes fixed",
     "a run with memory to spare in which that rank is just as late"},
    {"network",
     "check that rank's network interface, cable and switch port for errors, retransmits and link rate",
     "a bandwidth test from that host that is as fast as from the others"},
    {"input_imbalance",
     "balance the work per batch, not the number of batches: bucket samples by length, or share them out by tokens",
     "batches of equal size in which that rank is just as late"},
    {"stage_imbalance",
     "move layers from that stage to its neighbours; the last stage also has the loss and the embedding",
     "a split into equal measured times in which that stage is just as late"},
    {"gpu_throttle",
     "check that GPU's cooling and power limit: it is clocked below its peers; "
     "replace it if that lasts",
     "the same clock as its peers' while it is slow"},
    {"gpu_memory",
     "check that GPU for ECC errors and remapped rows, and for other jobs on it (MIG, MPS)",
     "compute-bound kernels that are slower there, too"},
    {"device", "give the slower device a smaller share, or use equal ones",
     "the same rank, just as late on another device"},
    {"compute",
     "compare that phase with another rank's in the timeline; "
     "if the work is the same, the core or device is slower or shared",
     "different operators, or more of them, on that rank: then it is the work, not the device"},
};

const Advice* advice_of(std::string_view cause) {
  const auto found = std::ranges::find(kAdvice, cause, &Advice::cause);
  return found == std::end(kAdvice) ? nullptr : &*found;
}

// For the C library: without a GPU there is no other allocator. glibc returns free memory at the
// top of its heap from 128 KiB on, and maps blocks from 128 KiB on afresh each time (mallopt(3),
// M_TRIM_THRESHOLD and M_MMAP_THRESHOLD; the latter grows up to 32 MiB automatically).
constexpr std::string_view kKeepHostMemory =
    "keep freed memory in the process: MALLOC_TRIM_THRESHOLD_=1073741824 and "
    "MALLOC_MMAP_THRESHOLD_=1073741824 on all ranks, or preload jemalloc or tcmalloc";

std::string straggler_advice(const RuleInput& input, const Straggler& s) {
  if (s.cause == "compute" && !s.rank)
    return "balance the work per batch across ranks: batches differ in cost";
  if (s.cause == "allocator" && !has_gpu(input)) return std::string(kKeepHostMemory);
  const Advice* advice = advice_of(s.cause);
  return advice == nullptr ? std::string() : std::string(advice->what);
}

// The culprit is a whole stage of a pipeline, not a host.
bool is_stage(const Straggler& s) {
  return !s.host_ranks.empty() && s.host.empty() && !s.role.empty();
}

// Ranks that work together.
bool is_group(const Straggler& s) { return !s.group.empty(); }

// "rank 3", "host b (ranks 4, 5, 6, 7)", "stage 4 of 4 (ranks 6, 7)", "ranks 4, 5"; for a host
// without a recorded name "the host of ranks 4, 5".
std::string culprit(const Straggler& s) {
  if (s.host_ranks.empty()) return fmt::format("rank {}", *s.rank);
  if (is_group(s)) return list_of(s.host_ranks);
  if (is_stage(s)) return fmt::format("{} ({})", s.role, list_of(s.host_ranks));
  if (s.host.empty()) return fmt::format("the host of {}", list_of(s.host_ranks));
  return fmt::format("host {} ({})", s.host, list_of(s.host_ranks));
}

std::string straggler_title(const RuleInput& input, const Verdict& v) {
  const Straggler& s = v.straggler;
  const std::string cost =
      fmt::format("+{} per step ({}), in {} of steps", ms(s.cost_ns),
                  format_share(share_of(input, s.cost_ns)), format_share(v.share_of_steps));
  if (!s.rank && s.cause == "network")
    return fmt::format("transfers between hosts became slower: {}", cost);
  if (!s.rank) {
    return fmt::format("a different rank is late each time: +{} per step ({})", ms(s.cost_ns),
                       format_share(share_of(input, s.cost_ns)));
  }
  if (!v.named) {
    return fmt::format("{} {}: {}", culprit(s),
                       is_group(s) ? "are slower than their peers" : "is slower than its peers",
                       cost);
  }
  const std::string who_holds = fmt::format(
      "{} {}", culprit(s), is_group(s) ? "together hold everyone up" : "holds everyone up");
  if (s.shape == "persistent") return fmt::format("{}: {}", who_holds, cost);
  return fmt::format("{} {}: {}", who_holds,
                     s.shape == "periodic" ? "at regular intervals" : "now and then", cost);
}

std::string straggler_detail(const RuleInput& input, const Verdict& v) {
  const Straggler& s = v.straggler;
  const std::string without =
      fmt::format("without {} a step takes {} ± {}", is_group(s) ? "them" : "it", ms(v.step_ns),
                  ms(s.bound_ns));
  const std::string whose = is_group(s) ? fmt::format("rank {}'s", *s.rank)
                            : s.rank    ? "its"
                                        : "that rank's";
  std::string detail;
  if (s.cause == "network") {
    detail = without;
  } else if (v.kind.empty()) {
    detail = fmt::format("{} own delay is {} per step, spread over several kinds of work; {}",
                         whose, ms(s.own_delay_ns), without);
  } else {
    detail =
        fmt::format("{} {} is {}{}, the other ranks' median {}; {}", whose, v.kind, ms(v.kind_ns),
                    s.shape == "persistent" ? "" : " in those steps", ms(v.peers_kind_ns), without);
  }
  if (s.onset_step) detail += fmt::format("; since step {}", *s.onset_step);
  if (is_group(s)) {
    detail += fmt::format(
        "; the ranks of {} wait for each other, so the price is that of all of them", s.group);
  }
  if (!s.role.empty() && !is_stage(s)) {
    detail += fmt::format("; {} a rank of {}",
                          is_group(s) ? fmt::format("rank {} is", *s.rank) : "it is", s.role);
  }
  const bool two = input.report.breakdown && input.report.breakdown->per_rank.size() == 2;
  if (two && v.named) detail += "; with two ranks this is only relative to the other one";
  if (two && !v.named) detail += "; two ranks that share cores can differ this much by chance";
  return detail;
}

void explain(const RuleInput& input, const Verdict& v, Finding& finding) {
  const Straggler& s = v.straggler;
  finding.decided_by = v.decided_by;
  finding.refuted_by = v.refuted_by;
  if (!finding.decided_by.empty()) return;
  finding.decided_by = {
      fmt::format(
          "own delay {} per step, mean over {} steady steps: its own work between synchronisation points, less the peers' median",
          ms(s.own_delay_ns), s.n),
      fmt::format(
          "cost {} ± {} (95 %): the synchronisation points replayed with the peers' median in its place",
          ms(s.cost_ns), ms(s.bound_ns)),
      fmt::format("visible in {} of the steps: {}", format_share(v.share_of_steps), s.shape)};
  if (input.report.detection) {
    const Detection& d = *input.report.detection;
    finding.decided_by.push_back(fmt::format(
        "a lasting delay of {} would be detected with probability {} in {} ranks and {} steps; a culprit is named from {} on",
        ms(d.floor_ns), format_share(d.power), d.ranks, d.steps, ms(d.named_ns)));
  }
  if (const Advice* advice = advice_of(s.cause); advice != nullptr)
    finding.refuted_by.push_back(std::string(advice->refuted_by));
  finding.refuted_by.push_back("a run with another rank on that machine that shows no delay");
}

// The change to replay without it.
std::string removed_by(const Straggler& s) {
  if (s.cause == "network") return {};
  if (!s.host.empty()) return fmt::format("host:{}=peers", s.host);
  if (!s.rank) return s.host_ranks.empty() ? "stragglers=none" : "";
  return s.host_ranks.size() > 1 ? "" : fmt::format("rank:{}=peers", *s.rank);
}

std::vector<Finding> straggler(const RuleInput& input) {
  std::vector<Finding> findings;
  for (const Verdict& v : input.verdicts) {
    const Straggler& s = v.straggler;
    Finding finding;
    finding.severity = v.named ? std::max(kWarn, severity_of(share_of(input, s.cost_ns))) : kInfo;
    finding.title = straggler_title(input, v);
    finding.detail = straggler_detail(input, v);
    finding.advice = straggler_advice(input, s);
    finding.cost_ns = s.cost_ns;
    finding.bound_ns = s.bound_ns;
    finding.cause = s.cause;
    finding.confidence = s.confidence;
    finding.evidence = s.evidence;
    if (s.rank) finding.ranks = s.host_ranks.empty() ? std::vector{*s.rank} : s.host_ranks;
    finding.removed_by = removed_by(s);
    explain(input, v, finding);
    findings.push_back(std::move(finding));
  }
  return findings;
}

constexpr Rule kStraggler = {
    .name = "balance.straggler",
    .finds =
        "a rank's own work takes longer than its peers', which makes the run longer; the cause says why: "
        "gpu_throttle (S1), cpu_contention (S2), dataloader (S3), input_imbalance (S4), gc (S5), rank0_work or checkpoint (S6), stage_imbalance (S7); "
        "the detail says since which step "
        "(S8)",
    .costs = "counterfactual: the steps with the peers' median in that rank's place",
    .guard = "below the detection floor; severity info if the cost is too low to name a rank",
    .suppressed_by = "comm.slow-group",
    .advice = "compare that rank with another in the timeline",
    .detect = straggler};

// Lateness of the last rank at a collective of a step: the largest in that step.
struct Lateness {
  int rank = 0;
  int64_t ns = 0;
};

std::map<int64_t, Lateness> longest_pauses(const RuleInput& input) {
  std::map<int64_t, Lateness> pauses;  // by index of the step
  if (input.matching == nullptr || input.steps == nullptr) return pauses;
  const std::span<const AlignedStep> steady = input.steps->steady();
  for (const Instance& instance : input.matching->instances) {
    if (!instance.step || !instance.last_arriver || *instance.step < steady.front().index ||
        *instance.step > steady.back().index)
      continue;
    const Member& last = instance.members[*instance.last_arriver];
    for (const Member& member : instance.members) {
      Lateness& most = pauses[*instance.step];
      if (member.wait_ns > most.ns) most = {input.digests[last.digest].rank, member.wait_ns};
    }
  }
  const auto least =
      static_cast<int64_t>(kLongPause * static_cast<double>(input.steps->info.median_ns));
  std::erase_if(pauses, [&](const auto& step) { return step.second.ns < least; });
  return pauses;
}

// "most of it is in step 37, where rank 0 came 1.20 s late"; "" = it is spread over many steps.
std::string few_pauses(const RuleInput& input, int64_t waiting_ns) {
  const std::map<int64_t, Lateness> pauses = longest_pauses(input);
  if (pauses.empty() || pauses.size() > kFewPauses) return {};
  std::vector<int64_t> steps;
  std::vector<int> ranks;
  int64_t longest = 0;
  int64_t sum = 0;
  for (const auto& [step, late] : pauses) {
    steps.push_back(step);
    ranks.push_back(late.rank);
    longest = std::max(longest, late.ns);
    sum += late.ns;
  }
  if (static_cast<double>(sum) / static_cast<double>(steady_steps(input)) <
      kMostOfWaiting * static_cast<double>(waiting_ns))
    return {};
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return fmt::format("most of it is in step{} {}, where {} came {}{} late",
                     steps.size() == 1 ? "" : "s", fmt::join(steps, ", "), list_of(ranks),
                     steps.size() == 1 ? "" : "up to ", format_duration({longest}));
}

// Waiting that no culprit explains; if there is a culprit, it is a symptom of that.
std::optional<Measured> waiting(const RuleInput& input) {
  const int64_t steps = steady_steps(input);
  if (!input.report.overlap || steps <= 0) return {};
  std::vector<int64_t> waits;
  std::vector<int> ranks;
  for (const RankOverlap& rank : input.report.overlap->per_rank) {
    waits.push_back(rank.exposed_wait_ns / steps);
    ranks.push_back(rank.rank);
  }
  if (waits.size() < 2) return {};
  const int64_t cost = median_ns(waits);
  int64_t explained = 0;
  for (const Verdict& v : input.verdicts) explained += v.named ? v.straggler.cost_ns : 0;
  std::string culprit = "no rank is persistently late on its own account";
  if (explained != 0) culprit = "part of this is waiting for the culprit";
  if (explained != 0 && static_cast<double>(explained) < kOthersShare * static_cast<double>(cost))
    culprit += ", but less than half";
  if (const std::string few = few_pauses(input, cost); !few.empty()) culprit += "; " + few;
  return Measured{.cost_ns = cost,
                  .figures = {{"culprit", culprit}, {"waiting", waits.size()}},
                  .evidence = steps_evidence(input, ranks)};
}

constexpr Rule kWaiting = {
    .name = "balance.waiting",
    .finds = "the median rank waits for others for at least {at least} of the step",
    .costs = "info: median over ranks of the exposed wait",
    .guard = "below {at least} of the step, or one rank",
    .suppressed_by =
        "balance.straggler, parallel.bubble, comm.server-bottleneck, comm.slow-group, comm.all-to-all-imbalance",
    .advice =
        "expected where ranks share cores; otherwise look for jitter: other processes, uneven batches",
    .judged = {.cause = "mixed", .confidence = 0.5, .at_least = kWarnShare, .severity = kInfo},
    .title = "ranks wait for each other: {cost}",
    .detail = "{culprit}",
    .decided_by =
        {"median over {waiting} ranks of the time in collectives before the last member arrived"},
    .refuted_by = {"a longer recording that names a culprit"},
    .measure = waiting};

}  // namespace

std::vector<Rule> balance_rules() { return {kStraggler, kWaiting}; }

}  // namespace dprof::analyzer
