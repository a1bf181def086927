// SPDX-License-Identifier: Apache-2.0
// Whether the device computes what it has to in the way that suits it: from kernels' names.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/rules/facts_support.h"
#include "analyzer/rules/rule.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kFp32Share = 0.30;         // of the computation
constexpr int64_t kTensorCores = 700;       // compute capability that has them
constexpr double kFasterOnTensorCores = 2;  // at least, where the shapes suit
constexpr double kLayoutShare = 0.02;       // of the step
constexpr double kUnalignedShare = 0.05;    // of the computation
constexpr double kElementwiseShare = 0.30;
constexpr double kFusedAway = 0.5;      // of the time of element-wise kernels, roughly
constexpr double kRareRuns = 0.2;       // of the steps
constexpr double kBusyStepShare = 0.8;  // of the step
constexpr double kLowPower = 0.5;       // of the limit
constexpr int64_t kFewestSamples = 5;
constexpr double kMuchComputeHeadroom = 0.40;  // of the device's memory

// Ranks in which kernels of a class take at least that share of the computation.
std::vector<TimeOfRank> where_share(const RuleInput& input, KernelClass what, double share) {
  std::vector<TimeOfRank> times = times_of_kernels(input, what);
  const std::vector<TimeOfRank> all = times_of_computation(input);
  std::erase_if(times, [&](const TimeOfRank& time) {
    const auto computation = std::ranges::find(all, time.rank, &TimeOfRank::rank);
    return computation == all.end() || time.ns <= 0 ||
           static_cast<double>(time.ns) < share * static_cast<double>(computation->ns);
  });
  return times;
}

// A price that supposes a factor is an opportunity: nobody should be woken for it.
void only_an_opportunity(Finding& finding, std::string_view supposes) {
  finding.severity = FindingSeverity::kInfo;
  finding.detail += fmt::format("; the cost supposes that {}", supposes);
}

// A finding about kernels of a class, at so much of their time.
std::vector<Finding> about_kernels(const RuleInput& input, KernelClass what,
                                   const std::vector<TimeOfRank>& times, double price,
                                   std::string_view title) {
  const auto cost = static_cast<int64_t>(price * static_cast<double>(lower_median(times)));
  if (times.empty() || share_of(input, cost) < kInfoShare) return {};
  Finding finding = priced(input, cost, 0.4, "compute");
  for (const TimeOfRank& time : times) finding.ranks.push_back(time.rank);
  finding.title = fmt::format("{}: {}", title, per_step(input, lower_median(times)));
  finding.detail = longest_kernels(input, what);
  finding.evidence = steps_evidence(input, finding.ranks);
  finding.decided_by = {
      fmt::format(
          "such kernels take {} per step, by their share of all kernels' time; lower median over {} ranks",
          ms(lower_median(times)), times.size()),
      longest_kernels(input, what)};
  return {std::move(finding)};
}

// nullopt: no device says.
std::optional<int64_t> newest_device(const RankDigest& digest) {
  std::optional<int64_t> newest;
  for (const DeviceFact& device : digest.facts.devices) {
    if (device.compute_capability)
      newest = std::max(newest.value_or(0), *device.compute_capability);
  }
  return newest;
}

bool has_tensor_cores(const RankDigest& digest) {
  const std::optional<int64_t> capability = newest_device(digest);
  if (capability) return *capability >= kTensorCores;
  // Names of cuBLAS and cuDNN begin with the architecture that they were written for.
  return std::ranges::any_of(digest.facts.kernels, [](const KernelFact& kernel) {
    return kernel.what == KernelClass::kMatrixTensor ||
           std::ranges::any_of(
               std::initializer_list<std::string_view>{"volta_", "turing_", "ampere_", "sm80_",
                                                       "sm90_", "hopper_"},
               [&](std::string_view part) { return kernel.name.find(part) != std::string::npos; });
  });
}

std::vector<Finding> fp32_matrices(const RuleInput& input) {
  std::vector<TimeOfRank> times = where_share(input, KernelClass::kMatrixFp32, kFp32Share);
  std::erase_if(times, [&](const TimeOfRank& time) {
    return !has_tensor_cores(*digest_of(input, time.rank));
  });
  std::vector<Finding> findings =
      about_kernels(input, KernelClass::kMatrixFp32, times, 1 - 1 / kFasterOnTensorCores,
                    "matrix products run in fp32, beside the tensor cores");
  for (Finding& finding : findings) {
    only_an_opportunity(
        finding,
        "tensor cores are twice as fast, which they exceed for large shapes and miss for small ones");
    finding.refuted_by = {"a run under autocast, or with TF32 allowed, that is as slow"};
  }
  return findings;
}

std::vector<Finding> layout_conversions(const RuleInput& input) {
  std::vector<TimeOfRank> times = times_of_kernels(input, KernelClass::kLayout);
  if (share_of(input, lower_median(times)) < kLayoutShare) return {};
  std::vector<Finding> findings = about_kernels(input, KernelClass::kLayout, times, 1,
                                                "images are converted between memory layouts");
  for (Finding& finding : findings) finding.refuted_by = {"a run in channels_last that is as slow"};
  return findings;
}

std::vector<Finding> unaligned_shapes(const RuleInput& input) {
  std::vector<Finding> findings =
      about_kernels(input, KernelClass::kMatrixUnaligned,
                    where_share(input, KernelClass::kMatrixUnaligned, kUnalignedShare),
                    1 - 1 / kFasterOnTensorCores,
                    "matrix products use variants for sizes that are no multiple of 8");
  for (Finding& finding : findings) {
    only_an_opportunity(finding, "padded shapes are twice as fast");
    finding.refuted_by = {"a run with padded sizes that is as slow"};
  }
  return findings;
}

std::vector<Finding> elementwise(const RuleInput& input) {
  std::vector<Finding> findings =
      about_kernels(input, KernelClass::kElementwise,
                    where_share(input, KernelClass::kElementwise, kElementwiseShare), kFusedAway,
                    "small operations bound by memory make up much of the computation");
  for (Finding& finding : findings) {
    only_an_opportunity(finding, "fusion saves half of their time");
    finding.refuted_by = {"a compiled run that is as slow"};
  }
  return findings;
}

// Convolutions that ran seldom, and still when the run was steady: tried out, for each new shape.
std::vector<Finding> conv_retuning(const RuleInput& input) {
  std::vector<TimeOfRank> costs;
  size_t names = 0;
  for (const RankDigest& digest : input.digests) {
    const std::optional<Interval> span = steady_span(input, digest);
    const auto steps = static_cast<int64_t>(digest.steps.size());
    if (!span || steps == 0) continue;
    const double rare = kRareRuns * static_cast<double>(steps);
    int64_t ns = 0;
    size_t kinds = 0;
    for (const KernelFact& kernel : digest.facts.kernels) {
      if (!kernel.convolution || kernel.last < span->begin) continue;
      if (static_cast<double>(kernel.count) >= rare) continue;
      ns += kernel.total_ns;
      ++kinds;
    }
    if (kinds == 0) continue;
    names = std::max(names, kinds);
    costs.push_back({digest.rank, ns / steps});
  }
  const int64_t cost = lower_median(costs);
  if (costs.empty() || share_of(input, cost) < kInfoShare) return {};
  Finding finding = priced(input, cost, 0.4, "compute");
  for (const TimeOfRank& time : costs) finding.ranks.push_back(time.rank);
  finding.title =
      fmt::format("convolutions are tuned again in the steady run: {}", per_step(input, cost));
  finding.detail = fmt::format("{} kernels of convolutions ran in fewer than {} of the steps",
                               names, format_share(kRareRuns));
  finding.evidence = steps_evidence(input, finding.ranks);
  finding.decided_by = {
      fmt::format("{} names of convolution kernels that are still new in steady steps", names)};
  finding.refuted_by = {"the same shapes come in each step"};
  return {std::move(finding)};
}

const GpuPower* power_of(const RuleInput& input, const RankDigest& digest) {
  for (const DeviceFact& device : digest.facts.devices) {
    if (device.kernels == 0 || device.uuid.empty()) continue;
    for (const RankDigest& other : input.digests) {
      for (const GpuPower& power : other.facts.power) {
        if (power.uuid == device.uuid) return &power;
      }
    }
  }
  return nullptr;
}

std::vector<Finding> low_occupancy(const RuleInput& input) {
  std::vector<TimeOfRank> computing = times_of_computation(input);
  std::string numbers;
  std::erase_if(computing, [&](const TimeOfRank& time) {
    const GpuPower* power = power_of(input, *digest_of(input, time.rank));
    if (power == nullptr || power->samples < kFewestSamples || power->limit_mw <= 0) return true;
    const double share =
        static_cast<double>(power->power_mw) / static_cast<double>(power->limit_mw);
    if (share_of(input, time.ns) < kBusyStepShare || share >= kLowPower) return true;
    numbers = fmt::format("{} of its power limit while it computes for {} of a step",
                          format_share(share), format_share(share_of(input, time.ns)));
    return false;
  });
  if (computing.empty()) return {};
  Finding finding = unpriced(FindingSeverity::kWarn, 0.4, "compute");
  for (const TimeOfRank& time : computing) finding.ranks.push_back(time.rank);
  finding.title = fmt::format("{} the device busy without filling it",
                              who_does(input, finding.ranks, "keeps", "keep"));
  finding.detail = fmt::format("the device draws {}: kernels too small for it", numbers);
  finding.evidence = steps_evidence(input, finding.ranks);
  finding.decided_by = {numbers};
  finding.refuted_by = {"a larger batch that takes as much longer as it is larger"};
  return {std::move(finding)};
}

std::vector<Finding> recompute_excess(const RuleInput& input) {
  if (!input.report.memory) return {};
  std::vector<TimeOfRank> costs;
  double least = 1;
  for (const TimeOfRank& forward : times_of(input, Category::kForward)) {
    const RankDigest* digest = digest_of(input, forward.rank);
    if (digest == nullptr || digest->facts.recompute.count == 0) continue;
    for (const RankMemory& memory : input.report.memory->per_rank) {
      if (memory.rank != forward.rank || !memory.soft_headroom || !memory.device_total) continue;
      const double headroom = static_cast<double>(*memory.soft_headroom) /
                              static_cast<double>(std::max<int64_t>(1, *memory.device_total));
      if (headroom < kMuchComputeHeadroom) continue;
      least = std::min(least, headroom);
      costs.push_back(forward);
    }
  }
  const int64_t cost = lower_median(costs);
  if (costs.empty() || share_of(input, cost) < kInfoShare) return {};
  Finding finding = priced(input, cost, 0.4, "compute");
  for (const TimeOfRank& time : costs) finding.ranks.push_back(time.rank);
  finding.title = fmt::format("forward is computed again in backward, with memory to spare: {}",
                              per_step(input, cost));
  finding.detail = fmt::format(
      "at least {} of the device's memory is never used; recomputing costs no more than forward",
      format_share(least));
  finding.evidence = steps_evidence(input, finding.ranks);
  finding.decided_by = {"autograd nodes that run a block's forward again",
                        fmt::format("{} of the device's memory stays free", format_share(least))};
  finding.refuted_by = {"a run with fewer checkpointed blocks that runs out of memory"};
  return {std::move(finding)};
}

constexpr Rule kComputeRules[] = {
    {.name = "compute.fp32-matrices",
     .finds =
         "Matrix products and convolutions in fp32 take at least 30 % of the computation of a device that has tensor cores",
     .severity = "half of these kernels' time",
     .guard = "the device has no tensor cores, or the kernels run on them (TF32 does)",
     .suppressed_by = "",
     .advice = "torch.autocast with bf16, or TF32: torch.set_float32_matmul_precision('high')",
     .detect = fp32_matrices},
    {.name = "compute.layout-conversions",
     .finds = "Kernels that change the memory layout of images take at least 2 % of the step",
     .severity = "time of these kernels",
     .guard = "below 2 % of the step",
     .suppressed_by = "",
     .advice = "model and batches in torch.channels_last",
     .detect = layout_conversions},
    {.name = "compute.unaligned-shapes",
     .finds = "Tensor-core kernels for unaligned sizes take at least 5 % of the computation",
     .severity = "half of these kernels' time",
     .guard = "kernels whose names do not tell their alignment",
     .suppressed_by = "",
     .advice = "pad vocabulary, channels and hidden sizes to multiples of 8, better of 64",
     .detect = unaligned_shapes},
    {.name = "compute.elementwise",
     .finds =
         "Element-wise operations, reductions and normalisation take at least 30 % of the computation",
     .severity = "half of these kernels' time",
     .guard = "below 30 % of the computation",
     .suppressed_by = "",
     .advice = "torch.compile or fused operators, so that values stay in registers",
     .detect = elementwise},
    {.name = "compute.conv-retuning",
     .finds =
         "Convolution kernels that run in fewer than 20 % of the steps still appear in steady ones",
     .severity = "their time, divided by all steps",
     .guard = "below 1 % of the step, or only while the run warms up",
     .suppressed_by = "",
     .advice = "torch.backends.cudnn.benchmark = True for fixed shapes, False for changing ones; "
               "fewer distinct shapes",
     .detect = conv_retuning},
    {.name = "compute.low-occupancy",
     .finds =
         "The device computes for at least 80 % of the step and draws less than half of its power limit",
     .severity = "none in time: what a larger batch would gain cannot be told",
     .guard = "no samples of the device's power, or it is idle for more than 20 % of the step",
     .suppressed_by = "",
     .advice = "a larger batch per rank, or several small layers fused",
     .detect = low_occupancy},
    {.name = "compute.recompute-excess",
     .finds = "Activation checkpointing runs forward again though 40 % of the memory stays free",
     .severity = "forward's time, an upper bound",
     .guard = "less memory is free, its size is not known, or recomputing leaves no autograd node "
              "(checkpoint with use_reentrant=False)",
     .suppressed_by = "",
     .advice = "checkpoint fewer blocks",
     .detect = recompute_excess},
};

}  // namespace

std::span<const Rule> compute_rules() { return kComputeRules; }

}  // namespace dprof::analyzer
