// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "tests/support/run_shape_internal.h"
#include "tests/support/trace_rows_internal.h"

namespace dprof::test_support {

using schema::RangeCategory;

// Names of the operators of a phase, by nesting depth; deeper ones repeat the last row.
struct OpNames {
  std::array<std::array<std::string_view, 4>, 3> by_depth;
  RangeCategory outermost;
};

namespace {

constexpr int64_t kCommunicator = 1;
constexpr int64_t kCommunicatorHash = 0x9f3a;
constexpr int64_t kParameterBytes = 5'242'880;

constexpr OpNames kForwardOps = {
    {{{"aten::conv2d", "aten::relu", "aten::max_pool2d", "aten::linear"},
      {"aten::convolution", "aten::clamp_min", "aten::max_pool2d_with_indices", "aten::addmm"},
      {"aten::_convolution", "aten::clamp", "aten::max_pool2d_with_indices", "aten::copy_"}}},
    RangeCategory::kOp};
constexpr OpNames kBackwardOps = {
    {{{"AddmmBackward0", "MaxPool2DWithIndicesBackward0", "ReluBackward0", "ConvolutionBackward0"},
      {"aten::mm", "aten::max_pool2d_with_indices_backward", "aten::threshold_backward",
       "aten::convolution_backward"},
      {"aten::t", "aten::zero_", "aten::fill_", "aten::copy_"}}},
    RangeCategory::kAutograd};
constexpr OpNames kOptimizerOps = {
    {{{"aten::_foreach_mul_", "aten::_foreach_add_", "aten::_foreach_mul_", "aten::add_"},
      {"aten::mul_", "aten::add_", "aten::mul_", "aten::add_"},
      {"aten::mul_", "aten::add_", "aten::mul_", "aten::add_"}}},
    RangeCategory::kOp};

}  // namespace

template <typename Row>
void TraceRows::append(const Row& row) {
  if (!status_.ok()) return;
  status_ = writer_.append(row);
}

Status TraceRows::write() {
  write_dictionaries();
  if (spec_.collectives) {
    const Span call{*times_.startup.enqueue_ns, *times_.startup.enqueue_ns + kEnqueueNs};
    range(call, "c10d::broadcast_", RangeCategory::kOp);
    write_collective({.function = schema::Function::kBroadcast, .sequence = 0, .root = 0},
                     times_.startup, kParameterBytes);
  }
  int64_t index = 0;
  for (const StepTimes& step : times_.steps) write_step(index++, step);
  return status_;
}

void TraceRows::write_dictionaries() {
  append(schema::ThreadRow{.id = kMainThread,
                           .os_tid = 4000 + rank_,
                           .name_id = writer_.intern("main"),
                           .role = schema::ThreadRole::kMain});
  append(schema::ThreadRow{.id = kWorkerThread,
                           .os_tid = 5000 + rank_,
                           .name_id = writer_.intern("gloo worker"),
                           .role = schema::ThreadRole::kCommunication});
  append(schema::CommunicatorRow{.id = kCommunicator,
                                 .hash = kCommunicatorHash,
                                 .ordinal = 0,
                                 .backend = schema::Backend::kGloo,
                                 .size = spec_.ranks,
                                 .own_rank = rank_,
                                 .name_id = writer_.intern("default_pg")});
  for (int member = 0; member < spec_.ranks; ++member) {
    append(schema::CommunicatorMemberRow{
        .communicator_id = kCommunicator, .member = member, .rank = member});
  }
}

void TraceRows::write_step(int64_t index, const StepTimes& step) {
  if (step.step.begin >= times_.end_ns) return;
  if (spec_.marks == StepMarks::kMarker) range(step.step, "step", RangeCategory::kUser);
  if (spec_.step_table && spec_.marks == StepMarks::kMarker) {
    schema::StepRow row{.step_index = index,
                        .start_ns = step.step.begin + offset_ns_,
                        .source = schema::StepSource::kMarker};
    if (step.step.end <= times_.end_ns) row.end_ns = step.step.end + offset_ns_;
    append(row);
  }
  write_input(step);
  for (const MicroStepTimes& micro : step.earlier) write_micro_step(index, micro);
  write_micro_step(index, step);
  write_optimizer(index, step);
  if (step.checkpoint.length() > 0) phase_range(step.checkpoint, "checkpoint", {});
  if (!spec_.collectives) return;
  for (const MessageTimes& message : step.messages) write_message(message);
}

void TraceRows::write_micro_step(int64_t index, const MicroStepTimes& micro) {
  if (spec_.micro_steps > 1) phase_range(micro.micro_step, "micro_step", {});
  write_forward(index, micro);
  write_backward(index, micro);
}

void TraceRows::write_message(const MessageTimes& message) {
  const MessageSpec& spec = spec_.messages[message.message];
  const std::string& mark = message.sends ? spec.send_mark : spec.recv_mark;
  if (!mark.empty()) phase_range(message.span, mark, {});
  range({message.span.begin, message.span.begin + kEnqueueNs},
        message.sends     ? "c10d::send"
        : spec.any_source ? "c10d::recv_any_source_"
                          : "c10d::recv_",
        RangeCategory::kOp);
  schema::CollectiveRow row;
  row.function = message.sends ? schema::Function::kSend : schema::Function::kRecv;
  row.sequence = message.sends ? sends_++ : receives_++;
  if (message.sends) row.peer = spec.to;
  if (!message.sends && !spec.any_source) row.peer = spec.from;
  write_collective(std::move(row),
                   {.enqueue_ns = message.span.begin,
                    .start_ns = message.span.begin,
                    .end_ns = message.span.end},
                   spec.bytes, kMainThread);
}

void TraceRows::write_input(const StepTimes& step) {
  phase_range(step.input, "input", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
}

void TraceRows::write_forward(int64_t index, const MicroStepTimes& micro) {
  phase_range(micro.forward, "forward", "DistributedDataParallel.forward");
  ops(delay(micro.forward, index, Phase::kForward), spec_.ops_per_phase, kForwardOps,
      autograd_sequence_);
}

void TraceRows::write_backward(int64_t index, const MicroStepTimes& micro) {
  phase_range(micro.backward, "backward", {});
  const auto buckets = static_cast<int64_t>(spec_.bucket_bytes.size());
  const int64_t enqueue_ns = micro.buckets.empty() ? 0 : kEnqueueNs;
  const int64_t nodes = spec_.ops_per_phase / buckets;
  // What each bucket's share of the computation spans; a bucket that was never enqueued leaves none
  // to the next.
  int64_t begin =
      delay({micro.backward.begin, micro.backward_compute_end_ns}, index, Phase::kBackward).begin;
  const int64_t share = (micro.backward_compute_end_ns - begin) / buckets - enqueue_ns;
  for (int64_t b = 0; b < buckets; ++b) {
    const int64_t ready = begin + share;
    ops({begin, ready}, std::max<int64_t>(1, nodes), kBackwardOps, autograd_sequence_ + b * nodes);
    begin = ready + enqueue_ns;
    if (!spec_.collectives || micro.buckets.empty()) continue;
    const CollectiveTimes& times = micro.buckets[static_cast<size_t>(b)];
    if (!times.enqueue_ns) continue;
    range({ready, begin}, "c10d::allreduce_", RangeCategory::kOp);
    write_collective({.function = schema::Function::kAllReduce,
                      .sequence = all_reduces_++,
                      .reduction = schema::Reduction::kSum,
                      .bucket = b},
                     times, spec_.bucket_bytes[static_cast<size_t>(b)]);
  }
  autograd_sequence_ += spec_.ops_per_phase;
  if (micro.buckets.empty()) return;
  range({micro.backward.end - kFinalizeNs, micro.backward.end},
        "torch.distributed.ddp.reducer::copy_bucket_to_grad", RangeCategory::kOp);
}

void TraceRows::write_optimizer(int64_t index, const StepTimes& step) {
  phase_range(step.optimizer, "optimizer", "Optimizer.step#SGD.step");
  ops(delay(step.optimizer, index, Phase::kOptimizer), spec_.ops_per_phase, kOptimizerOps, {});
}

void TraceRows::write_collective(schema::CollectiveRow row, const CollectiveTimes& times,
                                 int64_t bytes, int64_t thread) {
  const auto on_clock = [&](std::optional<int64_t> time) -> std::optional<int64_t> {
    if (!time || *time > times_.end_ns) return std::nullopt;
    return *time + offset_ns_;
  };
  if (!on_clock(times.enqueue_ns)) return;
  row.id = ++collective_id_;
  row.communicator_id = kCommunicator;
  row.group_sequence = collective_id_ - 1;
  row.bytes = bytes;
  row.count = bytes / 4;
  row.dtype = schema::DataType::kFloat32;
  row.enqueue_ns = on_clock(times.enqueue_ns);
  row.start_ns = on_clock(times.start_ns);
  row.end_ns = on_clock(times.end_ns);
  row.state = row.end_ns     ? schema::CollectiveState::kComplete
              : row.start_ns ? schema::CollectiveState::kRunning
                             : schema::CollectiveState::kEnqueued;
  if (row.start_ns) row.thread_id = thread;
  row.enqueue_thread_id = kMainThread;
  append(row);
}

void TraceRows::range(Span span, std::string_view name, RangeCategory category,
                      std::optional<int64_t> sequence) {
  if (span.begin >= times_.end_ns) return;
  schema::HostRangeRow row{.id = ++range_id_,
                           .thread_id = kMainThread,
                           .start_ns = span.begin + offset_ns_,
                           .name_id = writer_.intern(name),
                           .category = category,
                           .sequence = sequence};
  if (span.end <= times_.end_ns) row.duration_ns = span.length();
  append(row);
}

void TraceRows::phase_range(Span span, std::string_view marker, std::string_view by_torch) {
  const std::string_view name = spec_.marks == StepMarks::kMarker      ? marker
                                : spec_.marks == StepMarks::kOptimizer ? by_torch
                                                                       : std::string_view();
  if (!name.empty()) range(span, name, RangeCategory::kUser);
}

void TraceRows::ops(Span span, int64_t count, const OpNames& names,
                    std::optional<int64_t> first_sequence) {
  const int64_t slot = span.length() / count;
  const int64_t gap = slot / 50;
  for (int64_t i = 0; i < count; ++i) {
    Span op{span.begin + i * slot, span.begin + (i + 1) * slot - gap};
    for (int depth = 0; depth < spec_.op_depth && op.length() > 0; ++depth) {
      const auto row = std::min(static_cast<size_t>(depth), names.by_depth.size() - 1);
      range(op, names.by_depth[row][static_cast<size_t>(i) % 4],
            depth == 0 ? names.outermost : RangeCategory::kOp,
            depth == 0 && first_sequence ? std::optional(*first_sequence + i) : std::nullopt);
      op = {op.begin + op.length() / 20, op.end - op.length() / 20};
    }
  }
}

Span TraceRows::delay(Span span, int64_t step, Phase phase) {
  const DelayParts parts = delay_of(spec_, rank_, step, phase);
  span.begin += parts.host_ns;
  if (parts.op_ns > 0) {
    const bool node = phase == Phase::kBackward;
    range({span.begin, span.begin + parts.op_ns}, node ? "MmBackward0" : "aten::mm",
          node ? RangeCategory::kAutograd : RangeCategory::kOp);
  }
  span.begin += parts.op_ns;
  return span;
}

}  // namespace dprof::test_support
