// SPDX-License-Identifier: Apache-2.0
// Waiting for data, and copying it to the device. samples.cpp checks which samples the ranks read.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/rules/families.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kBoundShare = 0.05;
constexpr size_t kFewestWaitedBatches = 10;
constexpr double kBusyCoreShare = 0.10;  // of a core
constexpr size_t kManyThreads = 2;
constexpr double kSlowCopy = 0.6;  // of the rate from page-locked memory
constexpr double kMostCopies = 0.5;
constexpr int64_t kFewestInputSampled = 8;
constexpr double kHeldUpShare = 0.8;
constexpr size_t kFewestInEpoch = 3;

int64_t floor_of(const RuleInput& input, double share) {
  return std::max<int64_t>(1,
                           static_cast<int64_t>(share * static_cast<double>(median_step(input))));
}

std::optional<Measured> bound(const RuleInput& input) {
  const std::vector<TimeOfRank> waits = times_of(input, Category::kInputWait);
  const std::vector<int> ranks = at_least(waits, floor_of(input, kBoundShare));
  if (!is_most(ranks.size(), waits.size())) return {};
  Measured measured{.cost_ns = median_of(waits),
                    .ranks = ranks,
                    .figures = {{"most", ranks.size() == waits.size() ? "all" : "most"},
                                {"all", waits.size()},
                                {"share", format_share(kBoundShare)}},
                    .evidence = evidence_of(input, ranks, schema::Marker::kInput)};
  int64_t known = 0;
  int64_t empty = 0;
  for (const RankDigest& digest : input.digests) {
    for (const BatchFact& batch : digest.facts.batches) {
      known += batch.queue_depth ? 1 : 0;
      empty += batch.queue_depth == 0 ? 1 : 0;
    }
  }
  if (known > 0) {
    measured.decided_by = {fmt::format("no batch was ready in {} of {} requests",
                                       format_share(ratio(empty, known)), known)};
  }
  return measured;
}

constexpr Rule kBound = {
    .name = "input.bound",
    .finds = "more than half of the ranks wait for input for at least 5 % of the step",
    .costs = "median over ranks of the wait for input",
    .guard = "at most half of the ranks wait that long: a rank that waits alone is a straggler",
    .suppressed_by =
        "input.single-process, input.epoch-restart, input.cpu-oversubscription, balance.straggler",
    .advice = "raise num_workers; then prefetch_factor, cheaper decoding or a cache",
    .removed_by = "input=0",
    .judged = {.cause = "dataloader", .confidence = 0.7},
    .title = "{most} ranks wait for input: {cost}",
    .detail = "time in the loader, median over ranks; {upper bound}",
    .decided_by = {"{n} of {all} ranks wait for at least {share} of the step"},
    .refuted_by = {"a run with synthetic or cached input that is no faster"},
    .measure = bound};

// Threads that belong to no known part of PyTorch: workers of a loader, or of a library's pool.
std::vector<const ThreadFact*> busy_threads(const RankDigest& digest) {
  std::vector<const ThreadFact*> busy;
  const double span = static_cast<double>(digest.span.length().ns);
  for (const ThreadFact& thread : digest.facts.threads) {
    const bool free =
        thread.role == schema::ThreadRole::kLoader || thread.role == schema::ThreadRole::kOther;
    if (free && static_cast<double>(thread.cpu_ns) >= kBusyCoreShare * span)
      busy.push_back(&thread);
  }
  return busy;
}

enum class Workers : uint8_t { kUnknown, kNone, kSome };

Workers workers_of(const RankDigest& digest) {
  const Facts& facts = digest.facts;
  if (facts.worker_loads > 0) return Workers::kSome;
  if (facts.single_process_loads > 0) return Workers::kNone;
  const bool never_ready =
      facts.batches.size() >= kFewestWaitedBatches &&
      std::ranges::all_of(facts.batches, [](const BatchFact& b) { return b.queue_depth == 0; });
  // Workers that are too slow also leave the queue empty, but they are busy.
  return never_ready && busy_threads(digest).empty() ? Workers::kNone : Workers::kUnknown;
}

std::optional<Measured> single_process_loading(const RuleInput& input) {
  std::vector<TimeOfRank> waits = times_of(input, Category::kInputWait);
  bool named = true;
  std::erase_if(waits, [&](const TimeOfRank& wait) {
    const RankDigest* digest = digest_of(input, wait.rank);
    if (digest == nullptr || workers_of(*digest) != Workers::kNone) return true;
    named = named && digest->facts.single_process_loads > 0;
    return false;
  });
  // A single rank with slow loading is a straggler.
  Measured measured = measured_of(waits);
  measured.confidence = named ? 0.8 : 0.6;
  measured.figures = {
      {"seen",
       named
           ? "the loader's ranges are those of PyTorch's single-process iterator"
           : "no batch was ever ready when requested, and no other thread of the process was busy preparing one"}};
  measured.evidence = evidence_of(input, measured.ranks, schema::Marker::kInput);
  return measured;
}

constexpr Rule kSingleProcessLoading = {
    .name = "input.single-process",
    .finds = "the training thread prepares batches itself, for at least {at least} of the step",
    .costs = "lower median over ranks of the wait for input",
    .guard = "there are loader workers, or it is unknown whether there are",
    .suppressed_by = "balance.straggler",
    .advice = "set num_workers > 0 (LibTorch: workers()) and persistent_workers=True",
    .removed_by = "input=0",
    .judged = {.cause = "dataloader", .at_least = 0.02},
    .title = "the training thread loads each batch itself: {cost}",
    .detail = "{who} {loads|load} data in the training process (num_workers = 0); {upper bound}",
    .decided_by = {"{seen}", "half of these ranks spend at least {ms} of a step there"},
    .refuted_by = {"a run with num_workers > 0 that is no faster"},
    .measure = single_process_loading};

// Whether a rank's copies to its device come from pageable memory.
struct CopyVerdict {
  bool pageable = false;
  bool slow = false;  // slower than from page-locked memory
  std::string why;
};

CopyVerdict judge_copies(const HostCopies& copies) {
  CopyVerdict verdict;
  if (copies.pageable + copies.pinned > 0) {
    const int64_t known = copies.pageable_bytes + copies.pinned_bytes;
    const double share = ratio(copies.pageable_bytes, known);
    verdict.pageable = share >= kMostCopies;
    verdict.slow = copies.pageable_ns > 0 && copies.pinned_ns > 0 &&
                   ratio(copies.pageable_bytes, copies.pageable_ns) <
                       kSlowCopy * ratio(copies.pinned_bytes, copies.pinned_ns);
    verdict.why =
        fmt::format("{} of {} are copied from pageable memory, according to the copy records",
                    format_share(share), format_bytes(known));
    return verdict;
  }
  verdict.pageable = copies.sampled >= kFewestInputSampled &&
                     ratio(copies.held_host_up, copies.sampled) >= kHeldUpShare;
  verdict.why =
      fmt::format("the calling thread blocked until the copy was done in {} of {} large copies",
                  copies.held_host_up, copies.sampled);
  return verdict;
}

std::optional<Measured> pageable_copies(const RuleInput& input) {
  std::vector<TimeOfRank> costs = times_of(input, "copy.h2d");
  std::string why;
  bool slow = false;
  std::erase_if(costs, [&](const TimeOfRank& time) {
    const RankDigest* digest = digest_of(input, time.rank);
    if (digest == nullptr) return true;
    const CopyVerdict verdict = judge_copies(digest->facts.host_copies);
    if (!verdict.pageable) return true;
    why = verdict.why;
    slow = slow || verdict.slow;
    return false;
  });
  Measured measured = measured_of(costs);
  measured.figures = {
      {"why", why},
      {"slow",
       slow ? ", and the copies run at less than 60 % of the rate from page-locked memory" : ""}};
  return measured;
}

constexpr Rule kPageableCopies = {
    .name = "input.pageable-copies",
    .finds =
        "batches are copied to the device from pageable memory, and the exposed copies take at least {at least} of the step",
    .costs = "exposed time of copies to the device",
    .guard = "copies come from page-locked memory, or overlap computation",
    .suppressed_by = "balance.straggler",
    .advice =
        "set pin_memory=True in the loader and copy with .to(device, non_blocking=True); or prefetch the next batch on a side stream",
    .judged = {.cause = "dataloader", .confidence = 0.6, .at_least = kInfoShare},
    .title = "batches are copied to the device from pageable memory: {cost}",
    .detail = "the device is idle meanwhile{slow}; {upper bound}",
    .decided_by = {"{why}"},
    .refuted_by = {"a run with pin_memory=True and non_blocking=True that is no faster"},
    .measure = pageable_copies};

// The extra time of an epoch's first batch over the others, for each epoch but the first.
struct Restarts {
  int64_t extra_ns = 0;  // of all epochs together
  int64_t epochs = 0;
  std::vector<int64_t> rows;
  Interval span;
};

Restarts restarts_of(const RankDigest& digest) {
  Restarts restarts;
  std::vector<std::vector<const BatchFact*>> epochs;
  for (const BatchFact& batch : digest.facts.batches) {
    if (!batch.epoch || !batch.wait_ns) continue;
    if (epochs.empty() || epochs.back().front()->epoch != batch.epoch) epochs.emplace_back();
    epochs.back().push_back(&batch);
  }
  for (size_t i = 1; i < epochs.size(); ++i) {
    if (epochs[i].size() < kFewestInEpoch) continue;
    std::vector<int64_t> others;
    for (size_t b = 1; b < epochs[i].size(); ++b) others.push_back(*epochs[i][b]->wait_ns);
    const BatchFact& first = *epochs[i].front();
    const int64_t usual = median_ns(std::move(others));
    restarts.extra_ns += std::max<int64_t>(0, *first.wait_ns - usual);
    restarts.rows.push_back(first.row);
    if (++restarts.epochs == 1) restarts.span.begin = first.at;
    restarts.span.end = {first.at.ns + *first.wait_ns};
  }
  return restarts;
}

std::optional<Measured> epoch_restart(const RuleInput& input) {
  std::vector<TimeOfRank> costs;
  std::vector<Evidence> shown;
  int64_t epochs = 0;
  int64_t each_ns = 0;
  for (const RankDigest& digest : input.digests) {
    Restarts restarts = restarts_of(digest);
    if (restarts.epochs == 0 || digest.steps.empty()) continue;
    costs.push_back({digest.rank, restarts.extra_ns / static_cast<int64_t>(digest.steps.size())});
    epochs = std::max(epochs, restarts.epochs);
    each_ns = std::max(each_ns, restarts.extra_ns / restarts.epochs);
    if (shown.size() < kEvidenceRanks)
      shown.push_back(
          evidence(digest.rank, "loader_event", std::move(restarts.rows), restarts.span));
  }
  Measured measured = measured_of(costs);
  measured.figures = {{"each", ms(each_ns)}, {"epochs", epochs}};
  measured.evidence = std::move(shown);
  return measured;
}

constexpr Rule kEpochRestart = {
    .name = "input.epoch-restart",
    .finds = "the first batch of each epoch takes longer to arrive than others",
    .costs = "the extra wait, spread over all steps",
    .guard = "below {at least} of the step; the first epoch, which includes start-up",
    .suppressed_by = "balance.straggler",
    .advice = "set persistent_workers=True, and prefetch across the end of an epoch",
    .judged = {.cause = "dataloader", .confidence = 0.6, .at_least = kInfoShare},
    .title = "each epoch begins with a long wait for its first batch: {cost}",
    .detail =
        "up to {each} longer than for other batches, at the start of {epochs} epochs; spread over all steps",
    .decided_by =
        {"first wait of each epoch except the run's first, less the median of the epoch's other waits"},
    .refuted_by = {"a run with persistent workers that waits just as long"},
    .measure = epoch_restart};

std::optional<Measured> cpu_oversubscription(const RuleInput& input) {
  std::vector<TimeOfRank> queued =
      sum_of(times_of(input, "host.preempted"), times_of(input, "compute.runnable"));
  const size_t all = queued.size();
  size_t threads = 0;
  double cores = 0;
  std::erase_if(queued, [&](const TimeOfRank& time) {
    const RankDigest* digest = digest_of(input, time.rank);
    if (digest == nullptr || time.ns < floor_of(input, kWarnShare)) return true;
    const std::vector<const ThreadFact*> busy = busy_threads(*digest);
    if (busy.size() < kManyThreads) return true;
    threads = std::max(threads, busy.size());
    int64_t cpu_ns = 0;
    for (const ThreadFact* thread : busy) cpu_ns += thread->cpu_ns;
    cores = std::max(cores, ratio(cpu_ns, std::max<int64_t>(1, digest->span.length().ns)));
    return false;
  });
  if (queued.empty() || !is_most(queued.size(), all)) return {};
  Measured measured = measured_of(queued);
  measured.cost_ns = median_of(queued);
  measured.figures = {
      {"threads", threads}, {"cores", number(cores)}, {"busy", format_share(kBusyCoreShare)}};
  return measured;
}

constexpr Rule kCpuOversubscription = {
    .name = "input.cpu-oversubscription",
    .finds = "the training thread waits for a core while several threads of its process are busy",
    .costs = "run-queue delay of the training thread",
    .guard =
        "below 3 % of the step, or the process has fewer than two busy threads: then other work takes the core",
    .suppressed_by = "balance.straggler",
    .advice =
        "lower num_workers, OMP_NUM_THREADS or torch.set_num_threads(): "
        "workers × threads × ranks should not exceed the cores",
    .judged = {.cause = "cpu_contention", .confidence = 0.6},
    .title = "the process's own threads crowd out the training thread: {cost}",
    .detail =
        "the training thread was ready to run but had no core during that time; "
        "up to {threads} other busy threads per process use {cores} cores together",
    .decided_by = {"run-queue delay of the training thread: {ms} per step, median over {n} ranks",
                   "{threads} threads use at least {busy} of a core each"},
    .refuted_by = {"a run with fewer workers or OMP_NUM_THREADS=1 that waits just as long"},
    .measure = cpu_oversubscription};

}  // namespace

std::vector<Rule> input_rules() {
  return {kBound,        kSingleProcessLoading, kPageableCopies,
          kEpochRestart, kCpuOversubscription,  kShardsOverlap,
          kOrderRepeats, kShardsUneven};
}

}  // namespace dprof::analyzer
