// SPDX-License-Identifier: Apache-2.0
// Whether the device computes in the way that suits it, judged by kernel names.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/rules/rule.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kFp32Share = 0.30;         // of the computation
constexpr int64_t kTensorCores = 700;       // lowest compute capability that has them
constexpr double kFasterOnTensorCores = 2;  // at least, with suitable shapes
constexpr double kUnalignedShare = 0.05;    // of the computation
constexpr double kElementwiseShare = 0.30;
constexpr double kFusedAway = 0.5;      // of the time of element-wise kernels, roughly
constexpr double kRareRuns = 0.2;       // of the steps
constexpr double kBusyStepShare = 0.8;  // of the step
constexpr double kLowPower = 0.5;       // of the limit
constexpr int64_t kFewestSamples = 5;
constexpr double kMuchComputeHeadroom = 0.40;  // of the device's memory

// Ranks on which kernels of a class take at least that share of the computation.
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

// Measures kernels of a class that take at least that share of the computation, costing `price` of
// their time.
Measured about_kernels(const RuleInput& input, KernelClass what, std::span<const TimeOfRank> times,
                       double price) {
  Measured measured = measured_of(times);
  const int64_t taken = *measured.cost_ns;
  measured.cost_ns = static_cast<int64_t>(price * static_cast<double>(taken));
  measured.figures = {{"kernels", longest_kernels(input, what)},
                      {"taken", per_step(input, taken)},
                      {"taken ms", ms(taken)}};
  return measured;
}
constexpr std::string_view kTaken =
    "these kernels take {taken ms} per step, by their share of all kernel time; lower median over {n} ranks";

// nullopt: unknown for all devices.
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
  // Kernel names of cuBLAS and cuDNN begin with their target architecture.
  return std::ranges::any_of(digest.facts.kernels, [](const KernelFact& kernel) {
    return kernel.what == KernelClass::kMatrixTensor ||
           std::ranges::any_of(
               std::initializer_list<std::string_view>{"volta_", "turing_", "ampere_", "sm80_",
                                                       "sm90_", "hopper_"},
               [&](std::string_view part) { return kernel.name.find(part) != std::string::npos; });
  });
}

std::optional<Measured> fp32_matrices(const RuleInput& input) {
  std::vector<TimeOfRank> times = where_share(input, KernelClass::kMatrixFp32, kFp32Share);
  std::erase_if(times, [&](const TimeOfRank& time) {
    return !has_tensor_cores(*digest_of(input, time.rank));
  });
  return about_kernels(input, KernelClass::kMatrixFp32, times, 1 - 1 / kFasterOnTensorCores);
}

// A cost that assumes a factor is an opportunity: severity info, not an alarm.
constexpr Rule kFp32Matrices = {
    .name = "compute.fp32-matrices",
    .finds =
        "matrix products and convolutions in fp32 take at least 30 % of the computation of a device that has tensor cores",
    .costs = "half of these kernels' time",
    .guard = "the device has no tensor cores, or the kernels run on them (TF32 does)",
    .advice =
        "run under torch.autocast with bf16, or allow TF32: torch.set_float32_matmul_precision('high')",
    .judged = {.cause = "compute", .confidence = 0.4, .at_least = kInfoShare, .severity = kInfo},
    .title = "matrix products run in fp32 and leave the tensor cores unused: {taken}",
    .detail =
        "{kernels}; the cost assumes that tensor cores are twice as fast: more for large shapes, less for small ones",
    .decided_by = {kTaken, "{kernels}"},
    .refuted_by = {"a run under autocast, or with TF32 allowed, that is no faster"},
    .measure = fp32_matrices};

constexpr Rule kLayoutConversions = {
    .name = "compute.layout-conversions",
    .finds = "kernels that change the memory layout of images take at least {at least} of the step",
    .costs = "time of these kernels",
    .guard = "below {at least} of the step",
    .advice = "convert model and batches to memory_format=torch.channels_last",
    .judged = {.cause = "compute", .confidence = 0.4, .at_least = 0.02},
    .title = "images are converted between memory layouts: {taken}",
    .detail = "{kernels}",
    .decided_by = {kTaken, "{kernels}"},
    .refuted_by = {"a run in channels_last that is no faster"},
    .measure = [](const RuleInput& input) -> std::optional<Measured> {
      return about_kernels(input, KernelClass::kLayout,
                           times_of_kernels(input, KernelClass::kLayout), 1);
    }};

constexpr Rule kUnalignedShapes = {
    .name = "compute.unaligned-shapes",
    .finds = "tensor-core kernels for unaligned sizes take at least 5 % of the computation",
    .costs = "half of these kernels' time",
    .guard = "kernel names that do not show the alignment",
    .advice = "pad vocabulary, channels and hidden sizes to multiples of 8, preferably 64",
    .judged = {.cause = "compute", .confidence = 0.4, .at_least = kInfoShare, .severity = kInfo},
    .title = "matrix products use slow variants because sizes are not multiples of 8: {taken}",
    .detail = "{kernels}; the cost assumes that padded shapes are twice as fast",
    .decided_by = {kTaken, "{kernels}"},
    .refuted_by = {"a run with padded sizes that is no faster"},
    .measure = [](const RuleInput& input) -> std::optional<Measured> {
      return about_kernels(input, KernelClass::kMatrixUnaligned,
                           where_share(input, KernelClass::kMatrixUnaligned, kUnalignedShare),
                           1 - 1 / kFasterOnTensorCores);
    }};

constexpr Rule kElementwiseKernels = {
    .name = "compute.elementwise",
    .finds =
        "element-wise operations, reductions and normalisation take at least 30 % of the computation",
    .costs = "half of these kernels' time",
    .guard = "below 30 % of the computation",
    .advice = "use torch.compile or fused operators, so that values stay in registers",
    .judged = {.cause = "compute", .confidence = 0.4, .at_least = kInfoShare, .severity = kInfo},
    .title = "much of the computation is small memory-bound operations: {taken}",
    .detail = "{kernels}; the cost assumes that fusion saves half of their time",
    .decided_by = {kTaken, "{kernels}"},
    .refuted_by = {"a compiled run that is no faster"},
    .measure = [](const RuleInput& input) -> std::optional<Measured> {
      return about_kernels(input, KernelClass::kElementwise,
                           where_share(input, KernelClass::kElementwise, kElementwiseShare),
                           kFusedAway);
    }};

// Convolutions that ran rarely, yet still after the run was steady: trials for each new shape.
std::optional<Measured> conv_retuning(const RuleInput& input) {
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
      if (!kernel.convolution || kernel.last < span->begin ||
          static_cast<double>(kernel.count) >= rare)
        continue;
      ns += kernel.total_ns;
      ++kinds;
    }
    if (kinds == 0) continue;
    names = std::max(names, kinds);
    costs.push_back({digest.rank, ns / steps});
  }
  Measured measured = measured_of(costs);
  measured.figures = {{"names", names}, {"rare", format_share(kRareRuns)}};
  return measured;
}

constexpr Rule kConvRetuning = {
    .name = "compute.conv-retuning",
    .finds =
        "convolution kernels that run in fewer than 20 % of the steps still appear in steady ones",
    .costs = "their time, divided by all steps",
    .guard = "below {at least} of the step, or only during warm-up",
    .advice =
        "set torch.backends.cudnn.benchmark = True for fixed shapes, False for changing ones; "
        "use fewer distinct shapes",
    .judged = {.cause = "compute", .confidence = 0.4, .at_least = kInfoShare},
    .title = "convolutions are still being autotuned after warm-up: {cost}",
    .detail = "{names} convolution kernels ran in fewer than {rare} of the steps",
    .decided_by = {"{names} convolution kernels that are still new in steady steps"},
    .refuted_by = {"the same shapes in every step"},
    .measure = conv_retuning};

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

std::optional<Measured> low_occupancy(const RuleInput& input) {
  Measured measured;
  std::string draws;
  for (const TimeOfRank& time : times_of_computation(input)) {
    const GpuPower* power = power_of(input, *digest_of(input, time.rank));
    if (power == nullptr || power->samples < kFewestSamples || power->limit_mw <= 0) continue;
    const double share = ratio(power->power_mw, power->limit_mw);
    if (share_of(input, time.ns) < kBusyStepShare || share >= kLowPower) continue;
    draws = fmt::format("{} of its power limit while computing for {} of a step",
                        format_share(share), format_share(share_of(input, time.ns)));
    measured.ranks.push_back(time.rank);
  }
  if (measured.ranks.empty()) return {};
  measured.figures = {{"draws", draws}};
  return measured;
}

constexpr Rule kLowOccupancy = {
    .name = "compute.low-occupancy",
    .finds =
        "the device computes for at least 80 % of the step and draws less than half of its power limit",
    .costs = "none in time: the gain from a larger batch is unknown",
    .guard = "no samples of the device's power, or it is idle for more than 20 % of the step",
    .advice = "use a larger batch per rank, or fuse small layers",
    .judged = {.cause = "compute", .confidence = 0.4, .mildest = kWarn},
    .title = "{who} {keeps|keep} the device busy without filling it",
    .detail = "the device draws {draws}: its kernels are too small for it",
    .decided_by = {"{draws}"},
    .refuted_by = {"a larger batch whose step time grows in proportion"},
    .measure = low_occupancy};

std::optional<Measured> recompute_excess(const RuleInput& input) {
  if (!input.report.memory) return {};
  std::vector<TimeOfRank> costs;
  double least = 1;
  for (const TimeOfRank& forward : times_of(input, Category::kForward)) {
    const RankDigest* digest = digest_of(input, forward.rank);
    if (digest == nullptr || digest->facts.recompute.count == 0) continue;
    for (const RankMemory& memory : input.report.memory->per_rank) {
      if (memory.rank != forward.rank || !memory.soft_headroom || !memory.device_total) continue;
      const double headroom =
          ratio(*memory.soft_headroom, std::max<int64_t>(1, *memory.device_total));
      if (headroom < kMuchComputeHeadroom) continue;
      least = std::min(least, headroom);
      costs.push_back(forward);
    }
  }
  Measured measured = measured_of(costs);
  measured.figures = {{"free", format_share(least)}};
  return measured;
}

constexpr Rule kRecomputeExcess = {
    .name = "compute.recompute-excess",
    .finds = "activation checkpointing recomputes forward although 40 % of the memory stays free",
    .costs = "upper bound: forward's time",
    .guard =
        "less memory is free, its size is unknown, or recomputing leaves no autograd node "
        "(checkpoint with use_reentrant=False)",
    .advice = "checkpoint fewer blocks (torch.utils.checkpoint)",
    .judged = {.cause = "compute", .confidence = 0.4, .at_least = kInfoShare},
    .title = "forward is recomputed in backward although memory is free: {cost}",
    .detail =
        "at least {free} of the device's memory is never used; recomputing costs at most as much as forward",
    .decided_by = {"autograd nodes that rerun a block's forward",
                   "{free} of the device's memory stays free"},
    .refuted_by = {"a run with fewer checkpointed blocks that runs out of memory"},
    .measure = recompute_excess};

}  // namespace

std::vector<Rule> compute_rules() {
  return {kFp32Matrices, kLayoutConversions, kUnalignedShapes, kElementwiseKernels,
          kConvRetuning, kLowOccupancy,      kRecomputeExcess};
}

}  // namespace dprof::analyzer
