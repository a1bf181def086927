// SPDX-License-Identifier: Apache-2.0
// Waiting for data, and how it comes to the device. What concerns which samples the ranks read
// stands in samples.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/rules/facts_support.h"
#include "analyzer/rules/rule.h"
#include "analyzer/rules/samples.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kBoundShare = 0.05;
constexpr double kSingleProcessShare = 0.02;
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

std::vector<Finding> bound(const RuleInput& input) {
  const std::vector<TimeOfRank> waits = times_of(input, Category::kInputWait);
  const std::vector<int> ranks = at_least(waits, floor_of(input, kBoundShare));
  if (!is_most(ranks.size(), waits.size())) return {};
  const int64_t cost = median_of(waits);
  Finding finding = priced(input, cost, 0.7, "dataloader");
  finding.ranks = ranks;
  finding.title =
      fmt::format("{} wait for input: {}",
                  ranks.size() == waits.size() ? "all ranks" : "most ranks", per_step(input, cost));
  finding.detail = fmt::format("median over ranks of the time in the loader; {}", kUpperBound);
  finding.evidence = evidence_of(input, ranks, schema::Marker::kInput);
  finding.decided_by = {fmt::format("{} of {} ranks wait for at least {} of the step", ranks.size(),
                                    waits.size(), format_share(kBoundShare))};
  std::vector<int64_t> depths;
  for (const RankDigest& digest : input.digests) {
    for (const BatchFact& batch : digest.facts.batches) {
      if (batch.queue_depth) depths.push_back(*batch.queue_depth);
    }
  }
  if (!depths.empty()) {
    const auto empty = static_cast<double>(std::ranges::count(depths, 0));
    finding.decided_by.push_back(
        fmt::format("no batch was ready when one was asked for in {} of {} cases",
                    format_share(empty / static_cast<double>(depths.size())), depths.size()));
  }
  finding.refuted_by = {"a run with synthetic or cached input that is as slow"};
  return {std::move(finding)};
}

// Of the threads that belong to no part of PyTorch that is known: workers of a loader, or of a
// library's pool.
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
  // Workers that do not keep up have an empty queue, too; but they are busy.
  return never_ready && busy_threads(digest).empty() ? Workers::kNone : Workers::kUnknown;
}

std::vector<Finding> single_process(const RuleInput& input) {
  std::vector<TimeOfRank> waits = times_of(input, Category::kInputWait);
  bool named = true;
  std::erase_if(waits, [&](const TimeOfRank& wait) {
    const RankDigest* digest = digest_of(input, wait.rank);
    if (digest == nullptr || workers_of(*digest) != Workers::kNone) return true;
    named = named && digest->facts.single_process_loads > 0;
    return false;
  });
  // A single rank whose loading is slow is a straggler.
  const int64_t cost = lower_median(waits);
  if (waits.empty() || cost < floor_of(input, kSingleProcessShare)) return {};
  Finding finding = priced(input, cost, named ? 0.8 : 0.6, "dataloader");
  for (const TimeOfRank& wait : waits) finding.ranks.push_back(wait.rank);
  finding.title =
      fmt::format("the training thread makes each batch itself: {}", per_step(input, cost));
  finding.detail = fmt::format("{} load data in the training process (num_workers = 0); {}",
                               who(input, finding.ranks), kUpperBound);
  finding.evidence = evidence_of(input, finding.ranks, schema::Marker::kInput);
  finding.decided_by = {
      named
          ? "the loader's ranges are those of PyTorch's single-process iterator"
          : "no batch was ever ready when one was asked for, and no thread of the process was busy that could have been making one",
      fmt::format("half of these ranks spend at least {} of a step there", ms(cost))};
  finding.refuted_by = {"a run with num_workers > 0 that is as slow"};
  return {std::move(finding)};
}

// Whether a rank's copies to its device come from memory that the device cannot read by itself.
struct CopyVerdict {
  bool pageable = false;
  bool slow = false;  // slower than from page-locked memory
  std::string why;
};

CopyVerdict judge_copies(const HostCopies& copies) {
  const auto share = [](int64_t part, int64_t all) {
    return all <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
  };
  CopyVerdict verdict;
  if (copies.pageable + copies.pinned > 0) {
    const int64_t known = copies.pageable_bytes + copies.pinned_bytes;
    verdict.pageable = share(copies.pageable_bytes, known) >= kMostCopies;
    if (copies.pageable_ns > 0 && copies.pinned_ns > 0) {
      verdict.slow = share(copies.pageable_bytes, copies.pageable_ns) <
                     kSlowCopy * share(copies.pinned_bytes, copies.pinned_ns);
    }
    verdict.why =
        fmt::format("{} of {} are copied from pageable memory, as the copies say",
                    format_share(share(copies.pageable_bytes, known)), format_bytes(known));
    return verdict;
  }
  verdict.pageable = copies.sampled >= kFewestInputSampled &&
                     share(copies.held_host_up, copies.sampled) >= kHeldUpShare;
  verdict.why =
      fmt::format("the calling thread was held up until the copy was done in {} of {} large copies",
                  copies.held_host_up, copies.sampled);
  return verdict;
}

std::vector<Finding> pageable_copies(const RuleInput& input) {
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
  const int64_t cost = lower_median(costs);
  if (costs.empty() || cost < floor_of(input, kInfoShare)) return {};
  Finding finding = priced(input, cost, 0.6, "dataloader");
  for (const TimeOfRank& time : costs) finding.ranks.push_back(time.rank);
  finding.title = fmt::format("batches are copied to the device from pageable memory: {}",
                              per_step(input, cost));
  finding.detail = fmt::format(
      "nothing runs on the device meanwhile{}; {}",
      slow ? ", and the copies run at less than 60 % of the rate from page-locked memory" : "",
      kUpperBound);
  finding.evidence = steps_evidence(input, finding.ranks);
  finding.decided_by = {why};
  finding.refuted_by = {"a run with pin_memory=True and non_blocking=True that is as slow"};
  return {std::move(finding)};
}

// What an epoch's first batch takes longer than the others, of each epoch but the first.
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

std::vector<Finding> epoch_restart(const RuleInput& input) {
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
    if (shown.size() < 4)
      shown.push_back(
          evidence(digest.rank, "loader_event", std::move(restarts.rows), restarts.span));
  }
  const int64_t cost = lower_median(costs);
  if (costs.empty() || cost < floor_of(input, kInfoShare)) return {};
  Finding finding = priced(input, cost, 0.6, "dataloader");
  for (const TimeOfRank& time : costs) finding.ranks.push_back(time.rank);
  finding.title = fmt::format("each epoch begins with a long wait for its first batch: {}",
                              per_step(input, cost));
  finding.detail = fmt::format(
      "up to {} more than for other batches, at the start of {} epochs; divided by all steps",
      ms(each_ns), epochs);
  finding.evidence = std::move(shown);
  finding.decided_by = {
      "the first wait of each epoch but the run's first, less the median of the epoch's others"};
  finding.refuted_by = {"a run with persistent workers that waits as long"};
  return {std::move(finding)};
}

std::vector<Finding> cpu_oversubscription(const RuleInput& input) {
  std::vector<TimeOfRank> queued = times_of(input, "host.preempted");
  const std::vector<TimeOfRank> runnable = times_of(input, "compute.runnable");
  for (size_t i = 0; i < queued.size() && i < runnable.size(); ++i) queued[i].ns += runnable[i].ns;
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
    cores = std::max(cores, static_cast<double>(cpu_ns) / static_cast<double>(std::max<int64_t>(
                                                              1, digest->span.length().ns)));
    return false;
  });
  if (queued.empty() || !is_most(queued.size(), all)) return {};
  const int64_t cost = median_of(queued);
  Finding finding = priced(input, cost, 0.6, "cpu_contention");
  for (const TimeOfRank& time : queued) finding.ranks.push_back(time.rank);
  finding.title = fmt::format("the process's own threads take the training thread's core: {}",
                              per_step(input, cost));
  finding.detail = fmt::format(
      "the training thread was ready to run and on no core for so long; "
      "up to {} other busy threads in a process, which use {} cores together",
      threads, number(cores));
  finding.evidence = steps_evidence(input, finding.ranks);
  finding.decided_by = {
      fmt::format("run-queue delay of the training thread: {} per step, median over {} ranks",
                  ms(cost), queued.size()),
      fmt::format("{} threads that use at least {} of a core each", threads,
                  format_share(kBusyCoreShare))};
  finding.refuted_by = {"a run with fewer workers or OMP_NUM_THREADS=1 that waits as long"};
  return {std::move(finding)};
}

constexpr Rule kInputRules[] = {
    {.name = "input.bound",
     .finds = "More than half of the ranks wait for input for at least 5 % of the step",
     .severity = "median over ranks of the wait for input",
     .guard = "half of the ranks or fewer wait that long: a rank that waits alone is a straggler",
     .suppressed_by =
         "input.single-process, input.epoch-restart, input.cpu-oversubscription, balance.straggler",
     .advice = "more loader workers, prefetching, cheaper decoding, or a cache",
     .detect = bound},
    {.name = "input.single-process",
     .finds = "Batches are made by the training thread, for at least 2 % of the step",
     .severity = "lower median over ranks of the wait for input",
     .guard = "loader workers are seen, or it cannot be told whether there are any",
     .suppressed_by = "balance.straggler",
     .advice = "num_workers > 0 (workers() of LibTorch's loader), with persistent_workers",
     .detect = single_process},
    {.name = "input.pageable-copies",
     .finds =
         "Batches are copied to the device from pageable memory, and nothing hides 1 % of the step of it",
     .severity = "exposed time of copies to the device",
     .guard = "copies come from page-locked memory, or computation hides them",
     .suppressed_by = "balance.straggler",
     .advice =
         "pin_memory=True in the loader and .to(device, non_blocking=True), or a stream that copies the next batch ahead",
     .detect = pageable_copies},
    {.name = "input.epoch-restart",
     .finds = "The first batch of each epoch is waited for longer than others",
     .severity = "that, divided by all steps",
     .guard = "below 1 % of the step; the first epoch, whose start is the run's",
     .suppressed_by = "balance.straggler",
     .advice = "persistent_workers=True, and prefetching over the end of an epoch",
     .detect = epoch_restart},
    {.name = "input.cpu-oversubscription",
     .finds = "The training thread waits for a core while several threads of its process are busy",
     .severity = "run-queue delay of the training thread",
     .guard =
         "below 3 % of the step, or the process has no two busy threads: then it is somebody else's work",
     .suppressed_by = "balance.straggler",
     .advice = "fewer loader workers or threads: OMP_NUM_THREADS, torch.set_num_threads; "
               "workers × threads × ranks should not exceed the cores",
     .detect = cpu_oversubscription},
    {.name = "input.shards-overlap",
     .ids = "M1",
     .finds = "Ranks that train one model read the same samples",
     .severity = "share of the steps that read what another rank reads, too",
     .guard =
         "hashes were not announced, ranks pass messages (stages of one pipeline), or hardly any hash agrees",
     .suppressed_by = "",
     .advice = "give each rank a share of the data: DistributedSampler(num_replicas, rank)",
     .detect = shards_overlap},
    {.name = "input.order-repeats",
     .ids = "M2",
     .finds = "The samples come in the same order in consecutive epochs",
     .severity = "none in time: the model sees the same sequence again",
     .guard = "fewer than 3 batches in an epoch, fewer than 2 epochs, or hashes were not announced",
     .suppressed_by = "",
     .advice = "call sampler.set_epoch(epoch) at the start of each epoch; "
               "in C++ on the sampler that the loader really uses, for make_data_loader copies it",
     .detect = order_repeats},
    {.name = "input.shards-uneven",
     .ids = "M4",
     .finds = "Ranks have different numbers of batches: some end early, or are epochs ahead",
     .severity = "fatal where the others then wait for ever",
     .guard = "the rank was killed, or stood within a step when it ended",
     .suppressed_by = "",
     .advice = "equal shards: a sampler that pads, drop_last=True, or join() around the loop",
     .detect = shards_uneven},
};

}  // namespace

std::span<const Rule> input_rules() { return kInputRules; }

}  // namespace dprof::analyzer
