// SPDX-License-Identifier: Apache-2.0
// A process to be recorded, for the tests of `dprof record`: it uses the wire directly, executes
// its arguments in order, and ends with 0.
//
//   hello             says hello with the rank variables of its environment
//   hello-newer       as a process of a newer wire version would
//   hello-no-memory   as a process that could not make its shared memory would
//   ranges=N          N ranges named `work`
//   steps=N           N ranges named `step`
//   open              a range that stays open, until `end`
//   beats=FILE        one range each millisecond, named `beat-N` with its sequence N, until FILE is
//                     there; prints how many
//   overflow=N        fills a ring that is not drained yet (before `hello`), and drops N records
//   sleep=MS, print=TEXT, exit=CODE, signal=N, clean (the clean-end word), close (all descriptors)
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "collector/recorder/common/clock.h"
#include "collector/recorder/ranks/environment.h"
#include "collector/recorder/test_support/fake_process.h"

namespace dprof::recorder {
namespace {

class Writer {
 public:
  Writer() : clock_(scale_of_environment()), process_(clock_.scale()) {
    process_.began_at(clock_.now_ticks());
    ring_ = process_.open_ring(0, static_cast<uint32_t>(getpid()));
    work_ = process_.text("work");
    step_ = process_.text("step");
  }

  bool act(std::string_view action, const std::string& value) {
    const int number = std::atoi(value.c_str());
    if (action == "hello") return hello(wire::kWireVersion, true);
    if (action == "hello-newer") return hello(wire::kWireVersion + 1, true);
    if (action == "hello-no-memory") return hello(wire::kWireVersion, false);
    if (action == "ranges") return ranges(work_, number);
    if (action == "steps") return ranges(step_, number);
    if (action == "open") return ring_.push(range_begin(work_, clock_.now_ticks(), kNvtx));
    if (action == "end") return ring_.push(range_end(clock_.now_ticks(), kNvtx));
    if (action == "beats") return beats(value);
    if (action == "overflow") return overflow(number);
    if (action == "clean") process_.mapping().header()->clean_end.store(1);
    if (action == "sleep") std::this_thread::sleep_for(std::chrono::milliseconds(number));
    if (action == "print") {
      fmt::print("{}\n", value);
      std::fflush(stdout);
    }
    if (action == "exit") std::exit(number);
    if (action == "signal") kill(getpid(), number);
    if (action == "close") {
      for (int fd = 3; fd < 64; ++fd) close(fd);
    }
    return true;
  }

 private:
  static constexpr uint8_t kNvtx = 3;

  bool hello(uint32_t version, bool with_memory) {
    const Environment environment = Environment::current();
    std::string variables = "cmdline=writer";
    variables.push_back('\0');
    for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SLURM_PROCID",
                             "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NODEID"}) {
      if (environment.get(name).empty()) continue;
      variables += fmt::format("{}={}", name, environment.get(name));
      variables.push_back('\0');
    }
    return process_.say_hello(environment.get(wire::kSocketVariable), variables, version,
                              with_memory);
  }

  bool ranges(uint32_t name, int count) {
    for (int i = 0; i < count; ++i) {
      // Waits when the ring is full: each of these ranges must be found again.
      wait_for_room();
      ring_.push(range_begin(name, clock_.now_ticks(), kNvtx));
      ring_.push(range_end(clock_.now_ticks(), kNvtx));
    }
    return true;
  }

  bool beats(const std::string& file) {
    int64_t count = 0;
    for (; access(file.c_str(), F_OK) != 0; ++count) {
      wire::Record begin =
          range_begin(process_.text(fmt::format("beat-{}", count)), clock_.now_ticks(), kNvtx);
      begin.range_begin.sequence = count;
      ring_.push(begin);
      ring_.push(range_end(clock_.now_ticks(), kNvtx));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    fmt::print("{} beats\n", count);
    return true;
  }

  void wait_for_room() const {
    const wire::RingShared& shared = *process_.mapping().ring(0);
    while (shared.head.load() - shared.tail.load() > wire::kRingSlots / 2) usleep(1000);
  }

  bool overflow(int count) {
    for (uint32_t i = 0; i < wire::kRingSlots - wire::kEndReserve; ++i) {
      ring_.push(range_begin(work_, clock_.now_ticks(), 5));
    }
    for (int i = 0; i < count; ++i) ring_.push(range_begin(work_, clock_.now_ticks(), 5));
    return true;
  }

  RunClock clock_;
  FakeProcess process_;
  wire::RingWriter ring_;
  uint32_t work_ = 0, step_ = 0;
};

}  // namespace
}  // namespace dprof::recorder

int main(int argc, char** argv) {
  dprof::recorder::Writer writer;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (!writer.act(argument.substr(0, equals), value)) {
      fmt::print(stderr, "writer: {} failed\n", argument);
      return 99;
    }
  }
  // Without AddressSanitizer's look for leaks, which stops the process for a moment: a SIGCONT that
  // is handed on just then would let it stop for ever.
  std::fflush(nullptr);
  _exit(0);
}
