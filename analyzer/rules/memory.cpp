// SPDX-License-Identifier: Apache-2.0
// Memory that is short, wasted or repeatedly allocated and released: from the report's memory and
// from driver calls. Growing memory is in memory_leak.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/rules/families.h"
#include "analyzer/rules/support.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

constexpr double kNearOom = 0.05;         // of the device's memory
constexpr double kSlack = 0.25;           // of reserved memory
constexpr double kStuckAllocator = 0.10;  // of reserved memory, not releasable
constexpr double kImbalance = 1.15;       // largest over mean peak
constexpr double kMuchHeadroom = 0.40;
constexpr double kWorthBytes = 0.01;  // of the peak: a smaller leak per 1,000 steps is not reported

// The report's ranks; empty without memory data.
std::span<const RankMemory> memory_of(const RuleInput& input) {
  return input.report.memory ? std::span<const RankMemory>(input.report.memory->per_rank)
                             : std::span<const RankMemory>();
}

std::optional<Measured> near_oom(const RuleInput& input) {
  if (!input.report.memory) return {};
  Measured measured;
  double least = 1;
  for (const RankMemory& memory : memory_of(input)) {
    if (!memory.hard_headroom || !memory.device_total) continue;
    const double headroom = ratio(*memory.hard_headroom, *memory.device_total);
    if (headroom >= kNearOom) continue;
    measured.ranks.push_back(memory.rank);
    least = std::min(least, headroom);
    if (measured.decided_by.size() >= kEvidenceRanks) continue;
    measured.decided_by.push_back(
        fmt::format("rank {}: {} of {} are free at the peak of reserved memory", memory.rank,
                    format_bytes(std::max<int64_t>(0, *memory.hard_headroom)),
                    format_bytes(*memory.device_total)));
  }
  const std::vector<OutOfMemory>& failed = input.report.memory->out_of_memory;
  for (const OutOfMemory& oom : failed) {
    if (std::ranges::count(measured.ranks, oom.rank) == 0) measured.ranks.push_back(oom.rank);
    measured.decided_by.push_back(
        fmt::format("rank {}: an allocation of {} failed", oom.rank, format_bytes(oom.bytes)));
  }
  if (measured.ranks.empty()) return {};
  const std::vector<int>& ranks = measured.ranks;
  if (!failed.empty()) measured.severity = kCritical;
  measured.figures = {{"short", failed.empty()
                                    ? fmt::format("{} {} within {} of running", who(input, ranks),
                                                  ranks.size() == 1 ? "is" : "are",
                                                  format_share(std::max(0.0, least)))
                                    : fmt::format("{} ran", list_of(ranks))}};
  return measured;
}

constexpr Rule kNearOutOfMemory = {
    .name = "memory.near-oom",
    .finds = "less than 5 % of the device's memory is left at the peak, or an allocation failed",
    .costs = "a risk",
    .guard = "the size of the device, or how much others use, is unknown",
    .suppressed_by = "memory.leak",
    .advice =
        "use a smaller batch, activation checkpointing or FSDP; set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    .judged = {.cause = "allocator", .confidence = 0.8, .mildest = kWarn},
    .title = "{short} out of device memory",
    .detail = "a larger batch or longer sequence than those recorded may fail",
    .refuted_by = {"another process that used that memory only temporarily"},
    .measure = near_oom};

// Driver calls that allocate or release memory, in steady steps.
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
    if (calls < kEachStep) continue;
    result.ranks.push_back(digest.rank);
    result.per_step = std::max(result.per_step, calls);
    result.ns = std::max(result.ns, taken.ns + given.ns);
  }
  return result;
}

// The allocator's cost per step: the device's idle time for it, on the rank with the largest one.
int64_t allocator_cost(const RuleInput& input, const DriverCalls& calls) {
  int64_t cost = 0;
  for (const TimeOfRank& time : times_of(input, Category::kAllocator)) {
    if (std::ranges::count(calls.ranks, time.rank) != 0) cost = std::max(cost, time.ns);
  }
  return cost > 0 ? cost : calls.ns;
}

// The program itself requests it.
bool empties_cache(const RuleInput& input, const DriverCalls& calls) {
  const CallingRanks named = callers_of(input, CallKind::kEmptyCache, 0);
  if (named.per_step >= kEachStep) return true;
  if (!input.report.memory) return false;
  const int64_t steps = steady_steps(input);
  return std::ranges::any_of(input.report.memory->per_rank, [&](const RankMemory& memory) {
    return memory.device >= 0 && std::ranges::count(calls.ranks, memory.rank) != 0 && steps > 0 &&
           static_cast<double>(memory.cache_flushes) >= kEachStep * static_cast<double>(steps) &&
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

Measured about_driver_calls(const RuleInput& input, const DriverCalls& calls) {
  std::vector<Evidence> rows = evidence_of(input, calls.ranks, CallKind::kRelease);
  std::ranges::move(evidence_of(input, calls.ranks, CallKind::kAllocate), std::back_inserter(rows));
  Measured measured{.cost_ns = allocator_cost(input, calls), .ranks = calls.ranks};
  if (!rows.empty()) measured.evidence = std::move(rows);
  if (!calls.ranks.empty()) {
    measured.decided_by = {
        fmt::format(
            "memory is requested from the driver or returned to it {} times per steady step",
            number(calls.per_step)),
        fmt::format("a step waits {} for the allocator", ms(*measured.cost_ns))};
  }
  return measured;
}

std::optional<Measured> allocator_stalls(const RuleInput& input) {
  const DriverCalls calls = driver_calls(input);
  const std::optional<int64_t> retries = retries_of(input);
  const bool retried = retries.value_or(0) > 0;
  if ((calls.ranks.empty() && !retried) || empties_cache(input, calls)) return {};
  Measured measured = about_driver_calls(input, calls);
  if (calls.ranks.empty()) {
    for (const RankMemory& memory : memory_of(input)) {
      if (memory.retries.value_or(0) > 0) measured.ranks.push_back(memory.rank);
    }
  }
  measured.figures = {
      {"why",
       retried
           ? fmt::format("the allocator ran out of memory {} times, released its cache and retried",
                         *retries)
           : "its cache does not fit the requests: sizes change, or memory is short"}};
  if (retries) measured.decided_by.push_back(fmt::format("{} retries", *retries));
  return measured;
}

constexpr Rule kAllocatorStalls = {
    .name = "memory.allocator-stalls",
    .finds = "the allocator retries, or requests memory from the driver in every steady step",
    .costs = "the allocator's time on the rank with the most",
    .guard = "less than one call per step, or the program empties the cache itself",
    .suppressed_by = "memory.fragmentation, balance.straggler",
    .advice =
        "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; else run the largest shape first, or lower the peak",
    .judged = {.cause = "allocator", .confidence = 0.7, .mildest = kWarn},
    .title = "{who} {requests|request} memory from the driver after warm-up: {cost}",
    .detail = "{why}",
    .refuted_by = {"calls for another library's memory that cost no time"},
    .measure = allocator_stalls};

std::optional<Measured> cache_churn(const RuleInput& input) {
  const DriverCalls calls = driver_calls(input);
  if (calls.ranks.empty() || !empties_cache(input, calls)) return {};
  return about_driver_calls(input, calls);
}

constexpr Rule kCacheChurn = {
    .name = "memory.cache-churn",
    .ids = "M16",
    .finds = "the allocator's cache is released in every step",
    .costs = "the allocator's time on the rank with the most",
    .guard = "less than once per step, or the allocator released it because it was out of memory",
    .suppressed_by = "balance.straggler",
    .advice =
        "remove torch.cuda.empty_cache() from the loop: freeing the cache gains this program no memory",
    .judged = {.cause = "allocator", .confidence = 0.7, .mildest = kWarn},
    .title = "{who} {empties|empty} the allocator's cache in every step: {cost}",
    .detail =
        "the memory is requested from the driver again at once, and both calls wait for the device",
    .refuted_by = {"a run without empty_cache() that releases just as much memory"},
    .measure = cache_churn};

std::optional<Measured> fragmentation(const RuleInput& input) {
  Measured measured;
  for (const RankMemory& memory : memory_of(input)) {
    const Fragmentation& f = memory.fragmentation;
    if (memory.device < 0 || f.slack.value_or(0) <= kSlack ||
        f.non_releasable.value_or(0) <= kStuckAllocator)
      continue;
    measured.ranks.push_back(memory.rank);
    if (measured.ranks.size() > kEvidenceRanks) continue;
    measured.decided_by.push_back(fmt::format(
        "rank {}: {} of the reserved memory is not allocated, {} is in partly used segments",
        memory.rank, format_share(*f.slack), format_share(*f.non_releasable)));
  }
  if (measured.ranks.empty()) return {};
  measured.figures = {{"first", measured.decided_by.front()}};
  return measured;
}

constexpr Rule kFragmentation = {
    .name = "memory.fragmentation",
    .finds =
        "more than 25 % of reserved memory is not allocated, and more than 10 % cannot be released",
    .costs = "a risk",
    .guard = "allocator events were not recorded (detail standard and full do, on CUDA)",
    .advice =
        "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (or max_split_size_mb); bucket sequences into few lengths",
    .judged = {.cause = "allocator", .confidence = 0.7, .mildest = kWarn},
    .title = "device memory of {who} is fragmented",
    .detail = "{first}",
    .refuted_by = {"a later phase of the run that needs all of it"},
    .measure = fragmentation};

std::optional<Measured> imbalance(const RuleInput& input) {
  if (!input.report.memory || !input.report.memory->imbalance) return {};
  const MemoryImbalance& found = *input.report.memory->imbalance;
  if (found.ranks < 2 || found.max_over_mean <= kImbalance) return {};
  return Measured{.ranks = {found.rank},
                  .figures = {{"rank", found.rank},
                              {"more", format_bytes(found.max_less_median)},
                              {"peak", format_bytes(found.peak)},
                              {"median", format_bytes(found.median)},
                              {"times", fmt::format("{:.2f}", found.max_over_mean)},
                              {"of", found.ranks}}};
}

constexpr Rule kImbalanced = {
    .name = "memory.imbalance",
    .finds = "the largest peak is more than 1.15 times the mean",
    .costs = "the larger batch that the other ranks could use",
    .guard = "one rank, or devices of different kinds",
    .suppressed_by = "memory.leak",
    .advice =
        "move extra work (loss, evaluation, copies of the model) off that rank; distribute layers by memory",
    .judged = {.cause = "allocator", .confidence = 0.7},
    .title = "rank {rank} needs {more} more memory than the others",
    .detail = "its peak is {peak}, the median {median}: it limits the batch size of all ranks",
    .decided_by = {"the largest peak is {times} times the mean of {of} ranks"},
    .refuted_by = {"ranks that are meant to differ, as pipeline stages do"},
    .measure = imbalance};

// Candidates are only worth listing if memory limits the run.
bool memory_is_short(const Memory& memory) {
  return !memory.out_of_memory.empty() ||
         std::ranges::any_of(memory.per_rank, [](const RankMemory& rank) {
           return rank.soft_headroom && rank.device_total &&
                  ratio(*rank.soft_headroom, *rank.device_total) < kMuchHeadroom;
         });
}

std::optional<Measured> zero_candidate(const RuleInput& input) {
  if (!input.report.memory || !input.report.memory->zero) return {};
  const ZeroSizing& zero = *input.report.memory->zero;
  if (!zero.worthwhile || !memory_is_short(*input.report.memory)) return {};
  return Measured{.ranks = {zero.rank},
                  .figures = {{"share", format_share(zero.share)},
                              {"replicas", zero.ranks},
                              {"state", format_bytes(zero.saved_bytes[0])},
                              {"gradients", format_bytes(zero.saved_bytes[1])},
                              {"parameters", format_bytes(zero.saved_bytes[2])}}};
}

constexpr Rule kZeroCandidate = {
    .name = "memory.zero-candidate",
    .finds =
        "parameters, gradients and optimizer state are at least half of the peak on at least 4 replicas, and memory is short",
    .costs = "bytes that sharding them would free",
    .guard = "40 % of the memory is free, or fewer than 4 replicas",
    .advice = "shard them: ZeroRedundancyOptimizer (ZeRO-1), or FSDP (ZeRO-2, ZeRO-3)",
    .judged = {.cause = "allocator", .confidence = 0.6},
    .title = "training state is {share} of the peak, the same on {replicas} ranks",
    .detail =
        "sharding would free {state} (optimizer state), {gradients} (also gradients), {parameters} (also parameters) per rank",
    .decided_by = {"parameters, gradients and optimizer state: {share} of the peak"},
    .refuted_by = {"ranks that already hold different shards"},
    .measure = zero_candidate};

std::optional<Measured> activations(const RuleInput& input) {
  if (!input.report.memory || !input.report.memory->checkpointing) return {};
  const CheckpointingSizing& sizing = *input.report.memory->checkpointing;
  if (!sizing.worthwhile || !memory_is_short(*input.report.memory)) return {};
  return Measured{.ranks = {sizing.rank},
                  .figures = {{"share", format_share(sizing.share)},
                              {"bytes", format_bytes(sizing.activation_bytes)}}};
}

constexpr Rule kActivations = {
    .name = "memory.activations",
    .finds = "activations are at least 60 % of the peak, and memory is short",
    .costs = "bytes of activations",
    .guard = "40 % of the memory is free",
    .advice = "use activation checkpointing (torch.utils.checkpoint), or torch.autocast to 16 bits",
    .judged = {.cause = "allocator", .confidence = 0.6},
    .title = "activations are {share} of the peak",
    .detail = "{bytes} on {ranks}",
    .decided_by = {"activations are {share} of the peak"},
    .refuted_by = {"a run with checkpointing that needs just as much"},
    .measure = activations};

std::optional<Measured> retained_graph(const RuleInput& input) {
  Measured measured;
  int64_t most = 0;
  for (const RankMemory& memory : memory_of(input)) {
    const int64_t bytes = memory.retained_graph_bytes;
    if (ratio(bytes, memory.peak_allocated.value_or(0)) < kWorthBytes) continue;
    measured.ranks.push_back(memory.rank);
    most = std::max(most, bytes);
    if (measured.ranks.size() > kEvidenceRanks) continue;
    measured.decided_by.push_back(fmt::format(
        "rank {}, {}: {} of activations at the peak outlived the following step", memory.rank,
        memory.device < 0 ? "host memory" : fmt::format("device {}", memory.device),
        format_bytes(bytes)));
  }
  if (measured.ranks.empty()) return {};
  measured.figures = {{"most", format_bytes(most)}};
  return measured;
}

constexpr Rule kRetainedGraph = {
    .name = "memory.retained-graph",
    .finds = "activations outlive the step after the one that made them",
    .costs = "their bytes at the peak",
    .guard = "allocations were not recorded (detail full), or below 1 % of the peak",
    .advice = "call detach() or .item() on what you keep; use torch.no_grad() in evaluation",
    .judged = {.cause = "allocator", .confidence = 0.6, .mildest = kWarn},
    .title = "{who} {keeps|keep} autograd graphs of earlier steps: {most}",
    .detail = "something, such as a list of losses, holds tensors that still have their graph",
    .refuted_by = {"tensors that are a cache without a graph, filled in forward"},
    .measure = retained_graph};

// The title of the finding that the device is underused; "" = none.
std::string starved(const RuleInput& input) {
  for (const std::vector<Rule>& family : {host_rules(), compute_rules()}) {
    for (const Rule& rule : family) {
      if (rule.name != "host.launch-bound" && rule.name != "compute.low-occupancy") continue;
      if (const std::vector<Finding> findings = findings_of(input, rule); !findings.empty())
        return findings.front().title;
    }
  }
  return "";
}

std::optional<Measured> headroom_unused(const RuleInput& input) {
  Measured measured;
  double least = 1;
  for (const RankMemory& memory : memory_of(input)) {
    if (!memory.soft_headroom || !memory.device_total) continue;
    least = std::min(least, ratio(*memory.soft_headroom, *memory.device_total));
    measured.ranks.push_back(memory.rank);
  }
  if (measured.ranks.empty() || least <= kMuchHeadroom) return {};
  const std::string why = starved(input);
  if (why.empty()) return {};
  measured.figures = {{"free", format_share(least)}, {"starved", why}};
  return measured;
}

constexpr Rule kHeadroomUnused = {
    .name = "memory.headroom-unused",
    .finds =
        "more than 40 % of the device's memory is never used while kernels are too small for it",
    .costs = "none in time: the gain from a larger batch is unknown",
    .guard = "the device is full, or its size is unknown",
    .suppressed_by = "host.launch-bound, compute.low-occupancy",
    .advice = "use a larger batch",
    .judged = {.cause = "allocator", .confidence = 0.6},
    .title = "{free} of the device memory is never used, and the device is underused",
    .detail = "a larger batch gives each kernel more to do",
    .decided_by = {"{starved}", "at least {free} of each device's memory is never used"},
    .refuted_by = {"a larger batch that trains worse, or whose step time grows in proportion"},
    .measure = headroom_unused};

}  // namespace

std::vector<Rule> memory_rules() {
  return {kNearOutOfMemory, kAllocatorStalls, kCacheChurn,  kFragmentation, kLeak,
          kImbalanced,      kZeroCandidate,   kActivations, kRetainedGraph, kHeadroomUnused};
}

}  // namespace dprof::analyzer
