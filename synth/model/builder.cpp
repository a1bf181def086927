// SPDX-License-Identifier: Apache-2.0
#include "synth/model/builder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "synth/random.h"

namespace dprof::synth {
namespace {

using schema::RangeCategory;

constexpr int64_t kCopyDispatchNs = 3'000;
constexpr uint64_t kFaultDraws = 1 << 20;  // beyond the draws of a step's own operators
constexpr double kHostShare = 0.02;        // of an operator's length, between operators
constexpr double kBatchShare = 0.5;        // of a step, that a loader's worker takes per batch
constexpr double kNoisy = 0.05;            // of operators on noisy hosts
constexpr int64_t kBatchBytes = 19'267'584;
constexpr double kLeastOfTail = -3;  // noise of long tails: nothing is faster by much
constexpr double kForgotten = 1e-3;
constexpr double kElementwiseShare = 0.25;  // of a usual kernel's length

struct OpNames {
  std::array<int32_t, 4> outer;
  std::array<int32_t, 4> inner;
  std::array<int32_t, 4> kernel;
};

constexpr int32_t kElementwise =
    name("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>");
constexpr int32_t kApply =
    name("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<SGD>");

constexpr OpNames kForwardOps = {
    {name("aten::conv2d"), name("aten::relu"), name("aten::max_pool2d"), name("aten::linear")},
    {name("aten::convolution"), name("aten::clamp_min"), name("aten::max_pool2d_with_indices"),
     name("aten::addmm")},
    {name("sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64"),
     kElementwise, kElementwise,
     name("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64")}};
constexpr OpNames kBackwardOps = {
    {name("AddmmBackward0"), name("MaxPool2DWithIndicesBackward0"), name("ReluBackward0"),
     name("ConvolutionBackward0")},
    {name("aten::mm"), name("aten::max_pool2d_with_indices_backward"),
     name("aten::threshold_backward"), name("aten::convolution_backward")},
    {name("sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x128x64"), kElementwise,
     kElementwise,
     name("sm90_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64")}};
constexpr OpNames kOptimizerOps = {
    {name("aten::_foreach_mul_"), name("aten::_foreach_add_"), name("aten::_foreach_mul_"),
     name("aten::add_")},
    {name("aten::mul_"), name("aten::add_"), name("aten::mul_"), name("aten::add_")},
    {kApply, kApply, kApply, kApply}};

const OpNames& names_of(Busy phase) {
  if (phase == Busy::kForward) return kForwardOps;
  return phase == Busy::kBackward ? kBackwardOps : kOptimizerOps;
}

int32_t call_name(const CollectiveCall& call) {
  using schema::Function;
  switch (call.function) {
    case Function::kBroadcast:
      return name("c10d::broadcast_");
    case Function::kReduceScatter:
      return name("c10d::_reduce_scatter_base_");
    case Function::kAllGather:
      return name("c10d::_allgather_base_");
    case Function::kSend:
      return name("c10d::send");
    case Function::kRecv:
      return call.any_source ? name("c10d::recv_any_source_") : name("c10d::recv_");
    case Function::kBarrier:
      return name("c10d::barrier");
    case Function::kReduce:
      return name("c10d::reduce_");
    case Function::kGather:
      return name("c10d::gather_");
    default:
      return name("c10d::allreduce_");
  }
}

int32_t kernel_name(schema::Function function) {
  using schema::Function;
  switch (function) {
    case Function::kBroadcast:
      return name("ncclDevKernel_Broadcast_RING_LL");
    case Function::kReduceScatter:
      return name("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL");
    case Function::kAllGather:
      return name("ncclDevKernel_AllGather_RING_LL");
    case Function::kSend:
    case Function::kRecv:
      return name("ncclDevKernel_SendRecv");
    default:
      return name("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  }
}

}  // namespace

StepBuilder::StepBuilder(const Spec& spec, const FaultPlan& plan, int rank, int64_t step,
                         Program& out)
    : spec_(spec),
      plan_(plan),
      rank_(rank),
      step_(step),
      out_(out),
      loudness_(plan.loudness(rank)),
      speed_(plan.speed(rank)),
      key_(key_of(spec.seed, 21, rank, step)),
      autograd_(step * 4096) {
  speed_ *= std::max(0.2, 1 + spec.step_noise * loudness_ * step_noise());
  if (step >= 0) effects_ = plan.effects(rank, step);
  for (const ScaleSpec& scale : spec.scales) {
    const auto* const phase = std::ranges::find(kPhaseWords, scale.name);
    if (phase != std::end(kPhaseWords)) {
      phase_scales_[static_cast<size_t>(phase - std::begin(kPhaseWords))] *= scale.factor;
    } else {
      scales_[find_name(scale.name)] = scale.factor;
    }
  }
}

double StepBuilder::scale(int32_t named) const {
  const auto found = scales_.find(named);
  return found == scales_.end() ? 1 : found->second;
}

double StepBuilder::noise(uint64_t key) const {
  return spec_.noise_tail > 0 ? std::max(kLeastOfTail, student(key, spec_.noise_tail))
                              : normal(key);
}

// An autoregressive series of variance 1 over the steps, as if it had always been going on.
double StepBuilder::step_noise() const {
  const double memory = spec_.noise_memory;
  double sum = 0;
  double weight = std::sqrt(1 - memory * memory);
  int64_t back = 0;
  do {
    sum += weight * noise(key_of(key_of(spec_.seed, 21, rank_, step_ - back), 5));
    weight *= memory;
    ++back;
  } while (weight > kForgotten);
  return sum;
}

double StepBuilder::factor(Busy phase, uint64_t which) const {
  const double noise = spec_.healthy == "noisy-hosts" ? std::max(kNoisy, spec_.noise) : spec_.noise;
  double f = speed_ * std::max(0.2, 1 + noise * loudness_ * this->noise(key_of(key_, which)));
  if (static_cast<size_t>(phase) < phase_scales_.size())
    f *= phase_scales_[static_cast<size_t>(phase)];
  f *= gpu() ? effects_.kernel_factor : effects_.host_factor;
  if (phase == Busy::kForward || phase == Busy::kBackward)
    f *= effects_.batch_factor * effects_.work_factor;
  if (effects_.jitter > 0) f *= 1 + (effects_.jitter - 1) * (uniform(key_of(key_, which, 7)) - 0.5);
  return f;
}

void StepBuilder::begin_step() {
  if (effects_.hang == HangAct::kEarlyExit) {
    // A process that ends in good order waits for its device first.
    for (int queue = 0; gpu() && queue < kQueues; ++queue)
      add({.what = Do::kSyncQueue, .a = queue});
    add({.what = Do::kStop, .a = 0, .b = 0});
  }
  add({.what = Do::kStepBegin, .a = step_});
  if (spec_.marks == Marks::kMarker) {
    add({.what = Do::kBegin,
         .category = static_cast<uint8_t>(RangeCategory::kUser),
         .name = name("step")});
  }
}

void StepBuilder::end_step() {
  gap();
  if (spec_.marks == Marks::kMarker) add({.what = Do::kEnd});
  add({.what = Do::kStepEnd, .a = step_});
}

void StepBuilder::begin(PhaseNames names) {
  const int32_t which = spec_.marks == Marks::kMarker      ? names.marker
                        : spec_.marks == Marks::kOptimizer ? names.by_torch
                                                           : -1;
  if (which < 0) return;
  add({.what = Do::kBegin, .category = static_cast<uint8_t>(RangeCategory::kUser), .name = which});
}

void StepBuilder::end(PhaseNames names) {
  const int32_t which = spec_.marks == Marks::kMarker      ? names.marker
                        : spec_.marks == Marks::kOptimizer ? names.by_torch
                                                           : -1;
  if (which >= 0) add({.what = Do::kEnd});
}

void StepBuilder::gap() { host(Busy::kHost, std::llround(spec_.gap_us * 1e3)); }

void StepBuilder::host(Busy busy, int64_t ns) {
  if (ns > 0) add({.what = Do::kBusy, .busy = busy, .ns = ns});
}

void StepBuilder::range(int32_t what, RangeCategory category, Busy busy, int64_t ns) {
  add({.what = Do::kBegin, .category = static_cast<uint8_t>(category), .name = what});
  host(busy, ns);
  add({.what = Do::kEnd});
}

void StepBuilder::ops(Busy phase, double ns, int64_t count, std::span<const Stop> stops) {
  if (count <= 0 || ns <= 0) return;
  if (effects_.layers_factor != 1 && phase != Busy::kOptimizer) {
    const auto more =
        std::max<int64_t>(1, std::llround(static_cast<double>(count) * effects_.layers_factor));
    ns *= effects_.layers_factor;
    count = more;
  }
  const OpNames& names = names_of(phase);
  const auto weight = [&](size_t which) {
    return gpu() && names.kernel[which] == kElementwise ? kElementwiseShare : 1;
  };
  double weights = 0;
  for (int64_t i = 0; i < count; ++i) weights += weight(static_cast<size_t>(i) % 4);
  const double each = ns / weights;
  for (int64_t i = 0; i < count; ++i) {
    for (const Stop& stop : stops) {
      if (stop.nth != i) continue;
      host(Busy::kHost, stop.delay.host_ns);
      fault_ops(phase, stop.delay.op_ns);
    }
    const auto which = static_cast<size_t>(i) % 4;
    const double length = each * weight(which) * factor(phase, ++drawn_);
    if (gpu()) {
      const bool elementwise = names.kernel[which] == kElementwise;
      device_op(phase, names.outer[which], names.kernel[which],
                length * (elementwise ? effects_.memory_factor : 1));
    } else {
      host_op(phase, names.outer[which], names.inner[which], length);
    }
  }
}

void StepBuilder::backward_ops(double ns, int64_t count, int64_t part, int64_t parts) {
  std::vector<Stop> stops;
  for (const Inside& delay : effects_.inside_backward) {
    const double at = delay.at * static_cast<double>(parts) - static_cast<double>(part);
    if (at < 0 || at >= 1) continue;
    stops.push_back({static_cast<int64_t>(at * static_cast<double>(count)), delay});
  }
  ops(Busy::kBackward, ns, count, stops);
}

// Uses separate draws: the other operators are as long as without the fault.
void StepBuilder::fault_ops(Busy phase, int64_t ns) {
  const uint64_t drawn = std::exchange(drawn_, kFaultDraws * (1 + static_cast<uint64_t>(phase)));
  ops(phase, static_cast<double>(ns), 2);
  drawn_ = drawn;
}

void StepBuilder::host_op(Busy phase, int32_t outer, int32_t inner, double ns) {
  const auto category = static_cast<uint8_t>(phase == Busy::kBackward ? RangeCategory::kAutograd
                                                                      : RangeCategory::kOp);
  ns *= scale(outer);
  const auto head = std::llround(ns * 0.05);
  const int64_t sequence = phase == Busy::kBackward || phase == Busy::kForward ? autograd_++ : -1;
  add({.what = Do::kBegin, .category = category, .name = outer, .a = sequence});
  host(phase, head);
  add({.what = Do::kBegin, .category = static_cast<uint8_t>(RangeCategory::kOp), .name = inner});
  host(phase, std::llround(static_cast<double>(std::llround(ns) - 2 * head) * scale(inner)));
  add({.what = Do::kEnd});
  host(phase, head);
  add({.what = Do::kEnd});
  // Between operators: Python, or the activity that a range names.
  const bool within = phase == Busy::kOptimizer && spec_.marks != Marks::kNone;
  host(within ? Busy::kOptimizer : Busy::kHost,
       std::max<int64_t>(200, std::llround(ns * kHostShare)));
}

void StepBuilder::device_op(Busy phase, int32_t outer, int32_t kernel, double ns) {
  const auto category = static_cast<uint8_t>(phase == Busy::kBackward ? RangeCategory::kAutograd
                                                                      : RangeCategory::kOp);
  ns *= scale(outer) * scale(kernel);
  const auto dispatch = std::llround(spec_.dispatch_us * 1e3 * effects_.host_factor);
  const int64_t sequence = phase == Busy::kBackward || phase == Busy::kForward ? autograd_++ : -1;
  add({.what = Do::kBegin, .category = category, .name = outer, .a = sequence});
  host(Busy::kHost, dispatch);
  add({.what = Do::kLaunch,
       .busy = phase,
       .name = kernel,
       .ns = std::max<int64_t>(1'000, std::llround(ns)),
       .a = kComputeQueue,
       .b = static_cast<int64_t>(schema::GpuActivityKind::kKernel)});
  host(Busy::kHost, dispatch);
  add({.what = Do::kEnd});
}

// Two workers that take half a step per batch keep up.
void StepBuilder::load(int64_t ns) {
  const double cost =
      spec_.free_input ? 0 : spec_.step_ms * 1e6 * kBatchShare * effects_.batch_cost;
  add({.what = Do::kLoad, .busy = Busy::kInput, .ns = ns, .b = std::llround(cost)});
}

void StepBuilder::copy(schema::GpuActivityKind kind, int64_t bytes) {
  const bool to_device = kind == schema::GpuActivityKind::kMemcpyH2d;
  add({.what = Do::kBegin,
       .category = static_cast<uint8_t>(RangeCategory::kOp),
       .name = name("aten::copy_")});
  host(Busy::kHost, kCopyDispatchNs);
  add({.what = Do::kLaunch,
       .busy = Busy::kOther,
       .name = to_device ? name("Memcpy HtoD") : name("Memcpy DtoH"),
       .ns = 1'500 + bytes / 20,  // 20 GB/s
       .a = kComputeQueue,
       .b = static_cast<int64_t>(kind),
       .bytes = bytes});
  add({.what = Do::kEnd});
}

// How a hang changes a rank's first collective of the step.
void StepBuilder::distort(CollectiveCall& call) const {
  switch (effects_.hang) {
    case HangAct::kWrongSize:
      call.bytes += 4096;
      break;
    case HangAct::kWrongFunction:
      call.function = schema::Function::kBroadcast;
      call.reduction = schema::Reduction::kNone;
      call.root = 0;
      break;
    case HangAct::kWrongDtype:
      call.dtype = schema::DataType::kFloat16;
      break;
    case HangAct::kNetwork:
      call.never = true;
      break;
    default:
      break;
  }
}

int64_t StepBuilder::collective(CollectiveCall call) {
  const auto number = static_cast<int64_t>(out_.calls.size());
  if (number == 0) distort(call);
  if (gpu() && call.queue != kInline) {
    add({.what = Do::kRecord, .a = kComputeQueue});
    add({.what = Do::kStreamWait, .a = call.queue, .b = kComputeQueue});
  }
  out_.calls.push_back(call);
  add({.what = Do::kCollective,
       .category = static_cast<uint8_t>(RangeCategory::kOp),
       .name = call_name(call),
       .a = number,
       .b = kernel_name(call.function)});
  return number;
}

void StepBuilder::wait(int64_t call) {
  if (!gpu()) {
    add({.what = Do::kWaitWork, .a = call});
    return;
  }
  const int queue = out_.calls[static_cast<size_t>(call)].queue;
  add({.what = Do::kRecord, .a = queue});
  add({.what = Do::kStreamWait, .a = kComputeQueue, .b = queue});
}

void StepBuilder::blocking(CollectiveCall call) {
  if (!gpu()) call.queue = kInline;
  collective(call);
  if (!gpu()) return;
  add({.what = Do::kBegin,
       .category = static_cast<uint8_t>(RangeCategory::kApi),
       .name = name("cudaStreamSynchronize")});
  add({.what = Do::kSyncQueue, .a = call.queue});
  add({.what = Do::kEnd});
}

void StepBuilder::item() {
  add({.what = Do::kBegin,
       .category = static_cast<uint8_t>(RangeCategory::kOp),
       .name = name("aten::item")});
  copy(schema::GpuActivityKind::kMemcpyD2h, 4);
  add({.what = Do::kBegin,
       .category = static_cast<uint8_t>(RangeCategory::kApi),
       .name = name("cudaStreamSynchronize")});
  add({.what = Do::kSyncQueue, .a = kComputeQueue});
  add({.what = Do::kEnd});
  add({.what = Do::kEnd});
}

void StepBuilder::input() {
  begin(kInputPhase);
  const double base = spec_.step_ms * 1e6 * 0.02;
  load(effects_.hang == HangAct::kDataStall ? kNever
       : spec_.free_input
           ? 0
           : std::llround(base * std::max(0.2, 1 + 4 * spec_.noise * normal(key_of(key_, 3)))) +
                 effects_.loader_ns);
  end(kInputPhase);
  if (gpu()) {
    copy(schema::GpuActivityKind::kMemcpyH2d,
         std::llround(static_cast<double>(kBatchBytes) * effects_.batch_factor));
  }
  gap();
}

void StepBuilder::forward(double ns, int64_t count) {
  begin(kForwardPhase);
  host(Busy::kHost, effects_.forward_host_ns);
  host(Busy::kGc, effects_.forward_gc_ns);
  if (effects_.marked_gc_ns > 0)
    range(name("gc.collect"), RangeCategory::kUser, Busy::kGc, effects_.marked_gc_ns);
  fault_ops(Busy::kForward, effects_.forward_op_ns);
  for (int64_t i = 0; i < effects_.churns; ++i) {
    range(i % 2 == 0 ? name("cudaFree") : name("cudaMalloc"), RangeCategory::kApi, Busy::kAllocator,
          effects_.churn_ns);
  }
  if (effects_.syncs == 0) {
    ops(Busy::kForward, ns, count);
  } else {
    const int64_t parts = effects_.syncs;
    for (int64_t i = 0; i < parts; ++i) {
      ops(Busy::kForward, ns / static_cast<double>(parts), std::max<int64_t>(1, count / parts));
      item();
      host(Busy::kHost, effects_.after_sync_ns);
    }
  }
  end(kForwardPhase);
  gap();
}

// Inside backward, before its first operator.
void StepBuilder::before_backward() {
  switch (effects_.hang) {
    case HangAct::kSleep:
      host(Busy::kHost, kNever);
      break;
    case HangAct::kException:
      add({.what = Do::kStop, .a = 1, .b = 0});
      break;
    case HangAct::kLoop:
      add({.what = Do::kForever,
           .busy = Busy::kBackward,
           .category = static_cast<uint8_t>(RangeCategory::kOp)});
      break;
    case HangAct::kKilled:
      add({.what = Do::kStop, .a = 0, .b = 9});
      break;
    case HangAct::kLost:
      add({.what = Do::kStop, .ns = 1, .a = 0, .b = 0});
      break;
    default:
      break;
  }
  host(Busy::kHost, effects_.backward_host_ns);
  fault_ops(Busy::kBackward, effects_.backward_op_ns);
}

void StepBuilder::optimizer(double ns, int64_t count) {
  begin(kOptimizerPhase);
  ops(Busy::kOptimizer, ns, count);
  fault_ops(Busy::kOptimizer, effects_.optimizer_op_ns);
  end(kOptimizerPhase);
}

void StepBuilder::after_step() {
  if (effects_.leaked_bytes > 0)  // a block of its own for each step
    memory(true, -1 - step_, effects_.leaked_bytes, schema::MemoryCategory::kUnknown);
  if (effects_.checkpoint_ns > 0) {
    gap();
    begin(name("checkpoint"));
    host(Busy::kCheckpoint, effects_.checkpoint_ns);
    end(name("checkpoint"));
  }
  if (effects_.rank0_ns > 0) {
    gap();
    begin(name("metrics"));
    host(Busy::kHost, effects_.rank0_ns);
    end(name("metrics"));
  }
}

void StepBuilder::memory(bool allocate, int64_t block, int64_t bytes,
                         schema::MemoryCategory category) {
  out_.memory.push_back({allocate, block, bytes, category});
  add({.what = Do::kMemory, .a = static_cast<int64_t>(out_.memory.size()) - 1});
}

}  // namespace dprof::synth
