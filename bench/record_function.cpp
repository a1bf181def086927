// SPDX-License-Identifier: Apache-2.0
// What one small operator of LibTorch costs, or one allocation with its free, in the program that
// dprof records. Run it bare with --empty and recorded at full detail: the difference is dprof's.
// Prints one JSON object.
//
//   record_function [--empty] [--alloc] [--batches N]
//
//   --empty   an empty pair of RecordFunction callbacks is registered: what PyTorch itself takes
//             for any observer is then in the figure, and out of the difference
//   --alloc   the CPU allocator instead of an operator
//
// Calls are made in batches with pauses, so that the recorder keeps up.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBatch = 500;
constexpr std::chrono::milliseconds kPause{8};
constexpr std::chrono::milliseconds kSettle{500};  // until a recorder's callbacks are in place

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction&) { return nullptr; }
void on_end(const at::RecordFunction&, at::ObserverContext*) {}

struct Settings {
  bool empty = false;
  bool alloc = false;
  int batches = 200;
};

bool parse(int argc, char** argv, Settings& settings) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--empty") {
      settings.empty = true;
    } else if (option == "--alloc") {
      settings.alloc = true;
    } else if (option == "--batches" && i + 1 < argc) {
      settings.batches = std::atoi(argv[++i]);
    } else {
      return false;
    }
  }
  return settings.batches > 0;
}

template <typename Call>
std::vector<double> time_batches(int batches, Call&& call) {
  std::vector<double> times;
  for (int batch = 0; batch < batches; ++batch) {
    const auto from = Clock::now();
    for (int i = 0; i < kBatch; ++i) call();
    const std::chrono::duration<double, std::nano> taken = Clock::now() - from;
    times.push_back(taken.count() / kBatch);
    std::this_thread::sleep_for(kPause);
  }
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!parse(argc, argv, settings)) {
    fprintf(stderr, "usage: record_function [--empty] [--alloc] [--batches N]\n");
    return 2;
  }
  at::Tensor a = at::zeros({4});
  const at::Tensor b = at::ones({4});
  if (settings.empty) {
    at::addGlobalCallback(
        at::RecordFunctionCallback(&on_start, &on_end).scopes({at::RecordScope::FUNCTION}));
  }
  std::this_thread::sleep_for(kSettle);
  const std::vector<double> times =
      settings.alloc
          ? time_batches(settings.batches,
                         [] { const at::DataPtr block = c10::GetCPUAllocator()->allocate(1024); })
          : time_batches(settings.batches, [&] { a.add_(b); });
  printf("{\"bench\": \"record_function\", \"what\": \"%s\", \"p50_ns\": %.1f, \"p10_ns\": %.1f}\n",
         settings.alloc ? "alloc" : "operator", times[times.size() / 2], times[times.size() / 10]);
  return 0;
}
