// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/torch/cuda_memory.h"

#include "collector/inject/torch/core.h"

#ifdef DPROF_TORCH_HAS_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>

#include <functional>

#include "collector/inject/torch/torch_layout.h"
#include "collector/wire/enum_values.h"
#include "collector/wire/training_records.h"
#endif

namespace dprof::inject::torch_source {

constinit std::atomic<bool> cuda_memory_waits = false;
constinit std::atomic<bool> cuda_memory_ready = false;

#ifdef DPROF_TORCH_HAS_CUDA
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;
using allocator::CUDAAllocator;
using allocator::TraceEntry;
using CurrentDevice = c10::DeviceIndex (*)();

// As in all releases from 2.6 on; later ones append fields.
struct DeviceStats {
  struct Stat {
    int64_t current, peak, allocated, freed;
  };
  unsigned char before[384];
  Stat allocated_bytes[3];  // in all, of small and of large blocks
  Stat reserved_bytes[3];
  unsigned char behind[4096 - 384 - 6 * sizeof(Stat)];
};
static_assert(sizeof(DeviceStats) == 4096);

constexpr int kMaxDevices = 64;

constinit std::atomic<const std::atomic<CUDAAllocator*>*> shared_allocator = nullptr;
constinit CurrentDevice current_device = nullptr;  // set before cuda_memory_ready
constinit std::atomic<bool> attached = false;
constinit std::atomic<bool> refused = false;

CUDAAllocator* find_allocator() noexcept {
  const std::atomic<CUDAAllocator*>* shared = shared_allocator.load(std::memory_order_acquire);
  return shared != nullptr ? shared->load(std::memory_order_acquire) : nullptr;
}

// A virtual function of the allocator: its slot differs from release to release.
template <typename Function>
Function function_at(CUDAAllocator* self, uint32_t slot) noexcept {
  return read_at<const Function*>(self, 0)[slot];
}

bool find_library() noexcept {
  if (shared_allocator.load(std::memory_order_relaxed) != nullptr) return true;
  void* library = dlopen("libc10_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  current_device =
      reinterpret_cast<CurrentDevice>(dlsym(library, "_ZN3c104cuda14current_deviceEv"));
  shared_allocator.store(static_cast<const std::atomic<CUDAAllocator*>*>(
                             dlsym(library, "_ZN3c104cuda20CUDACachingAllocator9allocatorE")),
                         std::memory_order_release);
  return shared_allocator.load(std::memory_order_relaxed) != nullptr;
}

// -1: not recorded.
int kind_of(TraceEntry::Action action) noexcept {
  using namespace wire::memory_event_kind;
  switch (action) {
    case TraceEntry::ALLOC:
      return kAlloc;
    case TraceEntry::FREE_COMPLETED:
      return kFree;
    case TraceEntry::SEGMENT_ALLOC:
    case TraceEntry::SEGMENT_MAP:
      return kSegmentAlloc;
    case TraceEntry::SEGMENT_FREE:
    case TraceEntry::SEGMENT_UNMAP:
      return kSegmentFree;
    case TraceEntry::OOM:
      return kOom;
    default:
      return -1;
  }
}

// HOT PATH, under the allocator's lock: takes none itself. Budget: 200 ns.
void on_entry(const TraceEntry& entry) noexcept {
  if (!recording(kMaskTorch | kMaskStandard)) return;
  const int kind = kind_of(entry.action_);
  if (kind < 0) return;
  const auto bytes = static_cast<int64_t>(entry.size_);
  const bool out_of_memory = entry.action_ == TraceEntry::OOM;  // its address is a number of bytes
  wire::Record record =
      record_of(wire::Kind::kMemoryEvent,
                wire::MemoryEvent{.address = out_of_memory ? 0 : entry.addr_,
                                  .bytes = bytes,
                                  .stream = reinterpret_cast<uintptr_t>(entry.stream_),
                                  .requested_bytes = bytes,
                                  .device = entry.device_,
                                  .kind = static_cast<uint8_t>(kind),
                                  .category = wire::memory_category::kUnknown,
                                  .reserved = 0,
                                  .reserved_word = 0});
  core->write(nullptr, &record, false);
}

// A CUDA op's first tensor is usually on the device; one of the first ops is enough.
bool has_cuda_tensor(const at::RecordFunction& function) {
  const auto inputs = inputs_of(function);
  if (inputs.empty() || !inputs[0].is_tensor()) return false;
  const TensorView tensor = inputs[0].tensor();
  return tensor.defined() && tensor.device_type() == kCudaDevice;
}

// One range per step: if a program marks its steps, its optimizer ranges add nothing.
bool ends_step(const char* range) noexcept {
  static std::atomic<bool> steps_are_marked = false;
  const bool step = strcmp(range, "step") == 0 || starts_with(range, "ProfilerStep#");
  if (step) steps_are_marked.store(true, std::memory_order_relaxed);
  return step || (!steps_are_marked.load(std::memory_order_relaxed) &&
                  (strcmp(range, "optimizer") == 0 || starts_with(range, "Optimizer.step#")));
}

// A peak belongs to this step only if the program's own peak has risen since the last one: ours
// must not reset a value that the program reads.
int64_t risen(int64_t peak, std::atomic<int64_t>& last) noexcept {
  const int64_t before = last.exchange(peak, std::memory_order_relaxed);
  return peak > before ? peak : -1;
}

}  // namespace

CudaMemory look_for_cuda(bool standard) {
  if (attached) {
    cuda_memory_waits = false;
    return refused ? CudaMemory::kRefused : CudaMemory::kAttached;
  }
  if (!find_library() || find_allocator() == nullptr) return CudaMemory::kAbsent;
  if (layout.trace_slot == 0) return CudaMemory::kUnknown;
  cuda_memory_waits.store(standard, std::memory_order_release);
  return CudaMemory::kIdle;
}

void attach_cuda_memory(const at::RecordFunction& function) noexcept {
  try {
    if (!has_cuda_tensor(function) || attached.exchange(true)) return;
    cuda_memory_waits = false;
    using Attach = void (*)(CUDAAllocator*, std::function<void(const TraceEntry&)>);
    CUDAAllocator* self = find_allocator();
    function_at<Attach>(self, layout.trace_slot)(self, &on_entry);
  } catch (...) {  // not every allocator backend has a trace
    refused = true;
  }
  cuda_memory_waits = false;
  cuda_memory_ready = attached.load() && current_device != nullptr;
}

void sample_cuda_memory(const char* range) noexcept {
  if (!recording(kMaskTorch) || !ends_step(range)) return;
  static std::atomic<int64_t> last_allocated[kMaxDevices], last_reserved[kMaxDevices];
  try {
    const c10::DeviceIndex device = current_device();
    if (device < 0 || device >= kMaxDevices) return;
    using Ask = DeviceStats (*)(CUDAAllocator*, c10::DeviceIndex);
    CUDAAllocator* self = find_allocator();
    const DeviceStats stats = function_at<Ask>(self, layout.stats_slot)(self, device);
    const DeviceStats::Stat& allocated = stats.allocated_bytes[0];
    const DeviceStats::Stat& reserved = stats.reserved_bytes[0];
    wire::Record record = record_of(
        wire::Kind::kMemorySample,
        wire::MemorySample{.allocated_bytes = allocated.current,
                           .reserved_bytes = reserved.current,
                           .peak_allocated_bytes = risen(allocated.peak, last_allocated[device]),
                           .peak_reserved_bytes = risen(reserved.peak, last_reserved[device]),
                           .step = -1,
                           .device = device,
                           .reserved = {}});
    core->write(nullptr, &record, false);
  } catch (...) {
    // A device that was never used has no statistics.
  }
}

#else

CudaMemory look_for_cuda(bool) { return CudaMemory::kNotBuilt; }
void attach_cuda_memory(const at::RecordFunction&) noexcept {}
void sample_cuda_memory(const char*) noexcept {}

#endif

}  // namespace dprof::inject::torch_source
