// SPDX-License-Identifier: Apache-2.0
// Where memory is short, wasted or taken and given back all the time: from the report's memory, and
// from calls of the driver.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzer/rules/facts_support.h"
#include "analyzer/rules/host_forecast.h"
#include "analyzer/rules/rule.h"
#include "analyzer/rules/support.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr double kNearOom = 0.05;        // of the device's memory
constexpr double kMemoryEachStep = 0.9;  // calls per step
constexpr double kSlack = 0.25;          // of reserved memory
constexpr double kStuck = 0.10;          // of it, not to be given back
constexpr double kImbalance = 1.15;      // largest over mean peak
constexpr double kMuchHeadroom = 0.40;
constexpr double kWorthBytes = 0.01;  // of the peak: a leak below that per 1,000 steps is no news

double share_of_bytes(int64_t part, int64_t all) {
  return all <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

std::string device_of(const RankMemory& memory) {
  return memory.device < 0 ? std::string("host memory") : fmt::format("device {}", memory.device);
}

std::vector<Evidence> steps_of(const RuleInput& input, const Finding& finding) {
  return steps_evidence(input, finding.ranks);
}

std::vector<Finding> near_oom(const RuleInput& input) {
  if (!input.report.memory) return {};
  Finding finding = unpriced(FindingSeverity::kWarn, 0.8, "allocator");
  double least = 1;
  for (const RankMemory& memory : input.report.memory->per_rank) {
    if (!memory.hard_headroom || !memory.device_total) continue;
    const double headroom = share_of_bytes(*memory.hard_headroom, *memory.device_total);
    if (headroom >= kNearOom) continue;
    finding.ranks.push_back(memory.rank);
    least = std::min(least, headroom);
    if (finding.decided_by.size() < 4) {
      finding.decided_by.push_back(
          fmt::format("rank {}: {} of {} are left at the peak of what the allocator reserves",
                      memory.rank, format_bytes(std::max<int64_t>(0, *memory.hard_headroom)),
                      format_bytes(*memory.device_total)));
    }
  }
  const std::vector<OutOfMemory>& failed = input.report.memory->out_of_memory;
  for (const OutOfMemory& oom : failed) {
    if (std::ranges::count(finding.ranks, oom.rank) == 0) finding.ranks.push_back(oom.rank);
    finding.decided_by.push_back(
        fmt::format("rank {}: an allocation of {} failed", oom.rank, format_bytes(oom.bytes)));
  }
  if (finding.ranks.empty()) return {};
  if (!failed.empty()) finding.severity = FindingSeverity::kCritical;
  finding.title =
      failed.empty()
          ? fmt::format("{} {} within {} of running out of device memory",
                        who(input, finding.ranks), finding.ranks.size() == 1 ? "is" : "are",
                        format_share(std::max(0.0, least)))
          : fmt::format("{} ran out of device memory", list_of(finding.ranks));
  finding.detail = "a larger batch or a longer sequence than those recorded may fail";
  finding.evidence = steps_of(input, finding);
  finding.refuted_by = {"another process on the device used that memory for a while only"};
  return {std::move(finding)};
}

// Calls of the driver that take or give back memory, in the steady run.
struct DriverCalls {
  std::vector<int> ranks;
  double per_step = 0;
  int64_t ns = 0;
};

DriverCalls driver_calls(const RuleInput& input) {
  DriverCalls result;
  for (const RankDigest& digest : input.digests) {
    const CallRate taken = rate_of(input, digest, CallKind::kAllocate);
    const CallRate given = rate_of(input, digest, CallKind::kRelease);
    double calls = std::max(taken.per_step, given.per_step);
    if (input.report.memory) {
      for (const RankMemory& memory : input.report.memory->per_rank) {
        if (memory.rank != digest.rank || memory.device < 0) continue;
        calls = std::max({calls, memory.segment_allocs_per_step.value_or(0),
                          memory.segment_frees_per_step.value_or(0)});
      }
    }
    if (calls < kMemoryEachStep) continue;
    result.ranks.push_back(digest.rank);
    result.per_step = std::max(result.per_step, calls);
    result.ns = std::max(result.ns, taken.ns + given.ns);
  }
  return result;
}

// What the allocator's work costs a step: the device's idle time for it, on the rank that has most.
int64_t allocator_cost(const RuleInput& input, const DriverCalls& calls) {
  int64_t cost = 0;
  for (const TimeOfRank& time : times_of(input, Category::kAllocator)) {
    if (std::ranges::count(calls.ranks, time.rank) != 0) cost = std::max(cost, time.ns);
  }
  return cost > 0 ? cost : calls.ns;
}

// The program itself asks for it.
bool empties_cache(const RuleInput& input, const DriverCalls& calls) {
  const CallingRanks named = callers_of(input, CallKind::kEmptyCache, 0);
  if (named.per_step >= kMemoryEachStep) return true;
  if (!input.report.memory) return false;
  const int64_t steps = steady_steps(input);
  return std::ranges::any_of(input.report.memory->per_rank, [&](const RankMemory& memory) {
    return memory.device >= 0 && std::ranges::count(calls.ranks, memory.rank) != 0 && steps > 0 &&
           static_cast<double>(memory.cache_flushes) >=
               kMemoryEachStep * static_cast<double>(steps) &&
           memory.retries.value_or(0) == 0;
  });
}

std::optional<int64_t> retries_of(const RuleInput& input) {
  if (!input.report.memory) return std::nullopt;
  std::optional<int64_t> most;
  for (const RankMemory& memory : input.report.memory->per_rank) {
    if (memory.retries) most = std::max(most.value_or(0), *memory.retries);
  }
  return most;
}

std::vector<Finding> about_driver_calls(const RuleInput& input, const DriverCalls& calls) {
  Finding finding = priced(input, allocator_cost(input, calls), 0.7, "allocator");
  finding.severity = std::max(finding.severity, FindingSeverity::kWarn);
  finding.ranks = calls.ranks;
  finding.evidence = call_evidence(input, calls.ranks, CallKind::kRelease);
  for (Evidence& taken : call_evidence(input, calls.ranks, CallKind::kAllocate))
    finding.evidence.push_back(std::move(taken));
  if (finding.evidence.empty()) finding.evidence = steps_of(input, finding);
  finding.decided_by = {
      fmt::format("memory is taken from the driver or given back {} times per steady step",
                  number(calls.per_step)),
      fmt::format("the allocator keeps a step waiting for {}", ms(*finding.cost_ns))};
  return {std::move(finding)};
}

std::vector<Finding> cache_churn(const RuleInput& input) {
  const DriverCalls calls = driver_calls(input);
  if (calls.ranks.empty() || !empties_cache(input, calls)) return {};
  std::vector<Finding> findings = about_driver_calls(input, calls);
  for (Finding& finding : findings) {
    finding.title = fmt::format("{} the allocator's cache back in each step: {}",
                                who_does(input, calls.ranks, "gives", "give"),
                                per_step(input, *finding.cost_ns));
    finding.detail =
        "what is given back is taken from the driver again at once, and both wait for the device";
    finding.refuted_by = {"a run without empty_cache() that gives as much memory back"};
  }
  return findings;
}

std::vector<Finding> allocator_stalls(const RuleInput& input) {
  const DriverCalls calls = driver_calls(input);
  const std::optional<int64_t> retries = retries_of(input);
  if (calls.ranks.empty() && retries.value_or(0) == 0) return {};
  if (empties_cache(input, calls)) return {};
  std::vector<Finding> findings = about_driver_calls(input, calls);
  for (Finding& finding : findings) {
    if (calls.ranks.empty()) {
      for (const RankMemory& memory : input.report.memory->per_rank) {
        if (memory.retries.value_or(0) > 0) finding.ranks.push_back(memory.rank);
      }
      finding.evidence = steps_of(input, finding);
      finding.decided_by.clear();
    }
    finding.title = fmt::format("{} memory from the driver in the steady run: {}",
                                who_does(input, finding.ranks, "takes", "take"),
                                per_step(input, *finding.cost_ns));
    finding.detail =
        retries.value_or(0) > 0
            ? fmt::format(
                  "the allocator found no memory {} times, gave its cache back and tried again",
                  *retries)
            : std::string(
                  "its cache does not fit what is asked for: sizes change, or memory is short");
    if (retries) finding.decided_by.push_back(fmt::format("{} retries", *retries));
    finding.refuted_by = {"the calls are of another library's memory, and cost no time"};
  }
  return findings;
}

std::vector<Finding> fragmentation(const RuleInput& input) {
  if (!input.report.memory) return {};
  Finding finding = unpriced(FindingSeverity::kWarn, 0.7, "allocator");
  for (const RankMemory& memory : input.report.memory->per_rank) {
    const Fragmentation& f = memory.fragmentation;
    if (memory.device < 0 || f.slack.value_or(0) <= kSlack ||
        f.non_releasable.value_or(0) <= kStuck)
      continue;
    finding.ranks.push_back(memory.rank);
    if (finding.decided_by.size() >= 4) continue;
    finding.decided_by.push_back(fmt::format(
        "rank {}: {} of the reserved memory is not allocated, {} lies in segments that are partly in use",
        memory.rank, format_share(*f.slack), format_share(*f.non_releasable)));
  }
  if (finding.ranks.empty()) return {};
  finding.title = fmt::format("{} much memory in pieces that nothing can use",
                              who_does(input, finding.ranks, "holds", "hold"));
  finding.detail = finding.decided_by.front();
  finding.evidence = steps_of(input, finding);
  finding.refuted_by = {"a later phase of the run that needs all of it"};
  return {std::move(finding)};
}

constexpr double kSoon = 1000;  // steps until memory ends, to be critical

// When the memory that grows is full, and whether that is soon.
struct Outlook {
  std::string words;
  bool soon = false;
};

Outlook outlook_of(const RuleInput& input, const Leak& leak) {
  if (leak.device >= 0) {
    if (!leak.steps_to_oom) return {"how much there is was not recorded"};
    return {fmt::format("at that rate it is full after {} more steps",
                        format_count(std::llround(*leak.steps_to_oom))),
            *leak.steps_to_oom < kSoon};
  }
  const std::optional<HostForecast> forecast = host_forecast(input, leak.rank);
  if (!forecast) {
    return {
        "when the host's memory ends is not known: no trace of that host says how much was left "
        "(dprof record samples host.memory_available_bytes)"};
  }
  return {
      fmt::format(
          "at that rate the host's memory ends after {}: {} were left, of which {} take {} per step",
          words_of(input, *forecast), format_bytes(forecast->left_bytes), list_of(forecast->ranks),
          format_bytes(std::llround(forecast->bytes_per_step))),
      forecast->earliest < kSoon};
}

// In the order of the report's: steepest first.
std::vector<Finding> leak(const RuleInput& input) {
  std::vector<Finding> findings;
  if (!input.report.memory || !input.report.memory->leaks) return findings;
  Finding finding = unpriced(FindingSeverity::kWarn, 0.8, "allocator");
  const Leak* steepest = nullptr;
  for (const Leak& one : *input.report.memory->leaks) {
    if (one.bytes_per_step <= one.bound) continue;
    if (steepest == nullptr) steepest = &one;
    if (std::ranges::count(finding.ranks, one.rank) == 0) finding.ranks.push_back(one.rank);
    if (finding.decided_by.size() >= 4) continue;
    finding.decided_by.push_back(fmt::format("rank {}: {} per step ± {}, over {} steps, {} in all",
                                             one.rank, format_bytes(one.bytes_per_step),
                                             format_bytes(one.bound), one.steps,
                                             format_bytes(one.risen_bytes)));
  }
  if (steepest == nullptr) return findings;
  const Outlook outlook = outlook_of(input, *steepest);
  if (outlook.soon) finding.severity = FindingSeverity::kCritical;
  std::ranges::sort(finding.ranks);
  finding.title = fmt::format("{} of {} grows by {} per step",
                              steepest->device < 0 ? "host memory" : "device memory",
                              who(input, finding.ranks), format_bytes(steepest->bytes_per_step));
  finding.detail = outlook.words;
  if (!steepest->sites.empty()) {
    const LeakSite& site = steepest->sites.front();
    finding.detail += fmt::format("; most of what stays was allocated in {}",
                                  site.site.empty() ? site.phase : site.site);
  }
  finding.evidence = steps_of(input, finding);
  finding.refuted_by = {"a longer run in which it stops growing: a cache that fills"};
  findings.push_back(std::move(finding));
  return findings;
}

std::vector<Finding> imbalance(const RuleInput& input) {
  if (!input.report.memory || !input.report.memory->imbalance) return {};
  const MemoryImbalance& found = *input.report.memory->imbalance;
  if (found.ranks < 2 || found.max_over_mean <= kImbalance) return {};
  Finding finding = unpriced(FindingSeverity::kInfo, 0.7, "allocator");
  finding.ranks = {found.rank};
  finding.title = fmt::format("rank {} needs {} more memory than the others", found.rank,
                              format_bytes(found.max_less_median));
  finding.detail =
      fmt::format("its peak is {}, the median {}: the batch of all ranks is limited by it",
                  format_bytes(found.peak), format_bytes(found.median));
  finding.evidence = steps_of(input, finding);
  finding.decided_by = {fmt::format("the largest peak is {:.2f} times the mean of {} ranks",
                                    found.max_over_mean, found.ranks)};
  finding.refuted_by = {"ranks that are meant to differ, as pipeline stages do"};
  return {std::move(finding)};
}

// Candidates are worth a line only where memory is what limits the run.
bool memory_is_short(const Memory& memory) {
  return !memory.out_of_memory.empty() ||
         std::ranges::any_of(memory.per_rank, [](const RankMemory& rank) {
           return rank.soft_headroom && rank.device_total &&
                  share_of_bytes(*rank.soft_headroom, *rank.device_total) < kMuchHeadroom;
         });
}

std::vector<Finding> zero_candidate(const RuleInput& input) {
  if (!input.report.memory || !input.report.memory->zero) return {};
  const ZeroSizing& zero = *input.report.memory->zero;
  if (!zero.worthwhile || !memory_is_short(*input.report.memory)) return {};
  Finding finding = unpriced(FindingSeverity::kInfo, 0.6, "allocator");
  finding.ranks = {zero.rank};
  finding.title = fmt::format("training state is {} of the peak, the same on {} ranks",
                              format_share(zero.share), zero.ranks);
  finding.detail = fmt::format(
      "dividing it among them would free {} (optimizer state), {} (and gradients), {} (and parameters) per rank",
      format_bytes(zero.saved_bytes[0]), format_bytes(zero.saved_bytes[1]),
      format_bytes(zero.saved_bytes[2]));
  finding.evidence = steps_of(input, finding);
  finding.decided_by = {fmt::format("parameters, gradients and optimizer state: {} of the peak",
                                    format_share(zero.share))};
  finding.refuted_by = {"the ranks hold different parts already"};
  return {std::move(finding)};
}

std::vector<Finding> activations(const RuleInput& input) {
  if (!input.report.memory || !input.report.memory->checkpointing) return {};
  const CheckpointingSizing& sizing = *input.report.memory->checkpointing;
  if (!sizing.worthwhile || !memory_is_short(*input.report.memory)) return {};
  Finding finding = unpriced(FindingSeverity::kInfo, 0.6, "allocator");
  finding.ranks = {sizing.rank};
  finding.title = fmt::format("activations are {} of the peak", format_share(sizing.share));
  finding.detail = fmt::format("{} on rank {}", format_bytes(sizing.activation_bytes), sizing.rank);
  finding.evidence = steps_of(input, finding);
  finding.decided_by = {finding.title};
  finding.refuted_by = {"a run with checkpointing that needs as much"};
  return {std::move(finding)};
}

std::vector<Finding> retained_graph(const RuleInput& input) {
  if (!input.report.memory) return {};
  Finding finding = unpriced(FindingSeverity::kWarn, 0.6, "allocator");
  int64_t most = 0;
  for (const RankMemory& memory : input.report.memory->per_rank) {
    const int64_t bytes = memory.retained_graph_bytes;
    if (share_of_bytes(bytes, memory.peak_allocated.value_or(0)) < kWorthBytes) continue;
    finding.ranks.push_back(memory.rank);
    most = std::max(most, bytes);
    if (finding.decided_by.size() < 4) {
      finding.decided_by.push_back(
          fmt::format("rank {}, {}: {} of activations at the peak outlived the step after theirs",
                      memory.rank, device_of(memory), format_bytes(bytes)));
    }
  }
  if (finding.ranks.empty()) return {};
  finding.title = fmt::format("{} graphs of earlier steps: {}",
                              who_does(input, finding.ranks, "keeps", "keep"), format_bytes(most));
  finding.detail = "something holds a tensor that still has its graph, as a list of losses does";
  finding.evidence = steps_of(input, finding);
  finding.refuted_by = {"the tensors are a cache without a graph, filled in forward"};
  return {std::move(finding)};
}

std::vector<Finding> headroom_unused(const RuleInput& input) {
  if (!input.report.memory) return {};
  const Report& report = input.report;
  std::vector<Finding> starved = find_named(input, host_rules(), "host.launch-bound");
  if (starved.empty()) starved = find_named(input, compute_rules(), "compute.low-occupancy");
  if (starved.empty()) return {};
  double least = 1;
  std::vector<int> ranks;
  for (const RankMemory& memory : report.memory->per_rank) {
    if (!memory.soft_headroom || !memory.device_total) continue;
    least = std::min(least, share_of_bytes(*memory.soft_headroom, *memory.device_total));
    ranks.push_back(memory.rank);
  }
  if (ranks.empty() || least <= kMuchHeadroom) return {};
  Finding finding = unpriced(FindingSeverity::kInfo, 0.6, "allocator");
  finding.ranks = ranks;
  finding.title = fmt::format("{} of the device memory is free, and the device is not filled",
                              format_share(least));
  finding.detail = "a larger batch gives each kernel more to do";
  finding.evidence = steps_of(input, finding);
  finding.decided_by = {
      starved.front().title,
      fmt::format("at least {} of each device's memory is never used", format_share(least))};
  finding.refuted_by = {"a larger batch that trains worse, or takes as much longer"};
  return {std::move(finding)};
}

constexpr Rule kMemoryRules[] = {
    {.name = "memory.near-oom",
     .finds = "Less than 5 % of the device's memory is left at the peak, or an allocation failed",
     .severity = "a risk",
     .guard = "the size of the device, or what others use of it, is not known",
     .suppressed_by = "memory.leak",
     .advice = "a smaller batch, activation checkpointing, ZeRO, expandable segments",
     .detect = near_oom},
    {.name = "memory.allocator-stalls",
     .finds = "The allocator retries, or memory is taken from the driver in each steady step",
     .severity = "the allocator's time on the rank that has most of it",
     .guard = "less than one call per step, or the program empties the cache itself",
     .suppressed_by = "memory.fragmentation, balance.straggler",
     .advice =
         "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; the largest shape first; a smaller peak",
     .detect = allocator_stalls},
    {.name = "memory.cache-churn",
     .ids = "M16",
     .finds = "The allocator's cache is given back in each step",
     .severity = "the allocator's time on the rank that has most of it",
     .guard = "less than once per step, or the allocator did so because it found no memory",
     .suppressed_by = "balance.straggler",
     .advice = "remove empty_cache() from the loop: it gives no memory to this program",
     .detect = cache_churn},
    {.name = "memory.fragmentation",
     .finds =
         "More than 25 % of reserved memory is not allocated, and more than 10 % cannot be given back",
     .severity = "a risk",
     .guard = "allocator events were not recorded (detail standard and full do, on CUDA)",
     .suppressed_by = "",
     .advice = "expandable segments, max_split_size_mb, sequences in buckets of few lengths",
     .detect = fragmentation},
    {.name = "memory.leak",
     .finds = "Memory grows from step to step",
     .severity =
         "steps until it is full; "
         "of host memory steps and hours until the host has none left for all its ranks, where a trace of the host tells what was left",
     .guard = "the growth is within its own uncertainty, or stops",
     .suppressed_by = "",
     .advice = "detach what is kept (losses, metrics), clear lists and caches",
     .detect = leak},
    {.name = "memory.imbalance",
     .finds = "The largest peak is more than 1.15 times the mean",
     .severity = "the batch that the other ranks could have",
     .guard = "one rank, or devices of different kinds",
     .suppressed_by = "memory.leak",
     .advice =
         "move work of rank 0 (loss, evaluation, copies of the model) elsewhere; divide layers by memory",
     .detect = imbalance},
    {.name = "memory.zero-candidate",
     .finds =
         "Parameters, gradients and optimizer state are at least half of the peak on 4 ranks or more that hold the same, and memory is short",
     .severity = "bytes that dividing them frees",
     .guard = "40 % of the memory is free, or fewer than 4 replicas",
     .suppressed_by = "",
     .advice = "ZeRO 1, 2 or 3 (ZeroRedundancyOptimizer, FSDP)",
     .detect = zero_candidate},
    {.name = "memory.activations",
     .finds = "Activations are at least 60 % of the peak, and memory is short",
     .severity = "bytes of activations",
     .guard = "40 % of the memory is free",
     .suppressed_by = "",
     .advice = "activation checkpointing, autocast to 16 bits",
     .detect = activations},
    {.name = "memory.retained-graph",
     .finds = "Activations outlive the step after theirs",
     .severity = "their bytes at the peak",
     .guard = "allocations were not recorded (detail full), or below 1 % of the peak",
     .suppressed_by = "",
     .advice = "detach() or .item() what is kept; torch.no_grad() in evaluation",
     .detect = retained_graph},
    {.name = "memory.headroom-unused",
     .finds =
         "More than 40 % of the device's memory is never used while kernels are too small for it",
     .severity = "none in time: what a larger batch would gain cannot be told",
     .guard = "the device is filled, or its size is not known",
     .suppressed_by = "host.launch-bound, compute.low-occupancy",
     .advice = "a larger batch",
     .detect = headroom_unused},
};

}  // namespace

std::span<const Rule> memory_rules() { return kMemoryRules; }

}  // namespace dprof::analyzer
