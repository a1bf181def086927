// SPDX-License-Identifier: Apache-2.0
// A program with training steps and nothing else, for the end-to-end cases of what is recorded
// when. It reaches libdprof.so as every NVTX program does.
//
//   step_probe [--steps N] [--step-ms MS] [--work N] [--until FILE]
//
//   --steps N      so many ranges "step"; each prints "step K" when it has ended
//   --step-ms MS   how long each takes
//   --work N       ranges "work" in each; their payload is the step's number. As many "between"
//                  follow each step.
//   --until FILE   ends when that file is there, if that comes first
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "collector/inject/test_support/nvtx_unit.h"

namespace {

using namespace dprof::inject;
using std::chrono::microseconds;
using std::chrono::steady_clock;

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

void push(const char* name, uint64_t number) {
  nvtx::EventAttributes event{};
  event.version = 3;
  event.size = sizeof event;
  event.payload_type = kPayloadUint64;
  event.payload = number;
  event.message_type = nvtx::kMessageAscii;
  event.message.ascii = name;
  unit.core<int>(nvtx::kRangePushEx, &event);
}

void write_ranges(const char* name, uint64_t step, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    push(name, step);
    unit.pop();
  }
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t steps = 10, step_ms = 10, work = 1;
  std::string until;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    const uint64_t number = strtoull(argv[i + 1], nullptr, 10);
    if (option == "--steps") {
      steps = number;
    } else if (option == "--step-ms") {
      step_ms = number;
    } else if (option == "--work") {
      work = number;
    } else if (option == "--until") {
      until = argv[i + 1];
    } else {
      return 98;
    }
  }
  if (!initialize()) return 97;
  steady_clock::time_point next = steady_clock::now();
  for (uint64_t step = 0; step < steps; ++step) {
    next += microseconds(1000 * step_ms);
    unit.push("step");
    write_ranges("work", step, work);
    std::this_thread::sleep_until(next);
    unit.pop();
    write_ranges("between", step, work);
    std::printf("step %llu\n", static_cast<unsigned long long>(step));
    std::fflush(stdout);
    if (!until.empty() && access(until.c_str(), F_OK) == 0) break;
  }
  return 0;
}
