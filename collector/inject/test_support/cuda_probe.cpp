// SPDX-License-Identifier: Apache-2.0
// Plays a CUDA program for cuda_source_test.cpp: opens the door as the driver's cuInit does, then
// hands the fake CUPTI the records of a GPU's work. Built with the collector linked in, and plain
// for LD_PRELOAD. It prints its state and waits for a line where the test has to act.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "collector/inject/cuda/cupti_abi.h"
#include "collector/inject/test_support/fake_cupti.h"

#ifdef DPROF_PROBE_LINKED
#include "collector/inject/cuda/cuda_source.h"
#endif

namespace {

using namespace dprof::inject;
using namespace dprof::inject::cupti;

struct Controls {
  void* library = nullptr;
  template <typename Function>
  Function get(const char* name) const {
    auto* function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) exit(20);
    return function;
  }
  template <typename Record>
  bool add(const Record& record) const {
    return get<FakeAdd>("fake_cupti_add")(&record, sizeof record) != 0;
  }
  void deliver(bool backwards = false) const {
    get<FakeDeliver>("fake_cupti_deliver")(backwards ? 1 : 0);
  }
  uint64_t time() const { return get<FakeTime>("fake_cupti_time")(); }
  int violations() const { return get<FakeViolations>("fake_cupti_violations")(); }
};
Controls fake;

void load_fake() {
  const char* path = getenv("DPROF_CUPTI_LIBRARY");
  fake.library = path != nullptr ? dlopen(path, RTLD_NOW) : nullptr;
  if (fake.library == nullptr) exit(21);
}

// What the driver does in cuInit.
int open_door() {
#ifdef DPROF_PROBE_LINKED
  return on_cuda_start();
#else
  const auto door = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "InitializeInjection"));
  return door != nullptr ? door() : -1;
#endif
}

void meet_test(const char* word = "ready") {
  printf("%s\n", word);
  fflush(stdout);
  char line[64];
  if (fgets(line, sizeof line, stdin) == nullptr) exit(9);
}

Kernel kernel(const char* name, uint32_t correlation, uint64_t start, uint64_t end) {
  Kernel record{};
  record.kind = ActivityKind::kConcurrentKernel;
  record.registers_per_thread = 64;
  record.start = start;
  record.end = end;
  record.device = 1;
  record.context = 5;
  record.stream = 7;
  for (uint32_t i = 0; i < 3; ++i) {
    record.grid[i] = 10 + i;
    record.block[i] = 20 + i;
  }
  record.static_shared_bytes = 1024;
  record.dynamic_shared_bytes = 2048;
  record.correlation = correlation;
  record.name = name;
  return record;
}

Memcpy copy(CopyKind kind, uint32_t correlation, uint64_t bytes) {
  Memcpy record{};
  record.kind = ActivityKind::kMemcpy;
  record.copy_kind = kind;
  record.bytes = bytes;
  record.start = fake.time();
  record.end = record.start + 100;
  record.device = 1;
  record.stream = 7;
  record.correlation = correlation;
  return record;
}

Api call(ActivityKind kind, uint32_t callback_id, uint32_t correlation) {
  Api record{};
  record.kind = kind;
  record.callback_id = callback_id;
  record.start = fake.time();
  record.end = record.start + 50;
  record.thread = static_cast<uint32_t>(syscall(SYS_gettid));
  record.correlation = correlation;
  return record;
}

void add_metadata() {
  DeviceInfo device{};
  device.kind = ActivityKind::kDevice;
  device.memory_bytes = uint64_t{80} << 30;
  device.capability_major = 9;
  device.capability_minor = 0;
  device.id = 1;
  memset(device.uuid, 0x5a, sizeof device.uuid);
  device.name = "Imaginary GPU";
  fake.add(device);
  fake.add(ContextInfo{ActivityKind::kContext, 5, 1, 1, 7});
  fake.add(StreamInfo{ActivityKind::kStream, 5, 7, 0, 3, 0});
  fake.add(StreamInfo{ActivityKind::kStream, 5, 8, 0, 2, 0});
}

void add_activity() {
  const uint64_t now = fake.time();
  fake.add(call(ActivityKind::kRuntime, runtime_api::kLaunchKernel, 101));
  fake.add(kernel("gemm", 101, now, now + 1000));
  fake.add(call(ActivityKind::kDriver, driver::kLaunchKernelEx, 102));
  fake.add(kernel("ncclDevKernel_AllReduce", 102, now + 1000, now + 5000));
  fake.add(kernel("no times", 103, 0, 0));
  fake.add(copy(CopyKind::kHostToDevice, 104, 4096));
  fake.add(copy(CopyKind::kDeviceToHost, 105, 8192));
  fake.add(copy(CopyKind::kDeviceToDevice, 106, 16384));
  MemcpyPeer peer{};
  peer.kind = ActivityKind::kMemcpyPeer;
  peer.copy_kind = CopyKind::kPeerToPeer;
  peer.bytes = 512;
  peer.start = now;
  peer.end = now + 1;
  peer.device = 1;
  peer.stream = 8;
  peer.correlation = 107;
  fake.add(peer);
  Memset fill{};
  fill.kind = ActivityKind::kMemset;
  fill.bytes = 256;
  fill.start = now;
  fill.end = now + 2;
  fill.device = 1;
  fill.stream = 7;
  fill.correlation = 108;
  fake.add(fill);
  GraphTrace graph{ActivityKind::kGraphTrace, 109, now, now + 3, 1, 33, 5, 7};
  fake.add(graph);
  Kernel in_graph = kernel("in a graph", 110, now, now + 4);
  in_graph.graph = 33;
  in_graph.graph_node = 44;
  fake.add(in_graph);
}

void add_rest() {
  const uint64_t now = fake.time();
  Synchronization sync{
      ActivityKind::kSynchronization, SyncType::kStream, now, now + 9, 111, 5, 7, kInvalidStream};
  fake.add(sync);
  Overhead overhead{ActivityKind::kOverhead,
                    OverheadKind::kLazyFunctionLoading,
                    kObjectThread,
                    {1, static_cast<uint32_t>(syscall(SYS_gettid)), 0},
                    now,
                    now + 11};
  fake.add(overhead);
  fake.add(External{ActivityKind::kExternalCorrelation, kExternalCustom2, 0xfeed, 102, 0});
  fake.add(External{ActivityKind::kExternalCorrelation, 3, 0xbad, 101, 0});  // Kineto's
  External marker{};
  marker.kind = static_cast<ActivityKind>(12);
  fake.add(marker);
}

int everything() {
  load_fake();
  if (open_door() != 1) return 2;
  add_metadata();
  fake.deliver();
  add_activity();
  fake.deliver(true);  // the latest first
  add_rest();          // the external correlation after its kernel, in another buffer
  fake.deliver();
  const EventRecordParameters record{reinterpret_cast<void*>(0xe1), reinterpret_cast<void*>(11)};
  const StreamWaitParameters wait{reinterpret_cast<void*>(12), reinterpret_cast<void*>(0xe1), 0};
  const EventSynchronizeParameters join{reinterpret_cast<void*>(0xe1)};
  const auto driver_call = fake.get<FakeCall>("fake_cupti_call");
  driver_call(driver::kEventRecord, &record, 201);
  driver_call(driver::kStreamWaitEventPtsz, &wait, 202);
  driver_call(driver::kEventSynchronize, &join, 203);
  driver_call(driver::kLaunchKernel, &join, 204);  // an unwatched call
  fake.get<FakeDrop>("fake_cupti_drop")(17);
  meet_test();
  return fake.violations();
}

// Kernels that only a forced flush delivers, then the given end.
int held(const std::string& end) {
  load_fake();
  if (open_door() != 1) return 2;
  fake.get<FakeHold>("fake_cupti_hold")(1);
  const uint64_t now = fake.time();
  fake.add(kernel("last words", 1, now, now + 10));
  meet_test();
  if (end == "kill") raise(SIGKILL);
  if (end == "_exit") _exit(fake.violations());
  return fake.violations();
}

// The same with the helper attaching, after the door is opened: the test says when it is done.
int held_late() {
  load_fake();
  if (open_door() != 1) return 2;
  meet_test();
  const auto kind_on = fake.get<FakeKindOn>("fake_cupti_kind_on");
  if (kind_on(static_cast<uint32_t>(ActivityKind::kConcurrentKernel)) == 0) return 4;
  fake.get<FakeHold>("fake_cupti_hold")(1);
  const uint64_t now = fake.time();
  if (!fake.add(kernel("last words", 1, now, now + 10))) return 3;
  return fake.violations();
}

// `count` buffers of 600 kernels each, as fast as they go.
int flood(int count) {
  load_fake();
  if (open_door() != 1) return 2;
  constexpr size_t kPerBuffer = 600;
  constexpr size_t kRecordBytes = 216;
  const uint64_t now = fake.time();
  const Kernel record = kernel("flood", 1, now, now + 1);
  std::string buffer(kPerBuffer * kRecordBytes, '\0');
  for (size_t i = 0; i < kPerBuffer; ++i) {
    memcpy(buffer.data() + i * kRecordBytes, &record, sizeof record);
  }
  meet_test();
  const auto raw = fake.get<FakeDeliverRaw>("fake_cupti_deliver_raw");
  for (int i = 0; i < count; ++i) raw(buffer.data(), buffer.size());
  meet_test("flooded");
  return fake.violations();
}

// Nanoseconds that a fork takes, at the lower quartile: on a busy machine some take long.
int64_t quick_fork() {
  std::vector<uint64_t> took;
  for (int i = 0; i < 21; ++i) {
    usleep(5000);
    const uint64_t begin = fake.time();
    const pid_t child = fork();
    if (child == 0) _exit(0);
    took.push_back(fake.time() - begin);
    waitpid(child, nullptr, 0);
  }
  std::sort(took.begin(), took.end());
  return static_cast<int64_t>(took[took.size() / 4]);
}

// Prints by how many microseconds a fork takes longer while much is being decoded.
int forks_beside_decoding() {
  load_fake();
  if (open_door() != 1) return 2;
  const int64_t without = quick_fork();
  const uint64_t now = fake.time();
  std::string buffer;
  for (int i = 0; i < 800; ++i) {
    const Kernel record = kernel("slow", 1, now, now + 1);
    std::string one(216, '\0');
    memcpy(one.data(), &record, sizeof record < one.size() ? sizeof record : one.size());
    buffer += one;
  }
  fake.get<FakeDeliverRaw>("fake_cupti_deliver_raw")(buffer.data(), buffer.size());
  meet_test(std::to_string((quick_fork() - without) / 1000).c_str());
  return 0;
}

// Prints what is switched on, at each line from the test; "end" ends it.
int watch() {
  load_fake();
  if (open_door() != 1) return 2;
  const auto kind_on = fake.get<FakeKindOn>("fake_cupti_kind_on");
  const auto function_on = fake.get<FakeFunctionOn>("fake_cupti_function_on");
  const auto other = fake.get<FakeOther>("fake_cupti_other");
  const auto subscribed = fake.get<FakeSubscribed>("fake_cupti_subscribed");
  const auto watches = fake.get<FakeWatches>("fake_cupti_watches");
  const auto switched_off = fake.get<FakeSwitchedOff>("fake_cupti_switched_off");
  char line[64];
  for (;;) {
    printf("subscribed=%d kernel=%d graph=%d sync=%d launch=%d events=%d; %d switched off\n",
           subscribed(), kind_on(static_cast<uint32_t>(ActivityKind::kConcurrentKernel)),
           kind_on(static_cast<uint32_t>(ActivityKind::kGraphTrace)),
           kind_on(static_cast<uint32_t>(ActivityKind::kSynchronization)),
           function_on(1, runtime_api::kLaunchKernel), watches(driver::kEventRecord),
           switched_off());
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == nullptr || strncmp(line, "end", 3) == 0) break;
    if (strncmp(line, "take", 4) == 0) other(1);
    if (strncmp(line, "leave", 5) == 0) other(0);
    if (strncmp(line, "kernel", 6) == 0) {
      fake.add(kernel("on demand", 1, fake.time(), fake.time() + 1));
    }
  }
  return fake.violations();
}

// A device is in use before the door is opened.
int late() {
  const char* path = getenv("FAKE_CUDA_LIBRARY");
  void* cuda = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : nullptr;
  if (cuda == nullptr) return 4;
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(cuda, "cuInit"));
  const auto retain =
      reinterpret_cast<int (*)(void**, int)>(dlsym(cuda, "cuDevicePrimaryCtxRetain"));
  void* context = nullptr;
  if (init == nullptr || retain == nullptr || init(0) != 0 || retain(&context, 0) != 0) return 4;
  return watch();
}

int taken() {
  load_fake();
  if (fake.get<FakeOther>("fake_cupti_other")(1) != kSuccess) return 3;
  return watch();
}

int garbage() {
  load_fake();
  if (open_door() != 1) return 2;
  const auto raw = fake.get<FakeDeliverRaw>("fake_cupti_deliver_raw");
  const uint64_t now = fake.time();
  const uint32_t unknown[] = {0xdeadbeef, 1, 2, 3};
  raw(unknown, sizeof unknown);
  const Kernel cut = kernel("cut", 1, now, now + 1);
  raw(&cut, 100);
  raw(&cut, 2);
  raw(&cut, 0);
  fake.add(kernel("after garbage", 2, now, now + 1));
  fake.deliver();
  meet_test();
  return fake.violations();
}

int from_threads(int count) {
  load_fake();
  if (open_door() != 1) return 2;
  std::thread threads[4];
  for (std::thread& one : threads) {
    one = std::thread([count] {
      for (int i = 0; i < count; ++i) {
        fake.add(kernel("threads", 1, fake.time(), fake.time() + 1));
        if (i % 100 == 0) fake.deliver();
        const EventRecordParameters record{nullptr, nullptr};
        fake.get<FakeCall>("fake_cupti_call")(driver::kEventRecord, &record, 1);
      }
    });
  }
  for (std::thread& one : threads) one.join();
  fake.deliver();
  return fake.violations();
}

int external() {
  load_fake();
  if (open_door() != 1) return 2;
#ifdef DPROF_PROBE_LINKED
  const auto top = fake.get<FakeExternal>("fake_cupti_external");
  pop_external();  // nothing was pushed
  push_external(77);
  if (top() != 77) return 4;
  push_external(78);
  pop_external();
  if (top() != 77) return 5;
  pop_external();
  pop_external();
  return top() == 0 ? fake.violations() : 6;
#else
  return 0;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "everything") return everything();
  if (what == "held") return held(argc > 2 ? argv[2] : "");
  if (what == "held_late") return held_late();
  if (what == "flood") return flood(argc > 2 ? atoi(argv[2]) : 1);
  if (what == "forks") return forks_beside_decoding();
  if (what == "watch") return watch();
  if (what == "taken") return taken();
  if (what == "late") return late();
  if (what == "garbage") return garbage();
  if (what == "threads") return from_threads(argc > 2 ? atoi(argv[2]) : 1);
  if (what == "external") return external();
  if (what == "door") {  // the real library, or none
    const int answer = open_door();
    meet_test();
    return answer == 1 ? 0 : 1;
  }
  return 99;
}
