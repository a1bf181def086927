// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 without a GPU, for rehearsing the GPU check: it loads CUDA_INJECTION64_PATH in
// cuInit as the driver does, and gives the FAKE CUPTI of DPROF_CUPTI_LIBRARY what a GPU would have
// done. It proves that programs, recorder and checks work together, and nothing about a GPU.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "collector/inject/cuda/cupti_abi.h"
#include "collector/inject/test_support/fake_cupti.h"
#include "tests/gpu/cuda_driver.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace dprof::inject;
using namespace dprof::inject::cupti;

constexpr int kErrorNotInitialized = 3;
constexpr uint64_t kLatencyNs = 4'000;  // from a call to the start of its work on an idle GPU
constexpr uint64_t kKernelNs =
    50'000;  // long, so that a rehearsal makes no more records than a GPU
constexpr uint32_t kDeviceMemoryGib = 80;

struct FakeGpu {
  std::mutex mutex;
  bool initialized = false;
  bool in_use = false;  // the primary context
  void* cupti = nullptr;
  std::atomic<uint32_t> correlation = 0;
  uint64_t busy_until = 0;  // one engine: what is launched later runs later
  int captured = -1;        // nodes of the graph that is being captured; -1: none
  int graph_nodes = 0;
  uintptr_t handles = 0x1000;
};
FakeGpu gpu;

template <typename Function>
Function control(const char* name) {
  return gpu.cupti != nullptr ? reinterpret_cast<Function>(dlsym(gpu.cupti, name)) : nullptr;
}

uint64_t time_now() {
  const auto time = control<FakeTime>("fake_cupti_time");
  return time != nullptr ? time() : 0;
}

template <typename Record>
void deliver(const Record& record) {
  if (const auto add = control<FakeAdd>("fake_cupti_add")) add(&record, sizeof record);
}

bool kind_on(ActivityKind kind) {
  const auto on = control<FakeKindOn>("fake_cupti_kind_on");
  return on != nullptr && on(static_cast<uint32_t>(kind)) != 0;
}

void* new_handle() { return reinterpret_cast<void*>(gpu.handles += 0x10); }

uint32_t stream_number(void* stream) {
  return 7 + static_cast<uint32_t>(reinterpret_cast<uintptr_t>(stream) >> 4 & 3);
}

// The engine takes the work on when it is free.
std::pair<uint64_t, uint64_t> occupy(uint64_t duration) {
  const std::lock_guard lock(gpu.mutex);
  const uint64_t start = std::max(gpu.busy_until, time_now() + kLatencyNs);
  gpu.busy_until = start + duration;
  return {start, gpu.busy_until};
}

class Call {
 public:
  explicit Call(uint32_t callback_id)
      : callback_id_(callback_id), correlation_(++gpu.correlation), begin_(time_now()) {}
  ~Call() {
    Api api{};
    api.kind = ActivityKind::kDriver;
    api.callback_id = callback_id_;
    api.start = begin_;
    api.end = time_now();
    api.thread = static_cast<uint32_t>(syscall(SYS_gettid));
    api.correlation = correlation_;
    deliver(api);
  }
  [[nodiscard]] uint32_t correlation() const { return correlation_; }

 private:
  uint32_t callback_id_;
  uint32_t correlation_;
  uint64_t begin_;
};

void run_kernel(uint32_t correlation, void* stream, uint32_t graph = 0) {
  const auto [start, end] = occupy(kKernelNs);
  Kernel kernel{};
  kernel.kind = ActivityKind::kConcurrentKernel;
  kernel.start = start;
  kernel.end = end;
  kernel.context = 1;
  kernel.stream = stream_number(stream);
  for (int i = 0; i < 3; ++i) kernel.grid[i] = kernel.block[i] = 1;
  kernel.correlation = correlation;
  kernel.name = "nothing";
  kernel.graph = graph;
  deliver(kernel);
  const auto external = control<FakeExternal>("fake_cupti_external");
  if (const uint64_t id = external != nullptr ? external() : 0; id != 0) {
    deliver(External{ActivityKind::kExternalCorrelation, kExternalCustom2, id, correlation, 0});
  }
}

void wait_until_idle() {
  const uint64_t now = time_now();
  if (gpu.busy_until > now) usleep(static_cast<useconds_t>((gpu.busy_until - now) / 1000 + 1));
  // CUPTI hands over what is complete each time a buffer is full; here it is each time.
  if (const auto deliver = control<FakeDeliver>("fake_cupti_deliver")) deliver(0);
}

void deliver_device() {
  DeviceInfo device{};
  device.kind = ActivityKind::kDevice;
  device.memory_bytes = uint64_t{kDeviceMemoryGib} << 30;
  device.capability_major = 9;
  device.name = "Fake GPU";
  deliver(device);
  deliver(ContextInfo{ActivityKind::kContext, 1, 0, 1, 7});
  for (const uint32_t stream : {7u, 8u, 9u, 10u}) {
    deliver(StreamInfo{ActivityKind::kStream, 1, stream, 0, 2, 0});
  }
}

}  // namespace

FAKE_EXPORT int cuInit(unsigned) {
  {
    const std::lock_guard lock(gpu.mutex);
    if (gpu.initialized) return 0;
    gpu.initialized = true;
    const char* fake = getenv("DPROF_CUPTI_LIBRARY");
    if (fake != nullptr) gpu.cupti = dlopen(fake, RTLD_NOW);
  }
  const char* injection = getenv("CUDA_INJECTION64_PATH");
  if (injection == nullptr) return 0;
  void* library = dlopen(injection, RTLD_NOW | RTLD_GLOBAL);
  const auto door = library == nullptr
                        ? nullptr
                        : reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (door != nullptr) door();
  return 0;
}
FAKE_EXPORT int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
FAKE_EXPORT int cuDeviceGetCount(int* count) {
  *count = 1;
  return gpu.initialized ? 0 : kErrorNotInitialized;
}
FAKE_EXPORT int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
FAKE_EXPORT int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = new_handle();
  gpu.in_use = true;
  deliver_device();
  return 0;
}
FAKE_EXPORT int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0;
  *active = gpu.in_use ? 1 : 0;
  return 0;
}
FAKE_EXPORT int cuCtxSetCurrent(void*) { return 0; }
FAKE_EXPORT int cuModuleLoadData(void** module, const void*) {
  *module = new_handle();
  return 0;
}
FAKE_EXPORT int cuModuleGetFunction(void** function, void*, const char*) {
  *function = new_handle();
  return 0;
}
FAKE_EXPORT int cuStreamCreate(void** stream, unsigned) {
  *stream = new_handle();
  return 0;
}
FAKE_EXPORT int cuEventCreate(void** event, unsigned) {
  *event = new_handle();
  return 0;
}
FAKE_EXPORT int cuMemAlloc_v2(uint64_t* address, size_t) {
  *address = 0x7000'0000;
  return 0;
}
FAKE_EXPORT int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, void* stream, void**, void**) {
  if (gpu.captured >= 0) {
    ++gpu.captured;
    return 0;
  }
  const Call call(driver::kLaunchKernel);
  run_kernel(call.correlation(), stream);
  return 0;
}
FAKE_EXPORT int cuMemcpyHtoDAsync_v2(uint64_t, const void*, size_t bytes, void* stream) {
  const auto [start, end] = occupy(bytes);
  Memcpy copy{};
  copy.kind = ActivityKind::kMemcpy;
  copy.copy_kind = CopyKind::kHostToDevice;
  copy.bytes = bytes;
  copy.start = start;
  copy.end = end;
  copy.context = 1;
  copy.stream = stream_number(stream);
  copy.correlation = ++gpu.correlation;
  deliver(copy);
  return 0;
}
FAKE_EXPORT int cuStreamSynchronize(void*) {
  wait_until_idle();
  return 0;
}
FAKE_EXPORT int cuCtxSynchronize() {
  const uint64_t begin = time_now();
  wait_until_idle();
  deliver(Synchronization{ActivityKind::kSynchronization, SyncType::kContext, begin, time_now(),
                          ++gpu.correlation, 1, kInvalidStream, 0});
  return 0;
}
FAKE_EXPORT int cuEventRecord(void* event, void* stream) {
  const EventRecordParameters parameters{event, stream};
  if (const auto call = control<FakeCall>("fake_cupti_call")) {
    call(driver::kEventRecord, &parameters, ++gpu.correlation);
  }
  return 0;
}
FAKE_EXPORT int cuEventQuery(void*) { return 0; }
FAKE_EXPORT int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  const StreamWaitParameters parameters{stream, event, flags};
  if (const auto call = control<FakeCall>("fake_cupti_call")) {
    call(driver::kStreamWaitEvent, &parameters, ++gpu.correlation);
  }
  return 0;
}
FAKE_EXPORT int cuStreamBeginCapture_v2(void*, int) {
  gpu.captured = 0;
  return 0;
}
FAKE_EXPORT int cuStreamEndCapture(void*, void** graph) {
  gpu.graph_nodes = gpu.captured;
  gpu.captured = -1;
  *graph = new_handle();
  return 0;
}
FAKE_EXPORT int cuGraphInstantiateWithFlags(void** executable, void*,
                                            unsigned long long) {  // NOLINT
  *executable = new_handle();
  return 0;
}
FAKE_EXPORT int cuGraphExecDestroy(void*) { return 0; }
FAKE_EXPORT int cuGraphLaunch(void* executable, void* stream) {
  const Call call(driver::kGraphLaunch);
  const auto number = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(executable));
  if (!kind_on(ActivityKind::kGraphTrace)) {
    for (int i = 0; i < gpu.graph_nodes; ++i) run_kernel(call.correlation(), stream, number);
    return 0;
  }
  const auto [start, end] = occupy(kKernelNs * static_cast<uint64_t>(gpu.graph_nodes));
  deliver(GraphTrace{ActivityKind::kGraphTrace, call.correlation(), start, end, 0, number, 1,
                     stream_number(stream)});
  return 0;
}
