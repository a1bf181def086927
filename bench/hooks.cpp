// SPDX-License-Identifier: Apache-2.0
// What one call of a hook costs the calling thread, in nanoseconds or in instructions. Prints one
// JSON object.
//
//   hooks HOOK [--calls N] [--library LIBDPROF] [--count]
//
//   HOOK   ring_push      reading the clock, filling a record, RingWriter::push
//          nvtx_range     nvtxRangePushA and nvtxRangePop, through NVTX's tables
//          nvtx_off       the same while nothing is recorded
//          core_range     begin_range and end_range of the table behind RecordFunction's callbacks
//          text_cache     TextCache::id_of, a hit with a name of 20 bytes
//          nccl_event     start and stop of a collective, through NCCL's table; needs --library
//
// --library sends NVTX through the real libdprof.so; otherwise the same sources are linked in. With
// --count nothing is timed and the ring is not read: the N calls are made once, in a function
// `measured_HOOK`, for callgrind's --toggle-collect. When timed, calls are paced and made in
// batches while another thread reads the ring as the recorder does; the figures are per call within
// its batch.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "collector/inject/core_table.h"
#include "collector/inject/nccl/nccl_abi.h"
#include "collector/inject/nvtx/nvtx_injection.h"
#include "collector/inject/session.h"
#include "collector/inject/test_support/nvtx_unit.h"
#include "collector/inject/threads.h"
#include "collector/wire/hello.h"

namespace {

using namespace dprof;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kBatch = 100;
constexpr char kName[] = "a name of 20 letters";
static_assert(sizeof kName == 21);

inject::NvtxUnit unit;
wire::RingWriter bare_ring;
const inject::nccl::ProfilerV5* profiler;
void* nccl_context;
inject::nccl::EventV5 nccl_event;
uint64_t sum;  // result of a loop, so that it is not optimised away

// The recorder's socket. A hello waits there until it is accepted.
class Listener {
 public:
  Listener() {
    char pattern[] = "/tmp/dprof-bench-XXXXXX";
    folder_ = mkdtemp(pattern);
    path_ = folder_ + "/s";
    socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    if (bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        listen(socket_, 8) != 0) {
      std::abort();
    }
    setenv(wire::kSocketVariable, path_.c_str(), 1);
    setenv(wire::kClockVariable, "1 0 4194304 23", 1);  // the TSC, as `dprof record` says
  }
  ~Listener() {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Takes the process's shared memory.
  [[nodiscard]] wire::Mapping accept_memory() {
    connection_ = accept(socket_, nullptr, nullptr);
    std::vector<char> packet(wire::kHelloBytes);
    iovec part{packet.data(), packet.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    wire::Mapping mapping;
    if (recvmsg(connection_, &message, 0) <= 0 || CMSG_FIRSTHDR(&message) == nullptr) {
      return mapping;
    }
    int memory = -1;
    std::memcpy(&memory, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof memory);
    void* base = mmap(nullptr, wire::kTotalBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (base != MAP_FAILED) mapping.base = static_cast<unsigned char*>(base);
    return mapping;
  }

 private:
  std::string folder_, path_;
  int socket_ = -1, connection_ = -1;
};

// Reads every ring each millisecond.
class Reader {
 public:
  explicit Reader(const wire::Mapping& mapping)
      : thread_([this, mapping] {
          std::vector<wire::RingReader> rings;
          for (uint32_t i = 0; i < wire::kMaxRings; ++i) {
            rings.emplace_back(mapping.ring(i), mapping.slots(i));
          }
          while (!done_.load()) {
            for (wire::RingReader& ring : rings) {
              ring.drain([this](const wire::ReadRecord&) { ++seen_; });
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}
  uint64_t stop() {
    done_.store(true);
    thread_.join();
    return seen_;
  }

 private:
  std::atomic<bool> done_ = false;
  uint64_t seen_ = 0;
  std::thread thread_;
};

[[gnu::always_inline]] inline void nvtx_ranges(uint64_t calls) {
  for (uint64_t i = 0; i < calls; ++i) {
    unit.push(kName);
    unit.pop();
  }
}

[[gnu::always_inline]] inline void measure_nccl(uint64_t calls) {
  for (uint64_t i = 0; i < calls; ++i) {
    void* handle = nullptr;
    profiler->start_event(nccl_context, &handle, &nccl_event);
    profiler->stop_event(handle);
  }
}

// Work of the first call only: take a ring, learn the name.
void warm_up(std::string_view hook) {
  if (hook == "nvtx_range") {
    unit.push(kName);
    unit.pop();
  } else if (hook == "nccl_event") {
    measure_nccl(1);
  } else if (hook == "core_range" || hook == "text_cache") {
    sum += inject::current_thread()->texts.id_of(inject::runtime.mapping, kName);
  }
}

}  // namespace

// The measured loops. Named for callgrind's --toggle-collect.
extern "C" {
[[gnu::noinline]] void measured_ring_push(uint64_t calls) {
  for (uint64_t i = 0; i < calls; ++i) {
    wire::Record record{};
    record.kind = wire::Kind::kRangeBegin;
    record.slots = 1;
    record.string = 7;
    record.range_begin = {};
    record.range_begin.sequence = static_cast<int64_t>(i);
    record.ticks = wire::read_ticks(wire::ClockSource::kTsc);
    bare_ring.push(record);
  }
}
[[gnu::noinline]] void measured_nvtx_range(uint64_t calls) { nvtx_ranges(calls); }
[[gnu::noinline]] void measured_nvtx_off(uint64_t calls) { nvtx_ranges(calls); }
[[gnu::noinline]] void measured_core_range(uint64_t calls) {
  const inject::CoreApi& core = inject::core_table();
  for (uint64_t i = 0; i < calls; ++i) {
    wire::Record record{};
    record.kind = wire::Kind::kRangeBegin;
    record.slots = 1;
    record.range_begin = {};
    core.begin_range(kName, i + 1, &record);
    core.end_range(i + 1, 0);
  }
}
[[gnu::noinline]] void measured_text_cache(uint64_t calls) {
  inject::ThreadState* thread = inject::current_thread();
  for (uint64_t i = 0; i < calls; ++i) {
    sum += thread->texts.id_of(inject::runtime.mapping, kName);
  }
}
[[gnu::noinline]] void measured_nccl_event(uint64_t calls) { measure_nccl(calls); }
}

namespace {

struct Hook {
  std::string_view name;
  void (*measured)(uint64_t calls);
};
constexpr Hook kHooks[] = {
    {"ring_push", &measured_ring_push},   {"nvtx_range", &measured_nvtx_range},
    {"nvtx_off", &measured_nvtx_off},     {"core_range", &measured_core_range},
    {"text_cache", &measured_text_cache}, {"nccl_event", &measured_nccl_event},
};

struct Settings {
  const Hook* hook = nullptr;
  uint64_t calls = 0;
  const char* library = nullptr;
  bool count = false;
};

bool parse(int argc, char** argv, Settings& settings) {
  if (argc < 2) return false;
  for (const Hook& hook : kHooks) {
    if (hook.name == argv[1]) settings.hook = &hook;
  }
  for (int i = 2; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--count") {
      settings.count = true;
    } else if (option == "--calls" && i + 1 < argc) {
      settings.calls = strtoull(argv[++i], nullptr, 10);
    } else if (option == "--library" && i + 1 < argc) {
      settings.library = argv[++i];
    } else {
      return false;
    }
  }
  if (settings.calls == 0) settings.calls = settings.count ? 4000 : 200'000;
  return settings.hook != nullptr;
}

// As NCCL opens its plugin.
bool initialize_nccl(const char* path) {
  void* library = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) return false;
  profiler = static_cast<const inject::nccl::ProfilerV5*>(dlsym(library, "ncclProfiler_v5"));
  if (profiler == nullptr) return false;
  int mask = 0;
  profiler->init(&nccl_context, 0xfeed, &mask, "bench", 1, 8, 0, nullptr);
  nccl_event.type = inject::nccl::event_type::kColl;
  nccl_event.coll.function = "AllReduce";
  nccl_event.coll.count = 1 << 20;
  nccl_event.coll.data_type = "ncclBfloat16";
  nccl_event.coll.channels = 24;
  nccl_event.coll.algorithm = "RING";
  nccl_event.coll.protocol = "SIMPLE";
  return mask != 0;
}

bool initialize(const char* path) {
  if (path == nullptr) {
    return unit.initialize(&inject::nvtx::initialize, &inject::nvtx::initialize_extension);
  }
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  return unit.initialize(
      reinterpret_cast<inject::InitializeNvtx>(dlsym(library, "InitializeInjectionNvtx2")),
      reinterpret_cast<inject::InitializeExtension>(
          dlsym(library, "InitializeInjectionNvtxExtension")));
}

wire::Mapping bare_mapping() {
  void* base = mmap(nullptr, wire::kTotalBytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  wire::Mapping mapping;
  if (base == MAP_FAILED) return mapping;
  mapping.base = static_cast<unsigned char*>(base);
  std::memset(static_cast<void*>(mapping.slots(0)), 0, wire::kRingBytes);  // pages first
  bare_ring = wire::RingWriter(mapping.ring(0), mapping.slots(0), mapping.control());
  return mapping;
}

// Nanoseconds per call of each batch, sorted.
std::vector<double> time_batches(const Settings& settings) {
  std::vector<double> times;
  for (uint64_t done = 0; done < settings.calls; done += kBatch) {
    const auto from = Clock::now();
    settings.hook->measured(kBatch);
    const std::chrono::duration<double, std::nano> taken = Clock::now() - from;
    times.push_back(taken.count() / double{kBatch});
    // 100 calls in 200 us: half a million a second.
    const auto until = from + std::chrono::microseconds(200);
    while (Clock::now() < until) {
    }
  }
  std::sort(times.begin(), times.end());
  return times;
}

uint64_t dropped_of(const wire::Mapping& mapping) {
  uint64_t dropped = 0;
  for (uint32_t i = 0; i < wire::kMaxRings; ++i) dropped += mapping.ring(i)->dropped.count.load();
  return dropped;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!parse(argc, argv, settings)) {
    fprintf(stderr, "usage: hooks HOOK [--calls N] [--library LIBDPROF] [--count]\n");
    return 2;
  }
  Listener listener;
  const bool bare = settings.hook->measured == &measured_ring_push;
  wire::Mapping mapping;
  if (bare) {
    mapping = bare_mapping();
  } else if (settings.hook->name == "nccl_event" ? initialize_nccl(settings.library)
                                                 : initialize(settings.library)) {
    mapping = listener.accept_memory();
  }
  if (mapping.base == nullptr) {
    fprintf(stderr, "hooks: there is no session\n");
    return 1;
  }
  if (settings.hook->name == "nvtx_off") {
    mapping.control()->state.store(static_cast<uint32_t>(wire::CaptureState::kArmed));
    mapping.control()->generation.fetch_add(1);
    wire::futex_wake(mapping.control()->generation);
    for (int i = 0; i < 2000 && unit.enabled(); ++i) usleep(1000);
    if (unit.enabled()) return 1;
  }
  warm_up(settings.hook->name);
  if (settings.count) {
    settings.hook->measured(settings.calls);
    return dropped_of(mapping) == 0 ? 0 : 1;
  }
  Reader reader(mapping);
  const std::vector<double> times = time_batches(settings);
  const uint64_t seen = reader.stop();
  const auto at = [&](double share) {
    return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
  };
  printf(
      "{\"bench\": \"hooks\", \"hook\": \"%s\", \"calls\": %llu, \"p50_ns\": %.1f,\n"
      " \"p99_ns\": %.1f, \"records\": %llu, \"dropped\": %llu}\n",
      settings.hook->name.data(), static_cast<unsigned long long>(settings.calls), at(0.5),
      at(0.99), static_cast<unsigned long long>(seen),
      static_cast<unsigned long long>(dropped_of(mapping)));
  return 0;
}
