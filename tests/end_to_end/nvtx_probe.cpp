// SPDX-License-Identifier: Apache-2.0
// A program to be recorded that says how much it wrote, for the end-to-end cases and benchmarks: it
// reaches libdprof.so as every NVTX program does, and writes numbered moments or ranges.
//
//   nvtx_probe [--marks N] [--ranges N] [--threads N] [--burst N --pause-us US] [--counter FILE]
//              [--first-ms MS] [--last-ms MS] [--end HOW]
//
//   --marks N     N moments "mark"; the payload of each is its number, from 0
//   --ranges N    N ranges "work", after the marks
//   --threads N   so many threads write them, each all of it
//   --burst N     pauses after every N of them, for --pause-us
//   --counter F   the first thread's number of calls that have returned, 8 bytes, kept up to date
//   --first-ms, --last-ms   waits before the first and after the last one
//   --end HOW     return, _exit, quick_exit, abort, exec (of /bin/true), or a signal's number
//   --closed      nobody may take NVTX: this process must find itself not recorded
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "collector/inject/test_support/nvtx_unit.h"

namespace {

using namespace dprof::inject;
using std::chrono::microseconds;
using std::chrono::milliseconds;

struct Settings {
  uint64_t marks = 0;
  uint64_t ranges = 0;
  uint64_t threads = 1;
  uint64_t burst = 0;
  uint64_t pause_us = 1000;
  uint64_t first_ms = 0;
  uint64_t last_ms = 0;
  std::string counter;
  std::string end = "return";
  bool closed = false;
};

constexpr int32_t kPayloadUint64 = 1;

NvtxUnit unit;

bool initialize() {
  const char* path = getenv("NVTX_INJECTION64_PATH");
  void* library = path != nullptr ? dlopen(path, RTLD_LAZY) : nullptr;
  if (library == nullptr) return false;
  return unit.initialize(
      reinterpret_cast<InitializeNvtx>(dlsym(library, "InitializeInjectionNvtx2")),
      reinterpret_cast<InitializeExtension>(dlsym(library, "InitializeInjectionNvtxExtension")));
}

void mark(uint64_t number) {
  nvtx::EventAttributes event{};
  event.version = 3;
  event.size = sizeof event;
  event.payload_type = kPayloadUint64;
  event.payload = number;
  event.message_type = nvtx::kMessageAscii;
  event.message.ascii = "mark";
  unit.core<void>(nvtx::kMarkEx, &event);
}

// Pauses as --burst says, at moments that do not shift with what the calls cost.
class Pace {
 public:
  explicit Pace(const Settings& settings) : settings_(settings) {}
  void one_done() {
    if (settings_.burst == 0 || ++done_ % settings_.burst != 0) return;
    next_ += microseconds(settings_.pause_us);
    std::this_thread::sleep_until(next_);
  }

 private:
  const Settings& settings_;
  uint64_t done_ = 0;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

// Runs on after this process was killed: the file keeps what was stored last.
std::atomic<uint64_t>* counter_page(const std::string& file) {
  static std::atomic<uint64_t> nowhere;
  if (file.empty()) return &nowhere;
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(uint64_t)) != 0) return nullptr;
  void* page = mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return page == MAP_FAILED ? nullptr : static_cast<std::atomic<uint64_t>*>(page);
}

void write_all(const Settings& settings, std::atomic<uint64_t>* counter) {
  Pace pace(settings);
  uint64_t done = 0;
  const auto one_more = [&] {
    ++done;
    if (counter != nullptr) counter->store(done, std::memory_order_release);
    pace.one_done();
  };
  for (uint64_t i = 0; i < settings.marks; ++i) {
    mark(i);
    one_more();
  }
  for (uint64_t i = 0; i < settings.ranges; ++i) {
    unit.push("work");
    unit.pop();
    one_more();
  }
}

int leave(const std::string& how) {
  if (how == "return") return 0;
  if (how == "_exit") _exit(0);
  if (how == "quick_exit") std::quick_exit(0);
  if (how == "abort") std::abort();
  if (how == "exec") execl("/bin/true", "true", nullptr);
  const int signal = atoi(how.c_str());
  if (signal > 0) raise(signal);
  return 99;
}

bool parse(int argc, char** argv, Settings& settings) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--closed") {
      settings.closed = true;
      continue;
    }
    if (++i == argc) return false;
    const uint64_t number = strtoull(argv[i], nullptr, 10);
    if (option == "--marks") {
      settings.marks = number;
    } else if (option == "--ranges") {
      settings.ranges = number;
    } else if (option == "--threads") {
      settings.threads = number;
    } else if (option == "--burst") {
      settings.burst = number;
    } else if (option == "--pause-us") {
      settings.pause_us = number;
    } else if (option == "--first-ms") {
      settings.first_ms = number;
    } else if (option == "--last-ms") {
      settings.last_ms = number;
    } else if (option == "--counter") {
      settings.counter = argv[i];
    } else if (option == "--end") {
      settings.end = argv[i];
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!parse(argc, argv, settings)) {
    fprintf(stderr, "nvtx_probe: see the top of nvtx_probe.cpp\n");
    return 2;
  }
  std::atomic<uint64_t>* counter = counter_page(settings.counter);
  if (counter == nullptr) return 3;
  if (initialize() == settings.closed) {
    fprintf(stderr, "nvtx_probe: NVTX is %staken\n", settings.closed ? "" : "not ");
    return 4;
  }
  std::this_thread::sleep_for(milliseconds(settings.first_ms));
  if (!settings.closed) {
    std::vector<std::thread> others;
    for (uint64_t i = 1; i < settings.threads; ++i) {
      others.emplace_back([&settings] { write_all(settings, nullptr); });
    }
    write_all(settings, counter);
    for (std::thread& one : others) one.join();
  }
  std::this_thread::sleep_for(milliseconds(settings.last_ms));
  return leave(settings.end);
}
