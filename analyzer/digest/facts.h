// SPDX-License-Identifier: Apache-2.0
// Facts that rules need and the rest of the digest does not contain: settings, batches, calls that
// block the host, kinds of kernels, the process layout.
//
// Unrecorded items are missing: a count of 0 means nothing if the recording's level of detail
// leaves such items out. Rules check `has_ops` and the like first.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/interval.h"
#include "base/log_histogram.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer {

// Calls and operators counted for rules.
enum class CallKind : uint8_t {
  kStreamSync,    // waits for a stream or an event
  kDeviceSync,    // waits for the whole device
  kBlockingCopy,  // cudaMemcpy: waits for its own copy
  kAllocate,      // allocates device memory from the driver
  kRelease,       // returns device memory to the driver
  kItem,          // `.item()` and other reads of a tensor's value: operators, at full detail only
  kEmptyCache,    // a range with such a name
  kNanCheck,      // aten::isnan: anomaly detection checks each gradient with it
  kScalerUpdate,  // GradScaler's update: once per step
  kZeroGrad,      // Optimizer.zero_grad
  // DDP copies a gradient into its bucket, and back: operators, at full detail only. None if
  // gradients are views of their buckets.
  kBucketCopy,
};
inline constexpr size_t kCallKinds = 11;

struct Call {
  TraceNs at;
  int64_t ns = 0;
  int64_t row = 0;  // in host_range
};

struct Calls {
  static constexpr size_t kMostKept = size_t{1} << 15;

  int64_t count = 0;
  int64_t total_ns = 0;
  int64_t every = 1;       // `kept` has one in so many calls
  std::vector<Call> kept;  // in the order of rows
};

// The computation of a kernel, inferred from its name.
enum class KernelClass : uint8_t {
  kOther,
  kMatrixFp32,       // matrix products and convolutions on the ordinary units, in fp32
  kMatrixTensor,     // on tensor cores
  kMatrixUnaligned,  // on tensor cores, in a variant for sizes that are not multiples of 8
  kLayout,           // converts between memory layouts of images
  kElementwise,      // element by element, reductions, normalisation: memory-bound
  kFill,
  kOptimizer,  // many tensors at once
  kCommunication,
};
inline constexpr size_t kKernelClasses = 9;

[[nodiscard]] KernelClass class_of_kernel(std::string_view name);

struct KernelSum {
  int64_t count = 0;
  int64_t total_ns = 0;
};

struct KernelFact {
  static constexpr size_t kMostKept = 128;       // those with the most time
  static constexpr size_t kMostNameBytes = 160;  // longer ones are cut

  std::string name;
  KernelClass what = KernelClass::kOther;
  bool convolution = false;
  int64_t count = 0;
  int64_t total_ns = 0;
  TraceNs first;  // begin of its first and last run
  TraceNs last;
};

// Copies from the host to a device.
struct HostCopies {
  int64_t count = 0;
  int64_t bytes = 0;
  int64_t total_ns = 0;
  // If names show it (Kineto's do): from ordinary, and from page-locked memory.
  int64_t pageable = 0;
  int64_t pageable_bytes = 0;
  int64_t pageable_ns = 0;
  int64_t pinned = 0;
  int64_t pinned_bytes = 0;
  int64_t pinned_ns = 0;
  // Sample of copies of at least kLarge bytes: the launching call returned only after the copy.
  static constexpr int64_t kLarge = 64 << 10;
  int64_t sampled = 0;
  int64_t held_host_up = 0;
};

struct BatchFact {
  TraceNs at;  // when the wait for it began
  std::optional<int64_t> wait_ns;
  std::optional<int64_t> queue_depth;
  std::optional<int64_t> hash;  // of its sample indices
  std::optional<int64_t> epoch;
  int32_t shape = -1;  // position in Facts::shapes; -1 = unknown
  int64_t row = 0;     // in loader_event
};

struct DeviceFact {
  int64_t id = 0;  // CUDA's ordinal in this process
  std::string uuid;
  std::string model;
  std::optional<int64_t> memory_bytes;
  std::optional<int64_t> compute_capability;  // major * 100 + minor
  int64_t kernels = 0;                        // that ran on it
};

struct ThreadFact {
  int64_t os_tid = 0;
  schema::ThreadRole role{};
  std::string name;
  int64_t cpu_ns = 0;  // between its first and last sample
  int64_t run_queue_ns = 0;
};

// The host's free memory at the last sample, if this trace has the host's samples.
struct HostMemoryLeft {
  std::optional<int64_t> available_bytes;     // free, or reclaimable from caches: MemAvailable
  std::optional<int64_t> cgroup_bytes;        // used, including page cache
  std::optional<int64_t> cgroup_limit_bytes;  // nullopt = none

  // Until the first of the two is exhausted. A cgroup can reclaim its page cache, whose size is not
  // recorded: so this is never too high, but can be too low.
  [[nodiscard]] std::optional<int64_t> bytes() const;
};

// Of a GPU of this recorder's hosts, from the driver.
struct GpuPower {
  std::string uuid;
  int64_t power_mw = 0;  // median
  int64_t limit_mw = 0;
  int64_t samples = 0;
};

struct Facts {
  // Of `meta`; "" = unknown.
  std::string ddp;  // JSON
  std::string detail;
  std::string memory_source;
  std::string cuda_source;
  bool collections_recorded = false;  // Python's garbage collections are ranges
  std::string ended;
  std::string exit_status;
  std::optional<bool> find_unused;           // DDP's find_unused_parameters was observed
  std::optional<int64_t> parameter_tensors;  // from DDP's buckets, or from the registration
  bool has_ops = false;                      // operators were recorded
  bool has_gpu = false;
  std::optional<int64_t> load_1min_milli;   // of the host: median
  std::optional<int64_t> runnable_threads;  // of the host: median
  HostMemoryLeft host_memory;
  std::vector<DeviceFact> devices;
  std::vector<ThreadFact> threads;  // threads that used a core for at least 1 % of the time
  std::vector<GpuPower> power;      // if this trace has the host's samples

  // Input.
  std::vector<BatchFact> batches;    // in order of time
  std::vector<std::string> shapes;   // distinct ones
  int64_t single_process_loads = 0;  // ranges of a loader that reports no workers
  int64_t worker_loads = 0;          // and of one that reports workers

  // Calls and operators, on all threads.
  std::array<Calls, kCallKinds> calls{};

  // Kernels. Without those of graphs that were recorded as a whole.
  std::array<KernelSum, kKernelClasses> kernels_by_class{};
  std::vector<KernelFact> kernels;  // by their time, longest first
  LogHistogram kernel_ns;           // lengths, without communication
  LogHistogram start_lag_ns;        // from the end of the launching call to the kernel's begin
  int64_t launches_sampled = 0;
  int64_t launches_until_done = 0;  // of these, calls that returned only after their kernel
  HostCopies host_copies;

  // Number of the host's optimizer phases, and totals within them.
  int64_t optimizer_phases = 0;
  int64_t optimizer_launches = 0;
  int64_t scaler_skips = 0;  // scaler updates without a parameter write before the next

  // By step of the digest, while the host was in backward: the device was idle for lack of work,
  // and it was computing.
  std::vector<int64_t> backward_starved_ns;
  std::vector<int64_t> backward_busy_ns;
  // Likewise: the host's threads were in calls that can wait for the device, including asynchronous
  // copies (one from or to pageable memory can return only when it is done). Empty: no such call
  // was recorded.
  std::vector<int64_t> device_wait_ns;
  int64_t autograd_nodes = 0;  // without nodes that only accumulate
  KernelSum recompute;         // autograd nodes that run forward again; host time
  KernelSum bucket_copies;     // work launched on the device by kBucketCopy calls

  [[nodiscard]] const Calls& of(CallKind kind) const { return calls[static_cast<size_t>(kind)]; }
  [[nodiscard]] const KernelSum& of(KernelClass what) const {
    return kernels_by_class[static_cast<size_t>(what)];
  }
};

// Calls f(TraceNs&) for each time in it; f must preserve the order of times.
template <typename F>
void for_each_time(Facts& facts, F&& f) {
  for (Calls& calls : facts.calls) {
    for (Call& call : calls.kept) f(call.at);
  }
  for (KernelFact& kernel : facts.kernels) {
    f(kernel.first);
    f(kernel.last);
  }
  for (BatchFact& batch : facts.batches) f(batch.at);
}

}  // namespace dprof::analyzer
