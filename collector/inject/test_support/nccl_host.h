// SPDX-License-Identifier: Apache-2.0
// The parts with which nccl_host plays NCCL: the plugin's tables, NCCL's one mask, and a
// communicator that makes the events of whole calls.
//
// Threading  a communicator by one thread; several at once.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "collector/inject/nccl/plugin_tables.h"
#include "collector/inject/test_support/soon.h"

namespace dprof::inject::nccl {

constexpr uint64_t kHash = 0xfeed'beef'0123'4567;
constexpr int kUsualMask = 0xf06;
constexpr int kPausedMask = event_type::kP2p;

// Failed expectations: printed, and remembered for the exit code.
inline std::atomic<int> wrong = 0;
inline void expect(bool condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "nccl_host: %s\n", what);
  ++wrong;
}

inline void meet_test() {
  printf("ready\n");
  fflush(stdout);
  char line[64];
  if (fgets(line, sizeof line, stdin) == nullptr) exit(9);
}

// NCCL's one word for the process.
inline int mask = -1;
inline int mask_now() { return __atomic_load_n(&mask, __ATOMIC_RELAXED); }
inline bool soon_masked(int wanted) {
  return soon([&] { return mask_now() == wanted; });
}

inline void* plugin = nullptr;
inline bool driven_by_nccl = false;

// Looked up once: in a child of a raw fork the loader may be locked for good.
struct Tables {
  const ProfilerV3* v3;
  const ProfilerV4* v4;
  const ProfilerV5* v5;
  const ProfilerV6* v6;
};
inline Tables tables = {};

#ifdef DPROF_HOST_LINKED
inline bool load() {
  tables = {&ncclProfiler_v3, &ncclProfiler_v4, &ncclProfiler_v5, &ncclProfiler_v6};
  return true;
}
#else
inline bool load() {
  const char* path = getenv("NCCL_PROFILER_PLUGIN");
  plugin = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (plugin == nullptr) return false;
  tables = {static_cast<const ProfilerV3*>(dlsym(plugin, "ncclProfiler_v3")),
            static_cast<const ProfilerV4*>(dlsym(plugin, "ncclProfiler_v4")),
            static_cast<const ProfilerV5*>(dlsym(plugin, "ncclProfiler_v5")),
            static_cast<const ProfilerV6*>(dlsym(plugin, "ncclProfiler_v6"))};
  return tables.v3 != nullptr && tables.v4 != nullptr && tables.v5 != nullptr &&
         tables.v6 != nullptr;
}
#endif

inline const ProfilerV3& v3() { return *tables.v3; }
inline const ProfilerV4& v4() { return *tables.v4; }
inline const ProfilerV5& v5() { return *tables.v5; }
inline const ProfilerV6& v6() { return *tables.v6; }

template <typename Profiler, typename Event>
void* start(const Profiler& profiler, void* context, const Event& event) {
  Event copy = event;
  // Must be written by the plugin; NCCL's own adapters leave it unset for unknown types.
  void* handle = driven_by_nccl ? nullptr : static_cast<void*>(&copy);
  expect(profiler.start_event(context, &handle, &copy) == kSuccess, "start failed");
  expect(driven_by_nccl || handle != &copy, "the handle was left as it was");
  return handle;
}

template <typename Profiler>
void stop(const Profiler& profiler, void* handle) {
  expect(profiler.stop_event(handle) == kSuccess, "stop failed");
}

// Versions 5 and 6 of a communicator with four ranks; ours is rank 1 by default.
template <typename Profiler, typename Event>
class Comm {
 public:
  Comm(const Profiler& profiler, uint64_t hash, const char* name, int ranks = 4, int rank = 1)
      : profiler_(profiler) {
    expect(profiler.init(&context_, hash, &mask, name, 1, ranks, rank, nullptr) == kSuccess,
           "init failed");
    expect(context_ != nullptr, "NCCL skips the end of a null context");
  }
  ~Comm() { expect(profiler_.finalize(context_) == kSuccess, "finalize failed"); }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  void* begin_group(bool captured = false, int depth = 1) {
    Event event{};
    event.type = event_type::kGroupApi;
    event.group_api.captured = captured;
    event.group_api.depth = depth;
    return start(profiler_, context_, event);
  }
  void* begin_call(void* group, const char* function, size_t count, bool captured = false) {
    Event event{};
    event.type = event_type::kCollApi;
    event.parent = group;
    event.coll_api.function = function;
    event.coll_api.count = count;
    event.coll_api.data_type = "ncclFloat32";
    event.coll_api.root = 2;
    event.coll_api.stream = reinterpret_cast<void*>(0x5000);
    event.coll_api.captured = captured;
    return start(profiler_, context_, event);
  }
  void* begin_p2p_call(void* group, const char* function, size_t count, bool captured = false) {
    Event event{};
    event.type = event_type::kP2pApi;
    event.parent = group;
    event.p2p_api.function = function;
    event.p2p_api.count = count;
    event.p2p_api.data_type = "ncclBfloat16";
    event.p2p_api.stream = reinterpret_cast<void*>(0x6000);
    event.p2p_api.captured = captured;
    return start(profiler_, context_, event);
  }
  void* begin_launch(void* group) {
    Event event{};
    event.type = event_type::kKernelLaunch;
    event.parent = group;
    event.kernel_launch.stream = reinterpret_cast<void*>(0x5000);
    return start(profiler_, context_, event);
  }
  void* begin_collective(void* call, const char* function, uint64_t sequence, size_t count) {
    Event event{};
    event.type = event_type::kColl;
    event.parent = call;
    event.coll.sequence = sequence;
    event.coll.function = function;
    event.coll.count = count;
    event.coll.root = 2;
    event.coll.data_type = "ncclFloat32";
    event.coll.channels = 24;
    event.coll.warps = 16;
    event.coll.algorithm = "RING";
    event.coll.protocol = "LL128";
    return start(profiler_, context_, event);
  }
  void* begin_p2p(void* call, const char* function, int peer, size_t count) {
    Event event{};
    event.type = event_type::kP2p;
    event.parent = call;
    event.p2p.function = function;
    event.p2p.data_type = "ncclBfloat16";
    event.p2p.count = count;
    event.p2p.peer = peer;
    event.p2p.channels = 2;
    return start(profiler_, context_, event);
  }
  void end(void* handle) { stop(profiler_, handle); }
  void state(void* handle, int state) {
    expect(profiler_.record_event_state(handle, state, nullptr) == kSuccess, "state failed");
  }
  [[nodiscard]] void* context() const { return context_; }

  // NCCL's events for one call outside a group. The call's event has ended when the collective
  // names it as its parent.
  void all_reduce(uint64_t sequence, bool captured = false) {
    void* group = begin_group(captured);
    state(group, 23);
    void* call = begin_call(group, "AllReduce", 1024, captured);
    end(call);
    state(group, 24);
    void* launch = begin_launch(group);
    end(launch);
    void* plan = start_plan();
    void* collective = begin_collective(call, "AllReduce", sequence, 1024);
    end(collective);
    end(plan);
    end(group);
  }
  void transfer(const char* function, int peer, bool captured = false) {
    void* group = begin_group(captured);
    void* call = begin_p2p_call(group, function, 512, captured);
    end(call);
    end(begin_p2p(call, function, peer, 512));
    end(group);
  }
  // AlltoAll is a send to and a receive from each rank, each with a call of that name.
  void all_to_all(int ranks) {
    void* group = begin_group();
    std::vector<std::pair<void*, const char*>> calls;
    for (int i = 0; i < 2 * ranks; ++i) {
      void* call = begin_p2p_call(group, "AlltoAll", 64);
      end(call);
      calls.emplace_back(call, i % 2 == 0 ? "Send" : "Recv");
    }
    for (int i = 0; i < 2 * ranks; ++i) end(begin_p2p(calls[i].first, calls[i].second, i / 2, 64));
    end(group);
  }

 private:
  void* start_plan() {
    Event event{};
    event.type = event_type::kGroup;
    void* handle = start(profiler_, context_, event);
    expect(handle == nullptr, "a plan is not recorded");
    return handle;
  }

  const Profiler& profiler_;
  void* context_ = nullptr;
};
using Comm5 = Comm<ProfilerV5, EventV5>;
using Comm6 = Comm<ProfilerV6, EventV6>;

}  // namespace dprof::inject::nccl
