// SPDX-License-Identifier: Apache-2.0
// Plays NCCL: drives the tables of the profiler plugin with scripted sequences, one per argument.
// Built twice: with the collector linked in (so that sanitizers see it), and plain, which opens the
// library of NCCL_PROFILER_PLUGIN as NCCL does. It says "ready" and waits for a line where the test
// has to act in between.
//
// Like NCCL it has a version: HOST_NCCL_VERSION.
#include "collector/inject/test_support/nccl_host.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "collector/inject/test_support/nvtx_unit.h"

extern "C" __attribute__((visibility("default"))) int ncclGetVersion(int* version) {
  const char* text = getenv("HOST_NCCL_VERSION");
  *version = text != nullptr ? atoi(text) : 0;
  return text != nullptr ? 0 : 1;
}

namespace {

using namespace dprof::inject::nccl;

template <typename CommOfVersion, typename Profiler>
void common_sequence(const Profiler& profiler) {
  CommOfVersion comm(profiler, kHash, "tensor_parallel");
  expect(mask_now() == kUsualMask || mask_now() == kPausedMask, "odd mask");
  if (!soon_masked(kUsualMask)) expect(false, "never switched on");
  comm.all_reduce(0);
  void* group = comm.begin_group(false, 2);  // two calls in one group
  void* gather = comm.begin_call(group, "AllGather", 256);
  comm.end(gather);
  void* scatter = comm.begin_call(group, "ReduceScatter", 256);
  comm.end(scatter);
  comm.end(comm.begin_launch(group));
  comm.end(comm.begin_collective(gather, "AllGather", 0, 1024));
  comm.end(comm.begin_collective(scatter, "ReduceScatter", 0, 256));
  comm.end(group);
  comm.all_reduce(1);
  comm.transfer("Send", 2);
  comm.transfer("Recv", 2);
  comm.transfer("Send", 2);
  comm.transfer("Send", 3);
  comm.all_to_all(4);
}

void version_6() {
  common_sequence<Comm6>(v6());
  Comm6 comm(v6(), kHash + 1, "copy");
  EventV6 event{};
  event.type = event_type::kCeColl;
  event.ce_coll.sequence = 17;
  event.ce_coll.function = "AllGather";
  event.ce_coll.count = 99;
  event.ce_coll.root = -1;
  event.ce_coll.data_type = "ncclInt8";
  event.ce_coll.synchronization = "MC";
  comm.end(start(v6(), comm.context(), event));
  for (const uint32_t type : {event_type::kCeSync, event_type::kCeBatch}) {
    event = {};
    event.type = type;
    expect(start(v6(), comm.context(), event) == nullptr, "not recorded, so no handle");
  }
}

void version_4() {
  void* context = nullptr;
  v4().init(&context, &mask, "pipeline", kHash, 2, 8, 5, nullptr);
  expect(soon_masked(kUsualMask), "never switched on");
  EventV4 event{};
  event.type = event_type::kGroup;
  void* group = start(v4(), context, event);
  event = {};
  event.type = event_type::kColl;
  event.parent = group;
  event.coll = {7, "Broadcast", nullptr, nullptr, 4096, 3, "ncclInt8", 12, 8, "TREE", "SIMPLE"};
  void* collective = start(v4(), context, event);
  event = {};
  event.type = event_type::kP2p;
  event.p2p = {"Recv", nullptr, "ncclFloat16", 100, 4, 1};
  void* p2p = start(v4(), context, event);
  stop(v4(), collective);
  stop(v4(), p2p);
  stop(v4(), group);
  v4().finalize(context);
}

void version_3() {
  void* context = nullptr;
  v3().init(&context, &mask);
  expect(soon_masked(kUsualMask), "never switched on");
  for (uint64_t sequence = 0; sequence < 2; ++sequence) {
    EventV3 event{};
    event.type = event_type::kColl;
    event.rank = 6;
    event.coll = {"data_parallel", kHash, sequence, "Reduce", nullptr, nullptr, 77, 0,
                  "ncclFloat64",   4,     2,        "NVLS",   "LL"};
    stop(v3(), start(v3(), context, event));
  }
  EventV3 event{};
  event.type = event_type::kP2p;
  event.p2p = {"data_parallel", kHash, "Send", nullptr, "ncclFloat8e4m3", 33, 1};
  stop(v3(), start(v3(), context, event));
  v3().finalize(context);
}

// Invalid input of every kind. None of it becomes a record, and nothing crashes.
template <typename Profiler, typename Event, typename StateArgs>
void odd_orders(const Profiler& profiler, void* context) {
  Event event{};
  void* handle = nullptr;
  expect(profiler.start_event(context, nullptr, &event) == kSuccess, "no place for the handle");
  expect(profiler.start_event(context, &handle, nullptr) == kSuccess, "no event");
  for (const uint32_t type : {0u, 0x80u, 0x20u, 0x55u, 0xffu}) {
    event.type = static_cast<decltype(event.type)>(type);
    expect(start(profiler, context, event) == nullptr, "unknown types have no handle");
  }
  StateArgs arguments{};
  for (void* odd : {static_cast<void*>(nullptr), reinterpret_cast<void*>(~uintptr_t{0}),
                    reinterpret_cast<void*>(uintptr_t{7}), reinterpret_cast<void*>(&event)}) {
    for (const int state : {-1, 0, 9, 11, 13, 22, 24, 30, 1000}) {
      expect(profiler.record_event_state(odd, state, &arguments) == kSuccess, "state");
      expect(profiler.record_event_state(odd, state, nullptr) == kSuccess, "state");
    }
  }
  // Ends without a begin: of no type, of a group, of a proxy operation and of a channel.
  for (const uintptr_t odd :
       {uintptr_t{0}, uintptr_t{1} << 54 | 1, uintptr_t{1} << 54 | 9, uintptr_t{3} << 54 | 6,
        uintptr_t{3} << 54 | 8, uintptr_t{3} << 54 | 7, ~uintptr_t{0}}) {
    stop(profiler, reinterpret_cast<void*>(odd));
  }
  profiler.finalize(nullptr);
  profiler.finalize(reinterpret_cast<void*>(~uintptr_t{0}));
}

void odd() {
  {
    Comm5 comm(v5(), kHash, nullptr);
    expect(soon_masked(kUsualMask), "never switched on");
    odd_orders<ProfilerV3, EventV3, StateArgsV3>(v3(), comm.context());
    odd_orders<ProfilerV4, EventV4, StateArgsV4>(v4(), comm.context());
    odd_orders<ProfilerV5, EventV5, StateArgsV5>(v5(), comm.context());
    odd_orders<ProfilerV6, EventV6, StateArgsV6>(v6(), comm.context());
    // A launch that ends twice, and one that never ends.
    void* group = comm.begin_group();
    void* launch = comm.begin_launch(group);
    comm.end(launch);
    comm.begin_launch(group);
    // Invalid contexts: recorded, with an unknown communicator. Null texts.
    EventV5 event{};
    event.type = event_type::kColl;
    event.coll.sequence = 3;
    for (const uintptr_t context : {uintptr_t{0}, uintptr_t{4711}, ~uintptr_t{0}}) {
      stop(v5(), start(v5(), reinterpret_cast<void*>(context), event));
    }
    event = {};
    event.type = event_type::kP2p;
    event.p2p.function = "Send";
    event.p2p.peer = -3;
    stop(v5(), start(v5(), comm.context(), event));
  }
  expect(mask_now() == 0, "NCCL unloads the plugin after the last communicator");
}

void one_rank() { const Comm5 comm(v5(), kHash, "alone", 1); }

// Recurring communicators: the same hash, one after the other and at once.
void again() {
  for (int round = 0; round < 3; ++round) {
    Comm5 comm(v5(), kHash, "again");
    expect(soon_masked(kUsualMask), "never switched on");
    comm.transfer("Send", 0);
    comm.transfer("Send", 0);
  }
  Comm5 first(v5(), kHash + 9, "first");
  Comm5 second(v5(), kHash + 9, "second");
  second.transfer("Send", 0);
}

void captured() {
  Comm5 comm(v5(), kHash, "graph");
  expect(soon_masked(kUsualMask), "never switched on");
  comm.transfer("Send", 3);
  comm.all_reduce(5, true);
  comm.transfer("Send", 3, true);
  comm.transfer("Send", 3);
}

// Threads that create communicators concurrently, and record into them.
void threads(int count) {
  std::barrier all(count);
  std::vector<std::thread> some;
  for (int i = 0; i < count; ++i) {
    some.emplace_back([i, &all] {
      all.arrive_and_wait();
      Comm5 comm(v5(), kHash + static_cast<uint64_t>(i), "threads");
      all.arrive_and_wait();
      if (i == 0) expect(soon_masked(kUsualMask), "never switched on");
      all.arrive_and_wait();
      for (uint64_t call = 0; call < 200; ++call) {
        comm.all_reduce(call);
        comm.transfer("Send", 0);
        comm.transfer("Recv", 0);
      }
      // Ends on another thread than it began on.
      void* collective = comm.begin_collective(nullptr, "Broadcast", 0, 1);
      std::thread([&] { comm.end(collective); }).join();
      all.arrive_and_wait();
    });
  }
  for (std::thread& one : some) one.join();
}

// The recorder pauses and resumes.
void switched() {
  Comm5 comm(v5(), kHash, "switched");
  expect(soon_masked(kUsualMask), "never switched on");
  comm.all_reduce(0);
  comm.transfer("Send", 1);
  void* across = comm.begin_collective(nullptr, "Broadcast", 0, 1);
  meet_test();
  expect(soon_masked(kPausedMask), "never paused");
  comm.all_reduce(1);
  comm.transfer("Send", 1);
  comm.transfer("Send", 1);
  comm.end(across);
  Comm5 meanwhile(v5(), kHash + 1, "meanwhile");
  expect(mask_now() == kPausedMask, "a new communicator must not switch on");
  meet_test();
  expect(soon_masked(kUsualMask), "never switched on again");
  comm.all_reduce(2);
  comm.transfer("Send", 1);
}

// The recorder has gone away.
void gone() {
  Comm5 comm(v5(), kHash, "gone");
  expect(soon_masked(kUsualMask), "never switched on");
  comm.all_reduce(0);
  meet_test();
  for (int i = 0; i < 2000 && mask_now() != 0; ++i) {
    comm.all_reduce(1);
    comm.transfer("Send", 2);
    usleep(10'000);
  }
  expect(mask_now() == 0, "NCCL goes on making events for nobody");
}

int entries_of(const char* folder) {
  int count = 0;
  DIR* directory = opendir(folder);
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

void nobody() {
  const int threads_before = entries_of("/proc/self/task");
  const int descriptors_before = entries_of("/proc/self/fd");
  for (int round = 0; round < 2; ++round) {
    __atomic_store_n(&mask, -1, __ATOMIC_RELAXED);
    Comm5 comm(v5(), kHash, "nobody");
    expect(mask_now() == 0, "no recorder, so no events");
    comm.all_reduce(0);
    void* context = nullptr;
    __atomic_store_n(&mask, -1, __ATOMIC_RELAXED);
    v3().init(&context, &mask);
    expect(mask_now() == 0 && context != nullptr, "no recorder, so no events");
    v3().finalize(context);
    odd_orders<ProfilerV5, EventV5, StateArgsV5>(v5(), comm.context());
  }
  expect(entries_of("/proc/self/task") == threads_before, "a thread");
  expect(entries_of("/proc/self/fd") == descriptors_before, "a descriptor");
}

int in_child(Comm5& comm) {
  wrong = 0;
  comm.all_reduce(7);
  comm.transfer("Send", 1);
  expect(mask_now() == 0, "a fork child records nothing");
  __atomic_store_n(&mask, -1, __ATOMIC_RELAXED);
  { const Comm5 own(v5(), kHash + 5, "child"); }
  expect(mask_now() == 0, "a fork child records nothing");
  return wrong;
}

void forked() {
  Comm5 comm(v5(), kHash, "forked");
  expect(soon_masked(kUsualMask), "never switched on");
  comm.all_reduce(0);
  for (const bool raw : {false, true}) {
    const pid_t child = raw ? static_cast<pid_t>(syscall(SYS_fork)) : fork();
    if (child == 0) {
      const int code = in_child(comm);
      if (raw) syscall(SYS_exit_group, code);
      _exit(code);
    }
    int status = 0;
    waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child");
  }
  comm.all_reduce(1);
}

// More peers than there is room to count.
void many_peers(int count) {
  Comm5 comm(v5(), kHash, "many");
  expect(soon_masked(kUsualMask), "never switched on");
  for (int peer = 0; peer < count; ++peer) {
    comm.end(comm.begin_p2p(nullptr, "Send", peer, 1));
    if (peer % 4000 == 3999) meet_test();  // the recorder reads the pending records
  }
  comm.end(comm.begin_p2p(nullptr, "Send", 0, 1));
}

void many_communicators(int count) {
  std::vector<std::unique_ptr<Comm5>> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(std::make_unique<Comm5>(v5(), kHash + static_cast<uint64_t>(i), "many"));
  }
  expect(soon_masked(kUsualMask), "never switched on");
  all.back()->all_reduce(0);
}

// Prints the mask that the options produced, then uses them.
void options() {
  Comm5 comm(v5(), kHash, "options");
  for (int i = 0; i < 2000 && mask_now() == kPausedMask; ++i) usleep(10'000);
  printf("%x\n", static_cast<unsigned>(mask_now()));
  fflush(stdout);
  void* collective = comm.begin_collective(nullptr, "AllReduce", 0, 1);
  for (uint8_t channel = 0; channel < 3; ++channel) {
    EventV5 event{};
    event.type = event_type::kKernelCh;
    event.parent = collective;
    event.kernel_channel = {channel, 1000u + channel};
    void* handle = start(v5(), comm.context(), event);
    StateArgsV5 arguments{};
    arguments.kernel_channel.device_ns = channel == 2 ? 5 : 2000u + channel;
    v5().record_event_state(handle, event_state::kKernelChStop, &arguments);
    stop(v5(), handle);
    stop(v5(), handle);  // once is enough
  }
  for (const int pid : {getpid(), 1}) {
    EventV5 event{};
    event.type = event_type::kProxyOp;
    event.parent = collective;
    event.proxy_op = {pid, 5, 3, 2, 4096, 1};
    void* operation = start(v5(), comm.context(), event);
    for (int step = 0; step < 2; ++step) {
      event = {};
      event.type = event_type::kProxyStep;
      event.parent = operation;
      void* handle = start(v5(), comm.context(), event);
      StateArgsV5 arguments{};
      arguments.proxy_step.bytes = 100;
      for (const int state : {8, 20, event_state::kProxyStepSendWait}) {
        v5().record_event_state(handle, state, &arguments);
      }
      stop(v5(), handle);
    }
    stop(v5(), operation);
  }
  comm.end(collective);
}

// An NCCL that is loaded but never asks for the plugin.
void loaded(const char* library) {
  static dprof::inject::NvtxUnit unit;
  void* tool = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
  void* nccl = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  expect(nccl != nullptr, "no such library");
  expect(tool != nullptr && unit.initialize(reinterpret_cast<dprof::inject::InitializeNvtx>(
                                                dlsym(tool, "InitializeInjectionNvtx2")),
                                            reinterpret_cast<dprof::inject::InitializeExtension>(
                                                dlsym(tool, "InitializeInjectionNvtxExtension"))),
         "no session");
  meet_test();
}

// Two ranks, by RANK. Rank 1 hangs before the fourth call. Rank 0 waits in it until PyTorch's
// watchdog ends the process in its usual way: the text, and SIGABRT.
void watchdog() {
  const char* number = getenv("RANK");
  const int rank = number != nullptr ? atoi(number) : 0;
  Comm5 comm(v5(), kHash, "default_pg", 2, rank);
  for (int i = 0; i < 2000 && mask_now() == kPausedMask; ++i) usleep(10'000);
  for (uint64_t sequence = 0; sequence < 3; ++sequence) {
    comm.all_reduce(sequence);
    usleep(20'000);
  }
  if (rank == 1) {
    for (;;) pause();
  }
  comm.all_reduce(3);
  sleep(2);
  fprintf(stderr,
          "[rank0]:[E ProcessGroupNCCL.cpp] [Rank 0] Watchdog caught collective operation timeout: "
          "WorkNCCL(SeqNum=4, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=2000) ran "
          "for 2000 milliseconds before timing out.\n");
  abort();
}

struct Script {
  const char* name;
  void (*play)(const char* argument);
};
constexpr Script kScripts[] = {
    {"v3", [](const char*) { version_3(); }},
    {"v4", [](const char*) { version_4(); }},
    {"v5", [](const char*) { common_sequence<Comm5>(v5()); }},
    {"v6", [](const char*) { version_6(); }},
    {"odd", [](const char*) { odd(); }},
    {"one_rank", [](const char*) { one_rank(); }},
    {"again", [](const char*) { again(); }},
    {"captured", [](const char*) { captured(); }},
    {"threads", [](const char* count) { threads(atoi(count)); }},
    {"switched", [](const char*) { switched(); }},
    {"gone", [](const char*) { gone(); }},
    {"nobody", [](const char*) { nobody(); }},
    {"forked", [](const char*) { forked(); }},
    {"many_peers", [](const char* count) { many_peers(atoi(count)); }},
    {"many_communicators", [](const char* count) { many_communicators(atoi(count)); }},
    {"options", [](const char*) { options(); }},
    {"watchdog", [](const char*) { watchdog(); }},
    {"loaded", [](const char* library) { loaded(library); }},
};

}  // namespace

int main(int argc, char** argv) {
  if (!load()) {
    fprintf(stderr, "nccl_host: no plugin in NCCL_PROFILER_PLUGIN\n");
    return 98;
  }
  for (const Script& script : kScripts) {
    if (argc < 2 || std::string_view(script.name) != argv[1]) continue;
    script.play(argc > 2 ? argv[2] : "0");
    return wrong == 0 ? 0 : 1;
  }
  return 99;
}
