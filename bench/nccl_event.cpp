// SPDX-License-Identifier: Apache-2.0
// What one NCCL event costs the thread that makes it: start and stop through the table of the real
// libdprof.so, as NCCL calls it, while a recorder in this process reads the rings. Prints one JSON
// object; all times in nanoseconds.
//
//   nccl_event LIBDPROF [--events N] [--rate PER_SECOND] [--poll-ms MS]
//
// Each event (start and stop together) is timed by two readings of the TSC; "clock_ns" is the cost
// of those two, which the figures include. Events are paced as in training.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/tick_times.h"
#include "collector/inject/nccl/nccl_abi.h"
#include "collector/inject/test_support/mini_recorder.h"
#include "collector/wire/ticks.h"

namespace {

using namespace dprof;
using namespace dprof::bench;
using namespace dprof::inject::nccl;
using Clock = std::chrono::steady_clock;

struct Settings {
  const char* library = nullptr;
  uint64_t events = 200'000;
  uint64_t rate = 200'000;
  uint64_t poll_ms = 5;
};

struct Percentiles {
  double p50, p99;
};
Percentiles percentiles(std::vector<uint32_t> times, double ticks_per_ns) {
  std::sort(times.begin(), times.end());
  return {percentile(times, 0.5, ticks_per_ns), percentile(times, 0.99, ticks_per_ns)};
}

// Reads the rings until told to stop; counts the records.
class Reader {
 public:
  Reader(const inject::SeenSession& session, uint64_t poll_ms)
      : session_(session), thread_([this, poll_ms] { run(poll_ms); }) {}
  uint64_t stop() {
    done_.store(true);
    thread_.join();
    return records_;
  }

 private:
  void run(uint64_t poll_ms) {
    std::vector<wire::RingReader> readers;
    for (uint32_t ring = 0; ring < wire::kMaxRings; ++ring) {
      readers.emplace_back(session_.mapping().ring(ring), session_.mapping().slots(ring));
    }
    const auto visit = [this](const wire::ReadRecord& read) {
      const auto kind = static_cast<uint16_t>(read.record.kind);
      records_ += kind >= static_cast<uint16_t>(wire::Kind::kNcclCall) &&
                          kind <= static_cast<uint16_t>(wire::Kind::kNcclLaunch)
                      ? 1
                      : 0;
    };
    while (!done_.load()) {
      for (wire::RingReader& reader : readers) reader.drain(visit);
      std::this_thread::sleep_for(std::chrono::milliseconds(poll_ms));
    }
    for (wire::RingReader& reader : readers) reader.drain(visit);
  }

  const inject::SeenSession& session_;
  std::atomic<bool> done_ = false;
  uint64_t records_ = 0;
  std::thread thread_;
};

EventV5 collective_event() {
  EventV5 event{};
  event.type = event_type::kColl;
  event.coll.function = "AllReduce";
  event.coll.count = 1 << 20;
  event.coll.data_type = "ncclBfloat16";
  event.coll.channels = 24;
  event.coll.algorithm = "RING";
  event.coll.protocol = "SIMPLE";
  return event;
}

EventV5 call_event() {
  EventV5 event{};
  event.type = event_type::kCollApi;
  event.coll_api = {"AllReduce", 1 << 20, "ncclBfloat16", 0, reinterpret_cast<void*>(0x5000),
                    false};
  return event;
}

EventV5 transfer_event() {
  EventV5 event{};
  event.type = event_type::kP2p;
  event.p2p = {"Send", nullptr, "ncclBfloat16", 1 << 20, 3, 2, nullptr};
  return event;
}

EventV5 launch_event() {
  EventV5 event{};
  event.type = event_type::kKernelLaunch;
  event.kernel_launch.stream = reinterpret_cast<void*>(0x5000);
  return event;
}

struct Kind {
  const char* name;
  EventV5 event;
};

std::vector<uint32_t> time_events(const ProfilerV5& profiler, void* context, const EventV5& like,
                                  const Settings& settings, double ticks_per_ns) {
  std::vector<uint32_t> times;
  times.reserve(settings.events);
  EventV5 event = like;
  const auto gap = static_cast<uint64_t>(1e9 * ticks_per_ns / static_cast<double>(settings.rate));
  uint64_t due = ticks();
  for (uint64_t i = 0; i < settings.events; ++i) {
    while (ticks() < due) {
    }
    due += gap;
    void* handle = nullptr;
    const uint64_t from = ticks();
    profiler.start_event(context, &handle, &event);
    profiler.stop_event(handle);
    times.push_back(static_cast<uint32_t>(ticks() - from));
  }
  return times;
}

bool parse(int argc, char** argv, Settings& settings) {
  if (argc < 2) return false;
  settings.library = argv[1];
  for (int i = 2; i < argc; i += 2) {
    const std::string_view option = argv[i];
    const uint64_t value = i + 1 < argc ? strtoull(argv[i + 1], nullptr, 10) : 0;
    if (value == 0) return false;
    if (option == "--events") {
      settings.events = value;
    } else if (option == "--rate") {
      settings.rate = value;
    } else if (option == "--poll-ms") {
      settings.poll_ms = value;
    } else {
      return false;
    }
  }
  return true;
}

int measure(const ProfilerV5& profiler, const Settings& settings, inject::MiniRecorder& recorder) {
  int mask = 0;
  void* context = nullptr;
  profiler.init(&context, 0xfeed, &mask, "bench", 1, 8, 0, nullptr);
  const auto session = recorder.accept();
  if (session == nullptr || mask == 0) return 1;
  const double ticks_per_ns = measure_tick_rate();
  const Percentiles clock = percentiles(time_clock(settings.events), ticks_per_ns);
  Reader reader(*session, settings.poll_ms);
  const Kind kinds[] = {{"collective", collective_event()},
                        {"call", call_event()},
                        {"transfer", transfer_event()},
                        {"launch", launch_event()}};
  printf(
      "{\"bench\": \"nccl_event\", \"events\": %llu, \"rate_per_s\": %llu, \"clock_ns\": %.1f,\n",
      static_cast<unsigned long long>(settings.events),
      static_cast<unsigned long long>(settings.rate), clock.p50);
  for (const Kind& kind : kinds) {
    time_events(profiler, context, kind.event, {nullptr, 1000, settings.rate, 1}, ticks_per_ns);
    const Percentiles event = percentiles(
        time_events(profiler, context, kind.event, settings, ticks_per_ns), ticks_per_ns);
    printf(" \"%s_p50_ns\": %.1f, \"%s_p99_ns\": %.1f,\n", kind.name, event.p50, kind.name,
           event.p99);
  }
  profiler.finalize(context);
  const uint64_t records = reader.stop();
  const uint64_t wanted = std::size(kinds) * (settings.events + 1000);
  printf(" \"records\": %llu, \"dropped\": %llu, \"budget_p50_ns\": 60}\n",
         static_cast<unsigned long long>(records),
         static_cast<unsigned long long>(session->dropped()));
  return records + session->dropped() >= wanted ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!parse(argc, argv, settings)) {
    fprintf(stderr, "usage: nccl_event LIBDPROF [--events N] [--rate PER_SECOND] [--poll-ms MS]\n");
    return 2;
  }
  inject::MiniRecorder recorder;
  setenv(wire::kSocketVariable, recorder.path().c_str(), 1);
  setenv(wire::kClockVariable, "1 0 4194304 23", 1);  // the TSC, as `dprof record` says
  void* library = dlopen(settings.library, RTLD_NOW | RTLD_LOCAL);
  const auto* profiler = library != nullptr
                             ? static_cast<const ProfilerV5*>(dlsym(library, "ncclProfiler_v5"))
                             : nullptr;
  if (profiler == nullptr) {
    fprintf(stderr, "nccl_event: %s\n", dlerror());
    return 1;
  }
  return measure(*profiler, settings, recorder);
}
