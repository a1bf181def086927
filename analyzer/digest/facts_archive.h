// SPDX-License-Identifier: Apache-2.0
// Part of archive.h, which includes it.
#pragma once

#include <cereal/types/array.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>

#include "analyzer/digest/facts.h"

namespace dprof::analyzer {

template <typename Archive>
void serialize(Archive& archive, Call& d) {
  archive(d.at.ns, d.ns, d.row);
}

template <typename Archive>
void serialize(Archive& archive, Calls& d) {
  archive(d.count, d.total_ns, d.every, d.kept);
}

template <typename Archive>
void serialize(Archive& archive, KernelSum& d) {
  archive(d.count, d.total_ns);
}

template <typename Archive>
void serialize(Archive& archive, KernelFact& d) {
  archive(d.name, d.what, d.convolution, d.count, d.total_ns, d.first.ns, d.last.ns);
}

template <typename Archive>
void serialize(Archive& archive, HostCopies& d) {
  archive(d.count, d.bytes, d.total_ns, d.pageable, d.pageable_bytes, d.pageable_ns, d.pinned,
          d.pinned_bytes, d.pinned_ns, d.sampled, d.held_host_up);
}

template <typename Archive>
void serialize(Archive& archive, BatchFact& d) {
  archive(d.at.ns, d.wait_ns, d.queue_depth, d.hash, d.epoch, d.shape, d.row);
}

template <typename Archive>
void serialize(Archive& archive, DeviceFact& d) {
  archive(d.id, d.uuid, d.model, d.memory_bytes, d.compute_capability, d.kernels);
}

template <typename Archive>
void serialize(Archive& archive, ThreadFact& d) {
  archive(d.os_tid, d.role, d.name, d.cpu_ns, d.run_queue_ns);
}

template <typename Archive>
void serialize(Archive& archive, GpuPower& d) {
  archive(d.uuid, d.power_mw, d.limit_mw, d.samples);
}

template <typename Archive>
void serialize(Archive& archive, HostMemoryLeft& d) {
  archive(d.available_bytes, d.cgroup_bytes, d.cgroup_limit_bytes);
}

template <typename Archive>
void serialize(Archive& archive, Facts& d) {
  archive(d.ddp, d.detail, d.memory_source, d.cuda_source, d.ended, d.exit_status, d.find_unused,
          d.parameter_tensors, d.has_ops, d.has_gpu, d.load_1min_milli, d.runnable_threads,
          d.host_memory, d.devices, d.threads, d.power, d.batches, d.shapes, d.single_process_loads,
          d.worker_loads, d.calls, d.kernels_by_class, d.kernels, d.kernel_ns, d.start_lag_ns,
          d.launches_sampled, d.launches_until_done, d.host_copies, d.optimizer_phases,
          d.optimizer_launches, d.scaler_skips, d.backward_starved_ns, d.backward_busy_ns,
          d.autograd_nodes, d.recompute, d.bucket_copies);
}

// A new member changes a size: archive it above, then correct the number.
static_assert(sizeof(Call) == 24);
static_assert(sizeof(Calls) == 48);
static_assert(sizeof(KernelFact) == 72);
static_assert(sizeof(HostCopies) == 88);
static_assert(sizeof(BatchFact) == 88);
static_assert(sizeof(DeviceFact) == 112);
static_assert(sizeof(ThreadFact) == 64);
static_assert(sizeof(GpuPower) == 56);
static_assert(sizeof(HostMemoryLeft) == 48);
static_assert(sizeof(Facts) == 1400);

}  // namespace dprof::analyzer
